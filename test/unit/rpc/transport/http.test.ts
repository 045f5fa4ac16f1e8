import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { defineMethod, type ParamReader } from '../../../../src/rpc/jsonrpc/method.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  probesOf,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../../support/rpc/rpcTestServer.ts'

const readAny: ParamReader<unknown> = (json) => json
const big = defineMethod({
  name: 'test_big',
  runs: 'socket',
  params: [readAny],
  required: 1,
  run: (_, length) => 'ab'.repeat(Number(length) / 2),
})

let node: MemoryNode
let thread: TestThread
let server: TestServer
let strict: TestServer

beforeAll(async () => {
  node = await createMemoryNode()
  thread = createTestThread(node, { extraMethods: [big] })
  server = await startTestServer(node, thread)
  strict = await startTestServer(node, thread, {
    allowedOrigins: ['https://app.example.org'],
    requestBytes: 10_000,
    probes: probesOf(() => ({ height: 7, ageMs: 16_000, peers: 2 }), 61_000),
    limits: { headersMs: 400, requestMs: 800, writeMs: 500, connections: 20 },
  })
})

afterAll(async () => {
  await Promise.all([server.close(), strict.close()])
  expect(thread.logged).toEqual([])
})

const JSON_HEADERS = { 'content-type': 'application/json' }
const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x1dcc"}'

const post = (body: string, headers: Record<string, string> = JSON_HEADERS, url = server.url): Promise<Response> =>
  fetch(url, { method: 'POST', body, headers })

