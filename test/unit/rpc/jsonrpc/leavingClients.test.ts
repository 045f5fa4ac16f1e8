import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCometTable } from '../../../../src/rpc/comet/method.ts'
import { createResultMethods } from '../../../../src/rpc/comet/results.ts'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'
import type { NativePort } from '../../../../src/rpc/cosmos/queryPort.ts'
import { createRestRouter } from '../../../../src/rpc/cosmos/rest/router.ts'
import { type CallScope, monotonicMs, REQUEST_TIMEOUT_MS } from '../../../../src/rpc/jsonrpc/callScope.ts'
import type { ViewPool } from '../../../../src/rpc/jsonrpc/runMethod.ts'
import { createMemoryNode } from '../../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  NO_COSMOS,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../../support/rpc/rpcTestServer.ts'
import { openTestSocket } from '../../../support/rpc/testSocket.ts'

interface Work {
  readonly name: string
  readonly scope: CallScope
  end(): void
}

/** work in view threads, in the order in which it came; each ends by itself only when its signal is aborted */
let works: Work[]

function work<T>(name: string, scope: CallScope, result: T): Promise<T> {
  return new Promise((resolve, reject) => {
    works.push({ name, scope, end: () => resolve(result) })
    scope.signal.addEventListener('abort', () => reject(scope.signal.reason))
  })
}

const views: ViewPool & NativePort = {
  call: (_, method, __, scope) => work(method, scope, '"0x"'),
  query: (_, { path }, scope) => work(path, scope, { kind: 'json', height: 1, json: '{}' }),
}

let thread: TestThread
let server: TestServer

beforeAll(async () => {
  const node = await createMemoryNode()
  thread = createTestThread(node, { views })
  server = await startTestServer(node, thread, {
    cosmos: {
      ...NO_COSMOS,
      comet: createCometTable(createResultMethods((read) => read(node.context().view.chain), views)),
      rest: { router: createRestRouter(QUERIES), port: views },
    },
    webSocketLimits: { requestsInFlight: 2 },
  })
})
beforeEach(() => {
  works = []
})
afterAll(() => server.close())

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{}]}'

function post(body: string, ...headers: string[]): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  return ['POST / HTTP/1.1', 'Host: x', 'Content-Type: application/json', length, ...headers, '', body].join('\r\n')
}

async function open(): Promise<Socket> {
  const { port, host } = server.address
  const socket = connect({ port, host, allowHalfOpen: true })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const untilWorks = (count: number): Promise<unknown> => expect.poll(() => works.length).toBe(count)
const cancelled = (): number => works.filter(({ scope }) => scope.signal.aborted).length

describe('work for a client that is gone is cancelled', () => {
  test.each([
    ['on the fast path', post(CALL), 1],
    ['pipelined on the fast path', post(CALL).repeat(10), 10],
    ['on the server for all kinds of requests', post(CALL, 'Origin: http://x'), 1],
    ['of a batch', post(`[${Array(40).fill(CALL).join(',')}]`), 16],
    ["of CometBFT's methods", 'GET /rpc/tx_search?query=%22tx.height=1%22 HTTP/1.1\r\nHost: x\r\n\r\n', 1],
    ['of REST', 'GET /cosmos/bank/v1beta1/supply HTTP/1.1\r\nHost: x\r\n\r\n', 1],
  ])('%s', async (_, text, count) => {
    for (const leave of ['destroy', 'end'] as const) {
      works = []
      const socket = await open()
      socket.write(text)
      await untilWorks(count)
      expect(cancelled()).toBe(0)
      socket[leave]()
      await expect.poll(cancelled).toBe(count)
      // Nothing more is begun: neither what the batch nor what the connection still holds.
      await new Promise((resolve) => setImmediate(resolve))
      expect(works).toHaveLength(count)
      socket.destroy()
    }
  })

  test('over a WebSocket, and nothing of what it still holds is begun', async () => {
    const { socket } = await openTestSocket(server.wsUrl)
    for (let count = 0; count < 5; count++) socket.send(CALL)
    await untilWorks(2)
    socket.terminate()
    await expect.poll(cancelled).toBe(2)
    await new Promise((resolve) => setImmediate(resolve))
    expect(works).toHaveLength(2)
  })

  test('but not the work of the others', async () => {
    const [leaving, staying] = [await open(), await open()]
    for (const socket of [leaving, staying]) socket.write(post(CALL))
    await untilWorks(2)
    leaving.destroy()
    await expect.poll(cancelled).toBe(1)
    const answer = once(staying, 'data')
    works.find(({ scope }) => !scope.signal.aborted)!.end()
    expect(String((await answer)[0])).toContain('"result":"0x"')
    staying.destroy()
  })
})

describe('the time of a request counts from its arrival', () => {
  test('also when a WebSocket has it wait', async () => {
    const { socket } = await openTestSocket(server.wsUrl)
    const { _socket: connection } = socket as unknown as { readonly _socket: Socket }
    // All three in one packet: the server has read the third when it begins the first.
    connection.cork()
    for (let count = 0; count < 3; count++) socket.send(CALL)
    connection.uncork()
    await untilWorks(2)
    const beforeMs = monotonicMs()
    await expect.poll(monotonicMs).toBeGreaterThan(beforeMs + 1)
    works[0]!.end()
    await untilWorks(3)
    expect(works[2]!.scope.deadlineMs).toBeLessThan(beforeMs + 1 + REQUEST_TIMEOUT_MS)
    socket.terminate()
  })

  test('also when the fast path has it wait', async () => {
    const socket = await open()
    socket.write(post(CALL).repeat(33))
    await untilWorks(32)
    const beforeMs = monotonicMs()
    await expect.poll(monotonicMs).toBeGreaterThan(beforeMs + 1)
    works[0]!.end()
    await untilWorks(33)
    expect(works[32]!.scope.deadlineMs).toBeLessThan(beforeMs + 1 + REQUEST_TIMEOUT_MS)
    socket.destroy()
  })

  test('and is the same for all calls of a batch, for those of filters too', async () => {
    const spec = '{"jsonrpc":"2.0","id":1,"method":"eth_newFilter","params":[{}]}'
    const { result } = JSON.parse((await thread.answer(spec))!)
    const poll = CALL.replace('eth_call', 'eth_getFilterLogs').replace('{}', `"${result}"`)
    const socket = await open()
    socket.write(post(`[${CALL},${CALL},${poll}]`))
    await untilWorks(2)
    for (const { end } of works) end()
    await untilWorks(3)
    expect(works[2]!.name).toBe('eth_getLogs')
    expect(new Set(works.map(({ scope }) => scope.deadlineMs)).size).toBe(1)
    socket.destroy()
    await expect.poll(cancelled).toBe(3)
  })
})
