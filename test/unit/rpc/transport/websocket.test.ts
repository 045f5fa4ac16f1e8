import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createClientAddresses } from '../../../../src/config/clientAddress.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { defineMethod, type ParamReader } from '../../../../src/rpc/jsonrpc/method.ts'
import type { SubscriptionHub } from '../../../../src/rpc/subscriptions/subscriptions.ts'
import { createSocketMetrics, type SocketMetrics } from '../../../../src/telemetry/metrics.ts'
import { createThreadMetrics } from '../../../../src/telemetry/threadMetrics.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../../support/rpc/rpcTestServer.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTED, COUNTER } from '../../../support/rpc/testContracts.ts'
import { openTestSocket, type TestSocket } from '../../../support/rpc/testSocket.ts'

const alice = testAccount('alice')
const COUNTER_ADDRESS = new Uint8Array(20).fill(0xcc)
const OTHER_ADDRESS = new Uint8Array(20).fill(0xdd)

const readAny: ParamReader<unknown> = (json) => json
let gate = Promise.withResolvers<string>()
let running = 0
let mostRunning = 0
const wait = defineMethod({
  name: 'test_wait',
  runs: 'socket',
  params: [],
  required: 0,
  run: () => gate.promise,
})
const turns = defineMethod({
  name: 'test_turns',
  runs: 'socket',
  params: [readAny],
  required: 1,
  run: async (_, count) => {
    mostRunning = Math.max(mostRunning, ++running)
    for (let i = 0; i < Number(count); i++) await nextTurn()
    running--
    return 'done'
  },
})
const big = defineMethod({
  name: 'test_big',
  runs: 'socket',
  params: [readAny],
  required: 1,
  run: (_, length) => 'x'.repeat(Number(length)),
})

let node: MemoryNode
let thread: TestThread
let server: TestServer
let strict: TestServer
const metrics = createTestMetrics()
const sockets: TestSocket[] = []
let nonce = 0n
/** of the subscriptions at `server` and `strict` */
let [started, ended] = [0, 0]

beforeAll(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 24n },
      { address: COUNTER_ADDRESS, code: COUNTER },
      { address: OTHER_ADDRESS, code: COUNTER },
    ],
  })
  thread = createTestThread(node, { extraMethods: [wait, turns, big] })
  const hub: SubscriptionHub = {
    add: (...subscription) => {
      const end = thread.hub.add(...subscription)
      started++
      return () => {
        ended++
        end()
      }
    },
  }
  server = await startTestServer(node, thread, { hub, metrics })
  strict = await startTestServer(node, thread, {
    hub,
    metrics,
    requestBytes: 10_000,
    allowedOrigins: ['https://app.example.org'],
    webSocketLimits: {
      sockets: 3,
      subscriptions: 2,
      requestsInFlight: 2,
      bufferedBytes: 1_000_000,
      // However slow the machine is, a client that is dropped learns why.
      closingMs: 600_000,
    },
  })
})

afterEach(async () => {
  for (const { socket } of sockets.splice(0)) socket.terminate()
  await until(async () => (await webSocketCount()) === 0)
})

afterAll(async () => {
  await Promise.all([server.close(), strict.close()])
  expect(thread.logged).toEqual([])
})

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await nextTurn()
}

function createTestMetrics(): SocketMetrics {
  return createSocketMetrics(createThreadMetrics('socket').registry)
}

/** Connections that `server` and `strict` have. */
async function webSocketCount(): Promise<number> {
  const { values } = await metrics.connections.get()
  return values.find(({ labels }) => labels.transport === 'ws')?.value ?? 0
}

/** Resolves once a server has dropped a connection for which too much waits. */
async function untilDropped({ refusedTotal }: SocketMetrics): Promise<void> {
  await until(async () => (await refusedTotal.get()).values.some(({ labels }) => labels.reason === 'unread'))
}

async function open(target = server, headers: Record<string, string> = {}): Promise<TestSocket> {
  const opened = await openTestSocket(target.wsUrl, headers)
  sockets.push(opened)
  return opened
}

/** Makes a block that calls the contracts. */
async function produce(...targets: Uint8Array[]): Promise<void> {
  await node.produce(targets.map((to) => alice.sign({ to, nonce: nonce++ })))
}

