import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createClientAddresses } from '../../../../src/config/clientAddress.ts'
import { createCometTable, defineCometMethod } from '../../../../src/rpc/comet/method.ts'
import { createRateLimit, type RateLimit } from '../../../../src/rpc/transport/rateLimit.ts'
import { createMemoryNode } from '../../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  NO_COSMOS,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../../support/rpc/rpcTestServer.ts'
import { openTestSocket } from '../../../support/rpc/testSocket.ts'

const ALICE = '198.51.100.1'
const BOB = '2001:db8:0:1::/64'

/** How many of `count` requests are let in. */
function admitted(limit: RateLimit, client: string, count: number): number {
  return Array.from({ length: count }, () => limit.admit(client, 0)).filter((seconds) => seconds === 0).length
}

describe('a rate limit', () => {
  let nowMs = 0
  const create = (options: Partial<Parameters<typeof createRateLimit>[0]> = {}) =>
    createRateLimit({ perSecond: 5, now: () => nowMs, ...options })
  beforeEach(() => {
    nowMs = 1_000
  })

  test('lets in ten seconds of requests at once, then as many as it says', () => {
    const limit = create()
    expect(admitted(limit, ALICE, 60)).toBe(50)
    nowMs += 1_000
    expect(admitted(limit, ALICE, 60)).toBe(5)
    nowMs += 3_600_000
    expect(admitted(limit, ALICE, 60)).toBe(50)
  })

  test('counts each client for itself', () => {
    const limit = create()
    expect(admitted(limit, ALICE, 60)).toBe(50)
    expect(admitted(limit, BOB, 60)).toBe(50)
  })

  test('counts a batch in full, and says how long it takes', () => {
    const limit = create()
    expect(limit.admit(ALICE, 0)).toBe(0)
    limit.charge(ALICE, 99)
    // 50 were there, 100 are taken: 51 are missing.
    expect(limit.admit(ALICE, 0)).toBe(11)
    nowMs += 10_000
    expect(limit.admit(ALICE, 0)).toBe(1)
    nowMs += 200
    expect(limit.admit(ALICE, 0)).toBe(0)
  })

  test('counts long texts as several requests', () => {
    const limit = create()
    expect(limit.admit(ALICE, 40 * 65_536)).toBe(0)
    expect(admitted(limit, ALICE, 60)).toBe(9)
  })

  test('has none for the own machine, and none at all when it is off', () => {
    const limit = create()
    for (const client of ['127.0.0.1', '127.9.9.9', '::1']) expect(admitted(limit, client, 1_000)).toBe(1_000)
    expect(admitted(create({ perSecond: 0 }), ALICE, 1_000)).toBe(1_000)
  })

  test('tells of each refusal', () => {
    let refused = 0
    admitted(create({ onRefused: () => refused++ }), ALICE, 60)
    expect(refused).toBe(10)
  })

  test('remembers only so many clients: those that were used last', () => {
    const limit = create({ clients: 1_000 })
    admitted(limit, ALICE, 50)
    admitted(limit, BOB, 50)
    for (let i = 0; i < 999; i++) limit.admit(`2001:db8:1:${i.toString(16)}::/64`, 0)
    expect(admitted(limit, ALICE, 60)).toBe(50)
    expect(admitted(limit, BOB, 60)).toBe(50)
  })

  test('uses keep a client remembered', () => {
    const limit = create({ clients: 1_000 })
    admitted(limit, ALICE, 50)
    for (let i = 0; i < 5_000; i++) {
      limit.admit(`2001:db8:1:${i.toString(16)}::/64`, 0)
      limit.charge(ALICE, 1)
    }
    expect(limit.admit(ALICE, 0)).toBeGreaterThan(900)
  })
})

test('clients behind a proxy on the same machine have a limit, even where TRUSTED_PROXIES does not name it', async () => {
  const node = await createMemoryNode()
  const rateLimit = createRateLimit({ perSecond: 1, now: () => 0 })
  const thread = createTestThread(node, { rateLimit })
  const server = await startTestServer(node, thread, { clients: createClientAddresses([]), rateLimit })
  const statusOf = async (headers: Record<string, string>): Promise<number> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' })
    const answer = await fetch(server.url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    })
    await answer.text()
    return answer.status
  }
  for (let i = 0; i < 10; i++) expect(await statusOf({ 'x-forwarded-for': `127.0.0.1, 198.51.100.${i}` })).toBe(200)
  expect(await statusOf({ 'x-forwarded-for': '198.51.100.77' })).toBe(429)
  expect(await statusOf({ forwarded: 'for=127.0.0.1' })).toBe(429)
  expect(await statusOf({})).toBe(200)
  await server.close()
})