describe('POST /', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON;x=y',
    'application/json-rpc',
    'application/jsonrequest',
  ])('%s is taken', async (type) => {
    const response = await post(CALL, { 'content-type': type })
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'application/json',
      ANSWER,
    ])
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application', 'application/jsonx', ';'])(
    'the content type %s is not',
    async (type) => {
      const response = await post(CALL, { 'content-type': type })
      expect(response.status).toBe(415)
      expect(await response.text()).toBe('invalid content type, only application/json is supported')
    },
  )

  test('no content type is not', async () => {
    const response = await fetch(server.url, { method: 'POST', body: new Uint8Array(Buffer.from(CALL)) })
    expect(response.status).toBe(415)
  })

  test.each([
    ['parse error', '{', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}'],
    ['an empty body', '', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}'],
    [
      'a failed call',
      CALL.replace('eth_chainId', 'x'),
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method x does not exist/is not available"}}',
    ],
    ['only notifications', '{"jsonrpc":"2.0","method":"eth_chainId"}', ''],
  ])('%s has the status 200', async (_, body, expected) => {
    const response = await post(body)
    expect([response.status, await response.text()]).toEqual([200, expected])
  })

  test('bytes that are not UTF-8 are no crash', async () => {
    const body = new Uint8Array(Buffer.from('7b22fffe80', 'hex'))
    const response = await fetch(server.url, { method: 'POST', body, headers: JSON_HEADERS })
    expect(await response.json()).toMatchObject({ error: { code: -32700 } })
  })

  test('a body of the size limit is taken, one byte more is not', async () => {
    const exact = CALL.padEnd(TEST_LIMITS.requestBytes)
    expect(await (await post(exact)).text()).toBe(ANSWER)
    const response = await post(`${exact} `)
    expect(response.status).toBe(413)
    expect(await response.text()).toBe('content length too large (5242881>5242880)')
    expect(await (await post(CALL)).text()).toBe(ANSWER)
  })

  test('a body without a length is cut off at the limit', async () => {
    const [status, body] = await chunked(strict, [CALL.padEnd(6_000), ' '.repeat(6_000)])
    expect([status, body]).toEqual([413, 'content length too large (>10000)'])
    expect(await chunked(strict, [CALL.slice(0, 9), CALL.slice(9)])).toEqual([200, ANSWER])
  })

  test('a body may come in gzip, within the limit before and after', async () => {
    const zipped = (body: Uint8Array, encoding = 'gzip', url = server.url): Promise<Response> =>
      fetch(url, {
        method: 'POST',
        body: new Uint8Array(body),
        headers: { ...JSON_HEADERS, 'content-encoding': encoding },
      })
    expect(await (await zipped(gzipSync(CALL))).text()).toBe(ANSWER)
    expect(await (await zipped(gzipSync(CALL), 'GZIP')).text()).toBe(ANSWER)
    expect(await (await zipped(Buffer.from(CALL), 'identity')).text()).toBe(ANSWER)
    expect(await (await zipped(gzipSync(CALL.padEnd(10_000)), 'gzip', strict.url)).text()).toBe(ANSWER)
    const answerOf = async (response: Promise<Response>): Promise<unknown[]> => {
      const { status, text } = await response.then(async (got) => ({ status: got.status, text: await got.text() }))
      return [status, text]
    }
    const bomb = gzipSync(Buffer.alloc(200 * 1_048_576, ' '))
    expect(await answerOf(zipped(bomb))).toEqual([413, 'content length too large (>5242880)'])
    expect(await answerOf(zipped(gzipSync(CALL.padEnd(10_001)), 'gzip', strict.url))).toEqual([
      413,
      'content length too large (>10000)',
    ])
    expect(await answerOf(zipped(Buffer.from(CALL)))).toEqual([400, 'the body is not gzip'])
    expect(await answerOf(zipped(gzipSync(CALL).subarray(0, 30)))).toEqual([400, 'the body is not gzip'])
    const wrong = [415, 'invalid content encoding, only gzip is supported']
    expect(await answerOf(zipped(brotliCompressSync(CALL), 'br'))).toEqual(wrong)
    expect(await answerOf(zipped(gzipSync(gzipSync(CALL)), 'gzip, gzip'))).toEqual(wrong)
  })

  test('a long answer has the form that the client asks for, a short one has none', async () => {
    const long = `{"jsonrpc":"2.0","id":1,"method":"test_big","params":[100000]}`
    const encoded = async (body: string, accept: string): Promise<[string | null, string | null, number]> => {
      const response = await post(body, { ...JSON_HEADERS, 'accept-encoding': accept })
      const text = await response.text()
      return [response.headers.get('content-encoding'), response.headers.get('vary'), text.length]
    }
    expect(await encoded(long, 'deflate, gzip')).toEqual(['gzip', 'accept-encoding', 100_036])
    expect(await encoded(long, 'gzip;q=0.5, br')).toEqual(['br', 'accept-encoding', 100_036])
    expect(await encoded(long, 'identity')).toEqual([null, 'accept-encoding', 100_036])
    expect(await encoded(long, 'gzip;q=0, identity')).toEqual([null, 'accept-encoding', 100_036])
    expect(await encoded(CALL, 'gzip')).toEqual([null, null, ANSWER.length])
  })

  test('a client that does not ask gets every answer as it is, and so does one whose answer no thread had time for', async () => {
    const long = `{"jsonrpc":"2.0","id":1,"method":"test_big","params":[100000]}`
    const raw = async (url: string, headers: Readonly<Record<string, string>>) => {
      const sent = httpRequest(url, { method: 'POST', headers: { ...JSON_HEADERS, ...headers } })
      sent.end(long)
      const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
      const parts: Buffer[] = []
      for await (const part of response) parts.push(part as Buffer)
      return [response.headers['content-encoding'], Buffer.concat(parts).length]
    }
    const asked: string[] = []
    const busy = await startTestServer(node, thread, {
      compressor: {
        compress: async (encoding, _, { client, signal }) => {
          asked.push(`${encoding} ${client} ${signal.aborted}`)
          return undefined
        },
      },
    })
    // `te` keeps a request off the fast path.
    for (const way of [{}, { te: 'trailers' }] as const) {
      expect(await raw(server.url, way)).toEqual([undefined, 100_036])
      expect(await raw(busy.url, way)).toEqual([undefined, 100_036])
      expect(asked).toEqual([])
      expect(await raw(busy.url, { ...way, 'accept-encoding': 'gzip' })).toEqual([undefined, 100_036])
      expect(asked.splice(0)).toEqual(['gzip 127.0.0.1 false'])
    }
    await busy.close()
  })

  test('an error of compression is logged, and the answer is sent as it is', async () => {
    const long = `{"jsonrpc":"2.0","id":1,"method":"test_big","params":[100000]}`
    const logged: unknown[] = []
    const broken = await startTestServer(node, thread, {
      compressor: { compress: () => Promise.reject(new Error('broken')) },
      log: { error: (fields) => void logged.push(fields), warn: () => undefined },
    })
    const response = await post(long, { ...JSON_HEADERS, 'accept-encoding': 'gzip' }, broken.url)
    expect([response.headers.get('content-encoding'), (await response.text()).length]).toEqual([null, 100_036])
    expect(logged).toMatchObject([{ encoding: 'gzip', error: { message: 'broken' } }])
    await broken.close()
  })
})