/** Ends the calls of test_wait that run. */
function openGate(): void {
  gate.resolve('done')
  gate = Promise.withResolvers()
}

async function subscribe(client: TestSocket, ...params: unknown[]): Promise<string> {
  const answer = (await client.ask('eth_subscribe', params)) as { result: string }
  expect(answer.result).toMatch(/^0x[1-9a-f][0-9a-f]{0,31}$/)
  return answer.result
}

const notification = (subscription: string, result: unknown) => ({
  jsonrpc: '2.0',
  method: 'eth_subscription',
  params: { subscription, result },
})

describe('requests', () => {
  test('are answered as over HTTP, batches and notifications too', async () => {
    const client = await open()
    expect(await client.ask('eth_chainId')).toEqual({ jsonrpc: '2.0', id: 1, result: '0x1dcc' })
    client.socket.send('{"jsonrpc":"2.0","method":"eth_chainId"}')
    client.socket.send('nonsense')
    expect(await client.next()).toMatchObject({ id: null, error: { code: -32700 } })
    client.socket.send(Buffer.from('[{"jsonrpc":"2.0","id":1.0,"method":"net_version"}]'))
    expect(await client.next()).toEqual([{ jsonrpc: '2.0', id: 1, result: '7628' }])
    expect(client.waiting).toEqual([])
  })

  test('a quick one does not wait for a slow one', async () => {
    const client = await open()
    client.socket.send('{"jsonrpc":"2.0","id":"slow","method":"test_wait"}')
    client.socket.send('{"jsonrpc":"2.0","id":"quick","method":"eth_chainId"}')
    expect(await client.next()).toMatchObject({ id: 'quick' })
    openGate()
    expect(await client.next()).toMatchObject({ id: 'slow' })
  })

  test('many at once are all answered, a few at a time', async () => {
    const client = await open(strict)
    for (let id = 0; id < 300; id++) {
      client.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'test_turns', params: [id % 3] }))
    }
    const ids = new Set<unknown>()
    for (let i = 0; i < 300; i++) ids.add(((await client.next()) as { id: unknown }).id)
    expect(ids.size).toBe(300)
    expect(mostRunning).toBe(2)
  })

  test('a message that is too large closes the connection with 1009', async () => {
    const client = await open(strict)
    client.socket.send('x'.repeat(10_001))
    expect((await once(client.socket, 'close'))[0]).toBe(1009)
  })

  test('a connection that was refused is not kept, although its client does not end it', async () => {
    const metrics = createSocketMetrics(createThreadMetrics('socket').registry)
    const own = await startTestServer(node, thread, { metrics })
    const connections = async (): Promise<number> => (await metrics.connections.get()).values[0]?.value ?? 0
    const client = connect({ port: own.address.port, host: '127.0.0.1', allowHalfOpen: true })
    client.on('error', () => undefined)
    client.write('GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    const [answer] = (await once(client, 'data')) as [Buffer]
    expect(answer.toString()).toContain('404 Not Found')
    await expect.poll(connections).toBe(0)
    client.destroy()
    await own.close()
  })

  test('the address of HTTP is one for WebSockets as well', async () => {
    const socket = new WebSocket(server.wsUrl.replace('/ws', '/'))
    await once(socket, 'open')
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
    const [answer] = (await once(socket, 'message')) as [Buffer]
    expect(JSON.parse(answer.toString())).toMatchObject({ id: 1, result: expect.stringMatching(/^0x/) })
    socket.close()
  })

  test('other paths and origins are refused, and too many sockets', async () => {
    const refusal = async (url: string, headers = {}): Promise<unknown> => {
      const socket = new WebSocket(url, { headers })
      return ((await once(socket, 'error')) as [Error])[0].message
    }
    expect(await refusal(server.wsUrl.replace('/ws', '/other'))).toBe('Unexpected server response: 404')
    expect(await refusal(strict.wsUrl, { origin: 'https://evil.example.org' })).toBe('Unexpected server response: 403')
    await open(strict, { origin: 'https://app.example.org' })
    await open(strict)
    await open(strict)
    expect(await refusal(strict.wsUrl)).toBe('Unexpected server response: 503')
  })
})

