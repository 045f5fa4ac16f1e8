import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineMethod } from '../../../../src/rpc/jsonrpc/method.ts'
import { readFastPathRequest } from '../../../../src/rpc/transport/fastPathHttp.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../../support/rpc/rpcTestServer.ts'

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x1dcc"}'

let release: (() => void) | undefined
const slow = defineMethod({
  name: 'test_slow',
  runs: 'socket',
  params: [],
  required: 0,
  run: () =>
    new Promise((resolve) => {
      release = () => resolve('late')
    }),
})
const long = defineMethod({ name: 'test_long', runs: 'socket', params: [], required: 0, run: () => 'ü'.repeat(5_000) })

const veryLong = defineMethod({
  name: 'test_veryLong',
  runs: 'socket',
  params: [],
  required: 0,
  run: () => 'üa'.repeat(200_000),
})

let node: MemoryNode
let thread: TestThread
let server: TestServer

beforeAll(async () => {
  node = await createMemoryNode()
  thread = createTestThread(node, { extraMethods: [slow, long, veryLong] })
  server = await startTestServer(node, thread)
})

afterAll(async () => {
  await server.close()
  expect(thread.logged).toEqual([])
})

function post(body: string, ...headers: string[]): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  return ['POST / HTTP/1.1', 'Host: x', 'Content-Type: application/json', length, ...headers, '', body].join('\r\n')
}

async function open({ address } = server): Promise<Socket> {
  const socket = connect(address.port, address.host)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Sends text and gives the answers once there are `count`, without their dates. */
async function exchange(socket: Socket, text: string, count = 1): Promise<string[]> {
  const received: Buffer[] = []
  const listen = (bytes: Buffer): void => void received.push(bytes)
  socket.on('data', listen)
  socket.write(text)
  try {
    for (;;) {
      const answers = split(Buffer.concat(received))
      if (answers.length >= count) return answers
      await once(socket, 'data')
    }
  } finally {
    socket.off('data', listen)
  }
}

function split(bytes: Buffer): string[] {
  const answers: string[] = []
  for (let at = 0; ; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at)
    if (headEnd < 0) return answers
    const head = bytes.toString('latin1', at, headEnd)
    const end = headEnd + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1])
    if (bytes.length < end) return answers
    answers.push(bytes.toString('latin1', at, end).replace(/^Date: [\w, :]+GMT\r\n/m, 'Date: now\r\n'))
    at = end
  }
}

/** A header for which a request is left to the other server, which ignores it. */
const TO_OTHER = 'TE: trailers'

describe('the two servers', () => {
  test.each([
    ['a call', [CALL]],
    ['a batch', [`[${CALL},{"jsonrpc":"2.0","id":"ü","method":"nope"}]`]],
    ['no JSON', ['{']],
    ['a notification', [CALL.replace('"id":1,', '')]],
    ['an empty body', ['']],
    ['a long answer', [CALL.replace('eth_chainId', 'test_long')]],
    ['a very long answer', [CALL.replace('eth_chainId', 'test_veryLong')]],
    ['a long answer, compressed', [CALL.replace('eth_chainId', 'test_long'), 'Accept-Encoding: gzip']],
  ])('answer %s alike', async (_, [body, ...headers]) => {
    const sockets = [await open(), await open()]
    const [[plain], [other]] = await Promise.all([
      exchange(sockets[0]!, post(body!, ...headers)),
      exchange(sockets[1]!, post(body!, ...headers, TO_OTHER)),
    ])
    expect(plain!.split('\r\n').sort()).toEqual(other!.split('\r\n').sort())
    for (const socket of sockets) socket.destroy()
  })

  test('answer alike where only some origins are allowed', async () => {
    const strict = await startTestServer(node, thread, { allowedOrigins: ['https://app.example.org'] })
    for (const accept of ['Accept-Encoding: gzip', 'Accept-Encoding: identity']) {
      const body = CALL.replace('eth_chainId', 'test_long')
      const [a, b] = [await open(strict), await open(strict)]
      const [[plain], [other]] = await Promise.all([
        exchange(a, post(body, accept)),
        exchange(b, post(body, accept, TO_OTHER)),
      ])
      expect(plain).toMatch(/^vary: origin/m)
      expect(plain!.split('\r\n').sort()).toEqual(other!.split('\r\n').sort())
    }
    await strict.close()
  })

  test('take turns on one connection: every request is answered, in order', async () => {
    const socket = await open()
    const id = (n: number, ...headers: string[]): string => post(CALL.replace('"id":1', `"id":${n}`), ...headers)
    const answers = await exchange(socket, `${id(1)}${id(2)}${id(3, TO_OTHER)}${id(4)}${id(5)}`, 5)
    expect(answers.map((answer) => /"id":(\d)/.exec(answer)?.[1])).toEqual(['1', '2', '3', '4', '5'])
    expect(await exchange(socket, post(CALL))).toEqual([expect.stringContaining(ANSWER)])
    socket.destroy()
  })
})