describe('other requests', () => {
  test.each(['PUT', 'DELETE', 'PATCH'])('%s / is not allowed', async (method) => {
    const response = await fetch(server.url, { method })
    expect([response.status, await response.text()]).toEqual([405, 'method not allowed'])
  })

  test('GET and HEAD / answer load balancers', async () => {
    const response = await fetch(server.url)
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect((await fetch(server.url, { method: 'HEAD' })).status).toBe(200)
  })

  test('other paths do not exist', async () => {
    for (const path of ['/eth', '/rpc/nothing', '/health/x', '/ws', '/%zz', '//']) {
      expect([path, (await fetch(server.url + path)).status]).toEqual([path, path === '/%zz' ? 400 : 404])
    }
    expect((await post(CALL, JSON_HEADERS, `${server.url}/v1`)).status).toBe(404)
  })

  test('probes: what src/rpc/transport/probes.ts answers', async () => {
    const ask = async (url: string) => {
      const response = await fetch(url)
      return [response.status, await response.json()]
    }
    const fresh = { height: 0, ageMs: 0, catchingUp: false, peers: 0 }
    const old = { height: 7, ageMs: 16_000, catchingUp: false, peers: 2 }
    expect(await ask(`${server.url}/health`)).toEqual([200, { healthy: true, ...fresh }])
    expect(await ask(`${strict.url}/health`)).toEqual([503, { healthy: false, ...old }])
    expect(await ask(`${server.url}/livez`)).toEqual([200, { live: true }])
    expect(await ask(`${strict.url}/livez`)).toEqual([503, { live: false, thread: 'executor', silentMs: 61_000 }])
    expect(await ask(`${strict.url}/readyz?max_lag=3`)).toEqual([200, { ready: true, lag: 0, ...old }])
    expect((await ask(`${strict.url}/readyz?max_lag=-1`))[0]).toBe(400)
    expect(await ask(`${server.url}/startupz`)).toEqual([200, { started: true }])
  })
})

describe('CORS', () => {
  const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,x-id' }
  const corsOf = async (url: string, origin: string): Promise<(string | number | null)[]> => {
    const asked = await fetch(url, { method: 'OPTIONS', headers: { origin, ...preflight } })
    const answered = await post(CALL, { ...JSON_HEADERS, origin }, url)
    const names = ['access-control-allow-origin', 'access-control-allow-headers', 'access-control-max-age', 'vary']
    return [
      asked.status,
      ...names.map((name) => asked.headers.get(name)),
      answered.headers.get('access-control-allow-origin'),
    ]
  }

  test('any origin by default', async () => {
    const expected = [204, '*', 'content-type,x-id', '600', null, '*']
    expect(await corsOf(server.url, 'moz-extension://1234')).toEqual(expected)
    const refused = await post(CALL, { 'content-type': 'text/plain', origin: 'https://a.example' })
    expect(refused.headers.get('access-control-allow-origin')).toBe('*')
  })

  test('only those of the list', async () => {
    const origin = 'https://app.example.org'
    expect(await corsOf(strict.url, origin)).toEqual([204, origin, 'content-type,x-id', '600', 'origin', origin])
    const other = await corsOf(strict.url, 'https://other.example.org')
    expect([other[1], other[5]]).toEqual([null, null])
  })
})