describe('eth_subscribe', () => {
  const cases: readonly (readonly [params: unknown, code: number, message: string])[] = [
    [[], -32602, 'expected subscription name as first argument'],
    [[1], -32602, 'expected subscription name as first argument'],
    [{}, -32602, 'non-array args'],
    [['nothing'], -32601, 'no "nothing" subscription in eth namespace'],
    [['constructor'], -32601, 'no "constructor" subscription in eth namespace'],
    [['newHeads', 1], -32602, 'too many arguments, want at most 1'],
    [['logs'], -32602, 'missing value for required argument 1'],
    [['logs', 'x'], -32602, 'invalid argument 1: json: cannot unmarshal string into Go value of type filters.input'],
    [['logs', { address: '0x1' }], -32602, 'invalid argument 1: invalid address: hex string of odd length'],
    [['logs', { fromBlock: 'pending' }], -32602, 'pending logs are not supported'],
    [
      ['newPendingTransactions', 'x'],
      -32602,
      'invalid argument 1: json: cannot unmarshal string into Go value of type bool',
    ],
  ]
  test.each(cases)('%j is refused', async (params, code, message) => {
    const client = await open()
    expect(await client.ask('eth_subscribe', params as unknown[])).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code, message },
    })
  })

  test('other namespaces have none', async () => {
    const client = await open()
    const error = { code: -32601, message: 'no "x" subscription in debug namespace' }
    expect(await client.ask('debug_subscribe', ['x'])).toMatchObject({ error })
  })

  test('newHeads: each height once and in order, also when several blocks come at once', async () => {
    const client = await open()
    const id = await subscribe(client, 'newHeads')
    await produce()
    thread.feed.head(node.view())
    const stale = node.view()
    await produce()
    await produce()
    thread.feed.head(node.view())
    thread.feed.head(stale)
    thread.feed.head(node.view())
    const told = [await client.next(), await client.next(), await client.next()]
    for (const [index, { header, hash }] of node.blocks.slice(-3).entries()) {
      // The next message is this answer only if no block was told twice.
      const { result: block } = (await client.ask('eth_getHeaderByHash', [bytesToHex(hash)])) as { result: object }
      expect(told[index]).toEqual(notification(id, block))
      expect(block).toMatchObject({ number: `0x${header.number.toString(16)}`, hash: bytesToHex(hash) })
    }
  })

  test('logs: those that match, with the fields of eth_getLogs', async () => {
    const client = await open()
    const all = await subscribe(client, 'logs', {})
    const own = await subscribe(client, 'logs', { address: bytesToHex(COUNTER_ADDRESS), topics: [[COUNTED, null]] })
    const none = await subscribe(client, 'logs', { topics: [null, null] })
    await produce(COUNTER_ADDRESS, OTHER_ADDRESS)
    thread.feed.head(node.view())
    const told = [await client.next(), await client.next(), await client.next()]
    const { result } = (await client.ask('eth_getLogs', [{}])) as { result: Record<string, unknown>[] }
    expect(result).toHaveLength(2)
    expect(told).toEqual([notification(all, result[0]), notification(own, result[0]), notification(all, result[1])])
    expect(result.map(({ logIndex }) => logIndex)).toEqual(['0x0', '0x1'])
    expect(await client.ask('eth_unsubscribe', [none])).toMatchObject({ result: true })
  })

  test('newPendingTransactions: hashes, or objects', async () => {
    const client = await open()
    const hashes = await subscribe(client, 'newPendingTransactions')
    const bodies = await subscribe(client, 'newPendingTransactions', true)
    const { transaction, sender } = alice.sign({ nonce: 99n, to: COUNTER_ADDRESS })
    thread.feed.pending([{ raw: transaction.raw, hash: transaction.hash, sender }])
    const hash = bytesToHex(transaction.hash)
    expect(await client.next()).toEqual(notification(hashes, hash))
    expect(await client.next()).toMatchObject(
      notification(bodies, { hash, from: alice.hex, nonce: '0x63', blockHash: null, blockNumber: null }),
    )
  })

  test('syncing: when catching up begins and ends', async () => {
    const client = await open()
    const id = await subscribe(client, 'syncing')
    thread.setSyncing({ startingBlock: 1, currentBlock: 2, highestBlock: 30 })
    thread.feed.head(node.view())
    thread.feed.head(node.view())
    thread.setSyncing(undefined)
    thread.feed.head(node.view())
    const status = { startingBlock: '0x1', currentBlock: '0x2', highestBlock: '0x1e' }
    expect(await client.next()).toEqual(notification(id, { syncing: true, status }))
    expect(await client.next()).toEqual(notification(id, false))
  })

  test('nothing is told before the answer, in a batch neither', async () => {
    const client = await open()
    const before = started
    const call = (id: number, method: string, params: unknown[]) => ({ jsonrpc: '2.0', id, method, params })
    client.socket.send(JSON.stringify([call(1, 'eth_subscribe', ['newHeads']), call(2, 'test_wait', [])]))
    await until(() => started > before)
    await produce()
    thread.feed.head(node.view())
    openGate()
    const [{ result: id }] = (await client.next()) as [{ result: string }]
    expect(await client.next()).toMatchObject({ params: { subscription: id } })
  })

  test('ends with eth_unsubscribe, and with the connection', async () => {
    const client = await open()
    const id = await subscribe(client, 'newHeads')
    const other = await open()
    const missing = { error: { code: -32000, message: 'subscription not found' } }
    expect(await other.ask('eth_unsubscribe', [id])).toMatchObject(missing)
    expect(await client.ask('eth_unsubscribe', [id])).toMatchObject({ result: true })
    expect(await client.ask('eth_unsubscribe', [id])).toMatchObject(missing)
    expect(await client.ask('eth_unsubscribe', [1])).toMatchObject({
      error: { message: 'invalid argument 0: json: cannot unmarshal number into Go value of type rpc.ID' },
    })
    await produce()
    thread.feed.head(node.view())
    expect(await client.ask('eth_chainId')).toMatchObject({ result: '0x1dcc' })
  })

  test('a socket has a limited number', async () => {
    const client = await open(strict)
    const id = await subscribe(client, 'newHeads')
    await subscribe(client, 'syncing')
    const error = { code: -32005, message: 'too many subscriptions, want at most 2' }
    expect(await client.ask('eth_subscribe', ['syncing'])).toMatchObject({ error })
    await client.ask('eth_unsubscribe', [id])
    await subscribe(client, 'newHeads')
  })
})