describe('a connection', () => {
  test.each([2, 5, 20])('is served whose requests come in %i pieces', async (count) => {
    const socket = await open()
    for (let round = 0; round < 2; round++) {
      const text = post(CALL)
      const size = Math.ceil(text.length / count)
      const answered = exchange(socket, '')
      for (let at = 0; at < text.length; at += size) {
        socket.write(text.slice(at, at + size))
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      expect(await answered).toEqual([expect.stringContaining(ANSWER)])
    }
    socket.destroy()
  })

  test('are answered in order when many come at once, short ones, long ones and one for the other server', async () => {
    const socket = await open()
    const bodies = Array.from({ length: 150 }, (_, id) => {
      const method = id % 7 === 3 ? 'test_long' : id % 50 === 49 ? 'test_veryLong' : 'eth_chainId'
      return `{"jsonrpc":"2.0","id":${id},"method":"${method}"}`
    })
    const requests = bodies.map((body, id) => (id === 140 ? post(body, TO_OTHER) : post(body)))
    const answers = await exchange(socket, requests.join(''), bodies.length)
    expect(
      answers.map((answer) => JSON.parse(Buffer.from(answer.split('\r\n\r\n')[1]!, 'latin1').toString()).id),
    ).toEqual(bodies.map((_, id) => id))
    socket.destroy()
  })

  test('wait for the answer to one before them', async () => {
    const socket = await open()
    const slowly = exchange(socket, post(CALL.replace('eth_chainId', 'test_slow')) + post(CALL).repeat(3), 4)
    await expect.poll(() => release).toBeDefined()
    release?.()
    const answers = await slowly
    expect(answers[0]).toContain('"result":"late"')
    for (const answer of answers.slice(1)) expect(answer).toContain(ANSWER)
    release = undefined
    socket.destroy()
  })

  test('gets its answer although it sends no more', async () => {
    const socket = connect({ port: server.address.port, host: server.address.host, allowHalfOpen: true })
    await once(socket, 'connect')
    socket.end(post(CALL).repeat(2))
    let text = ''
    for await (const bytes of socket) text += bytes
    expect(text.split(ANSWER)).toHaveLength(3)
  })

  test('may break off while its answer is made', async () => {
    const socket = await open()
    socket.write(post(CALL.replace('eth_chainId', 'test_slow')))
    await expect.poll(() => release).toBeDefined()
    socket.destroy()
    await once(socket, 'close')
    release!()
    release = undefined
    expect(await exchange(await open(), post(CALL))).toHaveLength(1)
    expect(thread.leases()).toBe(0)
  })

  test('gets the answer under way when the server closes, an idle one is ended at once', async () => {
    const closing = await startTestServer(node, thread)
    const [idle, busy] = [await open(closing), await open(closing)]
    await exchange(idle, post(CALL))
    const idleClosed = once(idle, 'close')
    const answer = exchange(busy, post(CALL.replace('eth_chainId', 'test_slow')))
    const busyClosed = once(busy, 'close')
    await expect.poll(() => release).toBeDefined()
    const closed = closing.close()
    await idleClosed
    release!()
    release = undefined
    expect((await answer)[0]).toContain('"late"')
    await busyClosed
    await closed
  })
})

const BODY = '{"jsonrpc":"2.0","id":"ü","method":"eth_chainId"}'
const LENGTH = Buffer.byteLength(BODY)
const head = (...headers: string[]): string => ['POST / HTTP/1.1', ...headers, '', ''].join('\r\n')
const PLAIN = ['Host: x', 'Content-Type: application/json; charset=utf-8', `content-length:${LENGTH}`]

const read = (text: string, maxBodyBytes = 1_000) => readFastPathRequest(Buffer.from(text), maxBodyBytes, undefined)

describe('a request on the fast path', () => {
  test('is read whole, and what follows is left', () => {
    const text = head(...PLAIN, 'Accept-Encoding: gzip, br', 'X-Forwarded-For: 10.0.0.1', 'Connection: Keep-Alive')
    expect(read(`${text}${BODY}POST`)).toEqual({
      head: { text: text.slice(0, -4), contentLength: LENGTH, acceptEncoding: 'gzip, br', forwardedFor: '10.0.0.1' },
      body: BODY,
      length: text.length + LENGTH,
    })
  })

  test('may be empty', () => {
    expect(read(head('Host: x', 'Content-Type: application/json', 'Content-Length: 0'))).toMatchObject({ body: '' })
  })

  test('with the head of the last one takes what is known of it', () => {
    const first = readFastPathRequest(Buffer.from(`${head(...PLAIN)}${BODY}`), 1_000, undefined)
    if (typeof first === 'string') throw new Error(first)
    const second = readFastPathRequest(Buffer.from(`${head(...PLAIN)}${BODY}`), 1_000, first.head)
    expect(second).toMatchObject({ body: BODY })
    expect(typeof second === 'string' ? undefined : second.head).toBe(first.head)
    expect(readFastPathRequest(Buffer.from(`${head(...PLAIN)}${BODY}`), LENGTH - 1, first.head)).toBe('other')
  })

  test('is waited for at every cut', () => {
    const text = Buffer.from(`${head(...PLAIN)}${BODY}`)
    for (let length = 0; length < text.length; length++) {
      expect(readFastPathRequest(text.subarray(0, length), 1_000, undefined)).toBe('incomplete')
    }
  })
})

describe('left to the other server', () => {
  const without = (name: string): string[] => PLAIN.filter((line) => !line.toLowerCase().startsWith(name))
  test.each([
    ['another method', `GET / HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['another path', `${head(...PLAIN).replace('POST /', 'POST /rpc')}${BODY}`],
    ['another version', `${head(...PLAIN).replace('1.1', '1.0')}${BODY}`],
    ['no host', `${head(...without('host'))}${BODY}`],
    ['an empty host', `${head('Host:', ...without('host'))}${BODY}`],
    ['no length', `${head(...without('content-length'))}${BODY}`],
    ['no content type', `${head(...without('content-type'))}${BODY}`],
    ['another content type', `${head('Content-Type: text/plain', ...without('content-type'))}${BODY}`],
    ['a length twice', `${head(...PLAIN, 'Content-Length: 1')}${BODY}`],
    ['a length that is no number', `${head(...without('content-length'), 'Content-Length: +5')}${BODY}`],
    ['chunks', `${head(...PLAIN, 'Transfer-Encoding: chunked')}${BODY}`],
    ['a request to wait', `${head(...PLAIN, 'Expect: 100-continue')}${BODY}`],
    ['an upgrade', `${head(...PLAIN, 'Connection: Upgrade', 'Upgrade: websocket')}${BODY}`],
    ['a web page', `${head(...PLAIN, 'Origin: https://app.example.org')}${BODY}`],
    ['a connection that ends', `${head(...PLAIN, 'Connection: close')}${BODY}`],
    ['a folded header', `${head(...PLAIN, 'X-A: 1', ' 2')}${BODY}`],
    ['a space before the colon', `${head(...PLAIN, 'X-A : 1')}${BODY}`],
    ['a control character', `${head(...PLAIN, 'X-A: \u0001')}${BODY}`],
    ['a line without carriage return', `${head(...PLAIN).replace('Host: x\r\n', 'Host: x\n')}${BODY}`],
    ['a long head', `${head(...PLAIN, `X-A: ${'a'.repeat(5_000)}`)}${BODY}`],
    ['a long head that has not ended', `POST / HTTP/1.1\r\nX-A: ${'a'.repeat(5_000)}`],
    ['garbage', '\x16\x03\x01\x02'],
  ])('%s', (_, text) => {
    expect(read(text)).toBe('other')
  })

  test('a long body', () => {
    expect(read(`${head(...PLAIN)}${BODY}`, LENGTH - 1)).toBe('other')
    expect(read(head(...PLAIN), LENGTH - 1)).toBe('other')
  })
})