describe('connections', () => {
  test('one connection serves many requests, also when they are sent without waiting', async () => {
    const socket = await open(server)
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${CALL.length}\r\n\r\n`
    socket.write(`${head}${CALL}`.repeat(3))
    const text = await readUntil(socket, (seen) => seen.split(ANSWER).length === 4)
    expect(text.match(/HTTP\/1.1 200 OK/g)).toHaveLength(3)
    socket.write(`${head}${CALL}`.replace('Host: x', 'Host: x\r\nConnection: close'))
    expect(await readUntil(socket, (seen) => seen.includes(ANSWER))).toContain('Connection: close')
    await once(socket, 'close')
  })

  test('a client that sends nothing, half a header or half a body is cut off', async () => {
    const halves = [
      '',
      'POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ',
      `POST / HTTP/1.1\r\nHost: x\r\n${'Content-Type: application/json'}\r\nContent-Length: 50\r\n\r\n{`,
    ]
    const patient = await Promise.all(
      halves.map(async (half) => {
        const socket = await open(server)
        socket.resume()
        socket.write(half)
        return socket
      }),
    )
    await Promise.all(
      halves.map(async (half) => {
        const socket = await open(strict)
        socket.resume()
        socket.write(half)
        await once(socket, 'close')
      }),
    )
    // With the usual limits they are still there.
    expect(patient.map(({ closed }) => closed)).toEqual([false, false, false])
    for (const socket of patient) socket.destroy()
  })

  test('a client that does not read its answer is cut off', async () => {
    const socket = await open(strict)
    const closed = once(socket, 'close')
    socket.pause()
    const body = '{"jsonrpc":"2.0","id":1,"method":"test_big","params":[20000000]}'
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    let received = 0
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    socket.resume()
    await closed
    expect(received).toBeLessThan(20_000_000)
  })

  test('the number of connections is limited', async () => {
    const sockets = await Promise.all(Array.from({ length: 40 }, () => open(strict)))
    const isRefused = (socket: Socket): boolean => socket.destroyed || socket.readableEnded
    await vi.waitFor(() => expect(sockets.filter(isRefused).length).toBeGreaterThanOrEqual(20))
    for (const socket of sockets) socket.destroy()
  })

  test('garbage in place of HTTP is refused', async () => {
    const socket = await open(server)
    socket.write('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03')
    expect(await readUntil(socket, (seen) => seen.includes('\r\n'))).toMatch(/^HTTP\/1.1 400 /)
    await once(socket, 'close')
  })

  test('two servers share a port where the platform can', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as AddressInfo
    free.close()
    await once(free, 'close')
    const first = await startTestServer(node, thread, { port, reusePort: true })
    const second = await startTestServer(node, thread, { port, reusePort: true })
    expect(await (await post(CALL, { ...JSON_HEADERS, connection: 'close' }, first.url)).text()).toBe(ANSWER)
    await Promise.all([first.close(), second.close()])
    await expect(post(CALL, JSON_HEADERS, first.url)).rejects.toThrow('fetch failed')
  })

  test('a taken port is an error', async () => {
    await expect(startTestServer(node, thread, { port: server.address.port })).rejects.toThrow('EADDRINUSE')
  })
})

async function open({ address }: TestServer): Promise<Socket> {
  const socket = connect(address.port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

async function readUntil(socket: Socket, isDone: (text: string) => boolean): Promise<string> {
  let text = ''
  while (!isDone(text)) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    text += chunk.toString('latin1')
  }
  return text
}

/** Sends a body in pieces without announcing its length. */
function chunked({ address }: TestServer, pieces: readonly string[]): Promise<[number | undefined, string]> {
  return new Promise((resolve, reject) => {
    const { port } = address
    const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', headers: JSON_HEADERS }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve([response.statusCode, text]))
    })
    request.on('error', reject)
    for (const piece of pieces) request.write(piece)
    request.end()
  })
}