describe('clients that do not keep up', () => {
  test('one that does not read is dropped with 1013, others are told everything', async () => {
    const [lazy, keen] = [await open(strict), await open(strict)]
    await subscribe(lazy, 'newPendingTransactions', true)
    await subscribe(keen, 'newPendingTransactions', true)
    const closed = once(lazy.socket, 'close')
    lazy.socket.pause()
    const before = ended
    const { transaction, sender } = alice.sign({ nonce: 100n, data: new Uint8Array(50_000) })
    const pooled = { raw: transaction.raw, hash: transaction.hash, sender }
    for (let i = 0; i < 200 && ended === before; i++) {
      thread.feed.pending([pooled])
      await keen.next()
    }
    lazy.socket.resume()
    expect((await closed)[0]).toBe(1013)
    expect(await keen.ask('eth_chainId')).toMatchObject({ result: '0x1dcc' })
  })

  test('of pings that come together the newest is answered', async () => {
    const { socket } = await open()
    const pongs: string[] = []
    socket.on('pong', (data) => pongs.push(String(data)))
    for (let i = 1; i <= 5_000; i++) socket.ping(String(i))
    await expect.poll(() => pongs.at(-1)).toBe('5000')
    expect(pongs.length).toBeLessThan(50)
  })

  test('of several that do not read, those that cost most are dropped', async () => {
    const own = createTestMetrics()
    const tight = await startTestServer(node, thread, {
      webSocketLimits: { totalBufferedBytes: 20_000_000 },
      metrics: own,
    })
    const [small, large] = [await open(tight), await open(tight)]
    const closed = once(large.socket, 'close')
    for (const [client, length] of [
      [small, 12_000_000],
      [large, 20_000_000],
    ] as const) {
      client.socket.pause()
      client.socket.send(`{"jsonrpc":"2.0","id":1,"method":"test_big","params":[${length}]}`)
    }
    await untilDropped(own)
    large.socket.resume()
    await closed
    small.socket.resume()
    expect(((await small.next()) as { result: string }).result).toHaveLength(12_000_000)
    await tight.close()
  })

  test('of several that do not read, the sockets of the client that costs most in all are dropped', async () => {
    const own = createTestMetrics()
    const tight = await startTestServer(node, thread, {
      webSocketLimits: { totalBufferedBytes: 25_000_000 },
      metrics: own,
      clients: createClientAddresses([{ address: '127.0.0.1', prefix: 32 }]),
    })
    const from = (client: string): Promise<TestSocket> => open(tight, { 'x-forwarded-for': client })
    const [other, ...greedy] = [await from('192.0.2.1'), await from('192.0.2.2'), await from('192.0.2.2')]
    const closed = Promise.race(greedy.map(({ socket }) => once(socket, 'close')))
    for (const [client, length] of [
      [other!, 12_000_000],
      ...greedy.map((client) => [client, 10_000_000] as const),
    ] as const) {
      client.socket.pause()
      client.socket.send(`{"jsonrpc":"2.0","id":1,"method":"test_big","params":[${length}]}`)
    }
    await untilDropped(own)
    for (const { socket } of greedy) socket.resume()
    await closed
    other!.socket.resume()
    expect(((await other!.next()) as { result: string }).result).toHaveLength(12_000_000)
    await tight.close()
  })

  test('what waits for many is in memory once, and costs none of them the connection', async () => {
    const tight = await startTestServer(node, thread, { webSocketLimits: { totalBufferedBytes: 40_000_000 } })
    const clients = await Promise.all(Array.from({ length: 5 }, () => open(tight)))
    for (const client of clients) {
      await subscribe(client, 'newPendingTransactions', true)
      client.socket.pause()
    }
    const { transaction, sender } = alice.sign({ nonce: 100n, data: new Uint8Array(200_000) })
    const pooled = { raw: transaction.raw, hash: transaction.hash, sender }
    // 24 MB for each client.
    for (let i = 0; i < 60; i++) thread.feed.pending([pooled])
    for (const { socket } of clients) socket.resume()
    for (const client of clients) {
      for (let i = 0; i < 60; i++) {
        const { params } = (await client.next()) as { params: { result: { input: string } } }
        expect(params.result.input).toHaveLength(400_002)
      }
      expect(await client.ask('eth_chainId')).toMatchObject({ result: '0x1dcc' })
    }
    await tight.close()
  })

  test('however much comes at once, those that cost most are dropped before more than the limit waits', async () => {
    const own = createTestMetrics()
    const limits = { totalBufferedBytes: 50_000_000 }
    const tight = await startTestServer(node, thread, { webSocketLimits: limits, metrics: own })
    const clients = await Promise.all(Array.from({ length: 5 }, () => open(tight)))
    for (const client of clients) {
      await subscribe(client, 'newPendingTransactions', true)
      client.socket.pause()
    }
    const { transaction, sender } = alice.sign({ nonce: 100n, data: new Uint8Array(7_000) })
    const pooled = { raw: transaction.raw, hash: transaction.hash, sender }
    // 28 MB for each client; what is so short is copied for each.
    thread.feed.pending(Array(2_000).fill(pooled))
    const dropped = async (): Promise<number> => (await own.refusedTotal.get()).values[0]?.value ?? 0
    await until(async () => (await dropped()) >= 2)
    const { values } = await own.refusedTotal.get()
    expect(values).toEqual([{ labels: { reason: 'unread' }, value: expect.any(Number) }])
    await tight.close()
  })

  test('one that is idle is pinged, and dropped when it does not answer', async () => {
    const patient = await startTestServer(node, thread, { webSocketLimits: { pingMs: 0 } })
    const hasty = await startTestServer(node, thread, { webSocketLimits: { pingMs: 0, pongMs: 0 } })
    const alive = await open(patient)
    const dead = new WebSocket(hasty.wsUrl, { autoPong: false })
    const closed = once(dead, 'close')
    await Promise.all([once(alive.socket, 'ping'), once(dead, 'ping')])
    expect((await closed)[0]).toBe(1006)
    expect(await alive.ask('eth_chainId')).toMatchObject({ result: '0x1dcc' })
    await Promise.all([patient.close(), hasty.close()])
  })

  test('closing the server closes the connections with a reason', async () => {
    const temporary = await startTestServer(node, thread)
    const client = await open(temporary)
    const closed = once(client.socket, 'close')
    await temporary.close()
    expect((await closed)[0]).toBe(1001)
  })
})