describe('a server with a rate limit', () => {
  const comet = createCometTable([defineCometMethod({ name: 'one', params: [], run: () => 1 })])
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const call = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'eth_chainId' })
  const error = { code: -32005, message: 'too many requests: try again in 1 s', data: { rate: { backoff_seconds: 1 } } }
  let client = ALICE
  let clients = 0
  let thread: TestThread
  let server: TestServer

  beforeAll(async () => {
    const node = await createMemoryNode()
    // Time stands still.
    const rateLimit = createRateLimit({ perSecond: 1, now: () => 0 })
    thread = createTestThread(node, { rateLimit })
    const addresses = createClientAddresses([{ address: '127.0.0.1', prefix: 32 }])
    server = await startTestServer(node, thread, { cosmos: { ...NO_COSMOS, comet }, clients: addresses, rateLimit })
  })
  beforeEach(() => {
    client = `198.51.100.${++clients}`
  })
  afterAll(async () => {
    await server.close()
    expect(thread.logged).toEqual([])
  })

  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(server.url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...from(client), ...headers },
    })
  /** Takes what the client has but for `left` requests. */
  const exhaust = async (left = 0): Promise<void> => {
    await post('/', Array(10 - left).fill(call(1)))
  }

  test('refuses by HTTP with 429, on the fast path', async () => {
    await exhaust()
    const socket = connect(server.address.port, '127.0.0.1')
    const body = JSON.stringify(call('x'))
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Forwarded-For: ${client}\r\n`
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`.repeat(100))
    let received = ''
    for await (const bytes of socket) {
      received += bytes
      if (received.split('"jsonrpc"').length > 100) break
    }
    expect(received.split('HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\n')).toHaveLength(101)
    expect(JSON.parse(received.slice(received.lastIndexOf('\r\n')))).toEqual({ jsonrpc: '2.0', id: 'x', error })
  })

  test('refuses by HTTP with 429, in the HTTP server; web pages may read it', async () => {
    const headers = { origin: 'https://app.example' }
    await exhaust(1)
    expect((await post('/', call(1), headers)).status).toBe(200)
    const response = await post('/', call(2), headers)
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 2, error })
    expect(await (await post('/', [call(3), call(4)], headers)).json()).toEqual([{ jsonrpc: '2.0', id: 3, error }])
    expect((await fetch(server.url, { method: 'OPTIONS', headers: from(client) })).status).toBe(204)
    expect((await fetch(`${server.url}/health`, { headers: from(client) })).status).toBe(200)
    expect((await fetch(server.url, { headers: from('198.51.100.200') })).status).toBe(200)
  })

  test('a batch that is let in is done whole', async () => {
    expect(await (await post('/', Array(30).fill(call(1)))).json()).toHaveLength(30)
    const response = await post('/', call(1))
    expect(response.headers.get('retry-after')).toBe('21')
  })

  test("CometBFT's RPC", async () => {
    const one = { jsonrpc: '2.0', id: 5, method: 'one', params: {} }
    expect(await (await post('/rpc', Array(10).fill(one))).json()).toHaveLength(10)
    const refused = { code: -32005, message: 'Too many requests', data: error.message }
    const answer = await post('/rpc', one)
    expect(answer.status).toBe(429)
    expect(await answer.json()).toEqual({ jsonrpc: '2.0', id: 5, error: refused })
    const get = await fetch(`${server.url}/rpc/one`, { headers: from(client) })
    expect(get.status).toBe(429)
    expect(await get.json()).toEqual({ jsonrpc: '2.0', id: -1, error: refused })
  })

  test('REST', async () => {
    await exhaust()
    const response = await fetch(`${server.url}/cosmos/bank/v1beta1/supply`, { headers: from(client) })
    expect(response.status).toBe(429)
    expect(await response.json()).toEqual({ code: 8, message: error.message, details: [] })
  })

  test('WebSockets: each message is a request, and so is the upgrade', async () => {
    await exhaust(2)
    const { socket, ask, next } = await openTestSocket(server.wsUrl, from(client))
    expect(await ask('eth_chainId')).toMatchObject({ result: '0x1dcc' })
    expect(await ask('eth_chainId')).toEqual({ jsonrpc: '2.0', id: 2, error })
    socket.send('{"jsonrpc":"2.0","method":"eth_chainId"}')
    socket.send(JSON.stringify([{ ...call('a'), params: ['x'.repeat(5_000)] }]))
    expect(await ask('eth_chainId')).toEqual({ jsonrpc: '2.0', id: null, error })
    expect(await next()).toEqual({ jsonrpc: '2.0', id: 3, error })
    const status = await new Promise((resolve) => {
      const refused = new WebSocket(server.wsUrl, { headers: from(client) })
      refused.on('error', () => undefined)
      refused.on('unexpected-response', (_, response) =>
        resolve([response.statusCode, response.headers['retry-after']]),
      )
    })
    expect(status).toEqual([429, '1'])
    socket.close()
  })

  test('a WebSocket that goes on sending is closed', async () => {
    await exhaust(1)
    const { socket, waiting } = await openTestSocket(server.wsUrl, from(client))
    const closed = once(socket, 'close')
    for (let i = 0; i < 3_000; i++) socket.send('1')
    expect((await closed)[0]).toBe(1013)
    expect(waiting).toHaveLength(256)
  })

  test("CometBFT's WebSocket", async () => {
    await exhaust(1)
    const socket = new WebSocket(`${server.url}/rpc/websocket`, { headers: from(client) })
    socket.once('open', () => socket.send('{"jsonrpc":"2.0","id":"a","method":"one"}'))
    const answer = await new Promise((resolve) => socket.once('message', resolve))
    expect(JSON.parse(String(answer))).toMatchObject({ id: 'a', error: { code: -32005, data: error.message } })
    socket.close()
  })
})
