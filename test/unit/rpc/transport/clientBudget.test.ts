import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Counter, Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { type ClientAddresses, createClientAddresses } from '../../../../src/config/clientAddress.ts'
import { defineMethod } from '../../../../src/rpc/jsonrpc/method.ts'
import {
  createFilterStore,
  DEFAULT_FILTER_LIMITS,
  type FilterStore,
} from '../../../../src/rpc/subscriptions/filters.ts'
import { type ClientBudget, createClientBudget } from '../../../../src/rpc/transport/clientBudget.ts'
import { createRateLimit } from '../../../../src/rpc/transport/rateLimit.ts'
import { createSocketMetrics } from '../../../../src/telemetry/metrics.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../../support/rpc/rpcTestServer.ts'
import { openTestSocket, type TestSocket } from '../../../support/rpc/testSocket.ts'

/** How many times a client gets `amount`, until it is refused. */
function takeAll(budget: ClientBudget, client: string | undefined, amount = 1): number {
  let count = 0
  while (budget.take(client, amount)) count++
  return count
}

describe('a budget for clients', () => {
  test('gives a single client a fifth', () => {
    const budget = createClientBudget({ total: 10_000 })
    expect(takeAll(budget, 'a')).toBe(2_000)
    budget.giveBack('a', 500)
    expect(takeAll(budget, 'a')).toBe(500)
  })

  test('has something left for those who have little, when others take what they can get', () => {
    const budget = createClientBudget({ total: 10_000 })
    for (let i = 0; i < 100; i++) takeAll(budget, `greedy ${i}`)
    expect(Array.from({ length: 50 }, (_, i) => takeAll(budget, `newcomer ${i}`))).toEqual(Array(50).fill(10))
    budget.giveBack('greedy 0', 1)
    expect(takeAll(budget, 'greedy 0')).toBe(0)
  })

  test('gives one client in one piece no more than in many', () => {
    const budget = createClientBudget({ total: 10_000 })
    expect(budget.take('a', 2_001)).toBe(false)
    expect(budget.take('a', 2_000)).toBe(true)
  })

  test('gives all to the own machine and to connections of several clients', () => {
    for (const client of ['127.0.0.1', '::1', undefined]) {
      const budget = createClientBudget({ total: 100 })
      expect(takeAll(budget, client)).toBe(100)
      budget.giveBack(client, 100)
      expect(takeAll(budget, 'a')).toBe(20)
    }
  })

  test('tells what is taken, and of each refusal', () => {
    const told: number[] = []
    let refused = 0
    const onRefused = () => refused++
    const budget = createClientBudget({ total: 10, onChange: (taken) => told.push(taken), onRefused })
    budget.take('a', 2)
    budget.take('a', 1)
    budget.giveBack('a', 2)
    expect(told).toEqual([2, 0])
    expect(refused).toBe(1)
  })
})

describe('shares of one client', () => {
  const proxy = createClientAddresses([{ address: '127.0.0.1', prefix: 32 }])
  const [ALICE, BOB] = ['198.51.100.1', '198.51.100.2'] as const
  let connectionOf: ReturnType<ClientAddresses['ofConnection']>
  const clients: ClientAddresses = { of: proxy.of, ofConnection: () => connectionOf }
  const registry = new Registry()
  const metrics = createSocketMetrics(registry)
  const refusals = async (): Promise<Record<string, number>> => {
    const counter = registry.getSingleMetric('coind_rpc_refused_total') as Counter
    return Object.fromEntries((await counter.get()).values.map(({ labels, value }) => [labels.reason, value]))
  }
  let filters: FilterStore
  let node: MemoryNode
  let thread: TestThread
  let server: TestServer
  let criteriaBytes = 0
  /** ends the calls of test_held that wait */
  let release = Promise.withResolvers<string>()
  const held = defineMethod({ name: 'test_held', runs: 'socket', run: () => release.promise })
  const sockets: TestSocket[] = []

  beforeAll(async () => {
    node = await createMemoryNode()
    const budget = createClientBudget({ total: 120_000, onChange: (bytes) => (criteriaBytes = bytes) })
    filters = createFilterStore({ limits: { ...DEFAULT_FILTER_LIMITS, filters: 50 }, criteria: budget })
    thread = createTestThread(node, { filters, budget, extraMethods: [held] })
    server = await startTestServer(node, thread, {
      clients,
      metrics,
      requestBytes: 20_000,
      limits: { connections: 50, pendingRequestBytes: 100_000 },
      webSocketLimits: { sockets: 20, totalSubscriptions: 50, subscriptions: 8 },
    })
  })
  afterAll(async () => {
    for (const { socket } of sockets) socket.terminate()
    await server.close()
    expect(thread.logged).toEqual([])
  })

  const open = async (client: string, path = '/ws'): Promise<TestSocket> => {
    const opened = await openTestSocket(server.url + path, { 'x-forwarded-for': client })
    sockets.push(opened)
    return opened
  }
  const refusalOf = async (client: string): Promise<string> => {
    const socket = new WebSocket(server.wsUrl, { headers: { 'x-forwarded-for': client } })
    return ((await once(socket, 'error')) as [Error])[0].message
  }
  const closeAll = async (): Promise<void> => {
    const closing = sockets.splice(0).map(({ socket }) => {
      socket.terminate()
      return socket.readyState === WebSocket.CLOSED ? undefined : once(socket, 'close')
    })
    await Promise.all(closing)
  }
  /** Answers of a method, until the first error. */
  const askUntilRefused = async (socket: TestSocket, method: string, params: readonly unknown[]): Promise<number> => {
    for (let count = 0; ; count++) {
      const answer = (await socket.ask(method, params)) as { readonly error?: { readonly code: number } }
      if (answer.error === undefined) continue
      expect(answer.error.code).toBe(-32005)
      return count
    }
  }

  /** Whether a request over a new connection is answered, or the connection closed. */
  const isAnswered = (socket: Socket): Promise<boolean> => {
    socket.on('error', () => undefined)
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
    return Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)])
  }

  test('connections: an address has a fifth, a trusted proxy all', async () => {
    const isLetIn = async (): Promise<boolean> => {
      const socket = connect(server.address.port, '127.0.0.1')
      opened.push(socket)
      return isAnswered(socket)
    }
    const opened: ReturnType<typeof connect>[] = []
    const letIn = async (count: number): Promise<number> => {
      let total = 0
      for (let i = 0; i < count; i++) if (await isLetIn()) total++
      return total
    }
    connectionOf = ALICE
    expect(await letIn(15)).toBe(10)
    connectionOf = BOB
    expect(await letIn(10)).toBe(8)
    connectionOf = undefined
    expect(await letIn(40)).toBe(32)
    expect(await refusals()).toMatchObject({ connections: 5 + 2 + 8 })
    for (const socket of opened) socket.destroy()
    connectionOf = ALICE
    await vi.waitFor(async () => expect(await isLetIn()).toBe(true))
    connectionOf = undefined
    for (const socket of opened) socket.destroy()
  })

  test('new connections: an address has so many a second, a trusted proxy all', async () => {
    let nowMs = 0
    const connectionRate = createRateLimit({ perSecond: 5, burstSeconds: 2, now: () => nowMs })
    const busy = await startTestServer(node, thread, { clients, connectionRate })
    const letIn = async (count: number): Promise<number> => {
      let total = 0
      for (let i = 0; i < count; i++) {
        const socket = connect(busy.address.port, '127.0.0.1')
        if (await isAnswered(socket)) total++
        socket.destroy()
      }
      return total
    }
    connectionOf = ALICE
    expect(await letIn(15)).toBe(10)
    nowMs += 1_000
    expect(await letIn(10)).toBe(5)
    connectionOf = BOB
    expect(await letIn(5)).toBe(5)
    connectionOf = undefined
    expect(await letIn(20)).toBe(20)
    await busy.close()
  })

  test('WebSockets', async () => {
    for (let i = 0; i < 4; i++) await open(ALICE)
    expect(await refusalOf(ALICE)).toBe('Unexpected server response: 503')
    for (let i = 0; i < 3; i++) await open(BOB)
    expect(await refusals()).toMatchObject({ websockets: 1 })
    await closeAll()
    await vi.waitFor(async () => expect(await open(ALICE)).toBeDefined())
    await closeAll()
  })

  test('subscriptions, of both protocols together', async () => {
    const alice = [await open(ALICE), await open(ALICE)] as const
    expect(await askUntilRefused(alice[0], 'eth_subscribe', ['newHeads'])).toBe(8)
    expect(await askUntilRefused(alice[1], 'eth_subscribe', ['newHeads'])).toBe(2)
    const comet = await open(ALICE, '/rpc/websocket')
    expect(await comet.ask('subscribe', ["tm.event='Tx'"])).toMatchObject({ error: { data: 'too many subscriptions' } })
    expect(await refusals()).toMatchObject({ subscriptions: 2 })
    expect(await askUntilRefused(await open(BOB), 'eth_subscribe', ['newHeads'])).toBe(8)
    alice[0].socket.terminate()
    await vi.waitFor(async () => expect(await comet.ask('subscribe', ["tm.event='Tx'"])).toMatchObject({ result: {} }))
    expect(await comet.ask('unsubscribe', ["tm.event='Tx'"])).toMatchObject({ result: {} })
    await closeAll()
  })

  test('memory of criteria, and the place of a subscription that got none is free again', async () => {
    const topics = [Array.from({ length: 50 }, (_, i) => `0x${i.toString(16).padStart(64, '0')}`)]
    const alice = await open(ALICE)
    expect(await askUntilRefused(alice, 'eth_subscribe', ['logs', { topics }])).toBe(1)
    expect(criteriaBytes).toBeLessThanOrEqual(24_000)
    expect(await askUntilRefused(alice, 'eth_newFilter', [{ topics }])).toBe(0)
    expect(await askUntilRefused(alice, 'eth_subscribe', ['newHeads'])).toBe(7)
    expect(await askUntilRefused(await open(BOB), 'eth_subscribe', ['logs', { topics }])).toBe(1)
    await closeAll()
    await vi.waitFor(() => expect(criteriaBytes).toBe(0))
  })

  describe('bytes of requests under way', () => {
    const request = (method: string, length: number): string => {
      const start = `{"jsonrpc":"2.0","id":1,"method":"${method}","pad":"`
      return `${start}${'x'.repeat(length - start.length - 2)}"}`
    }
    const statusOf = async (client: string): Promise<number> => {
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': client, connection: 'close' }
      const response = await fetch(server.url, { method: 'POST', headers, body: request('eth_chainId', 10_000) })
      await response.text()
      return response.status
    }
    /** Sends the start of a request, or a whole one, by HTTP. Returns what ends it. */
    const send = (header: string, body: string) => async (): Promise<() => void> => {
      const socket = connect(server.address.port, '127.0.0.1')
      const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Forwarded-For: ${ALICE}\r\n${header}`
      socket.write(`${head}\r\n\r\n${body}`)
      return () => socket.destroy()
    }

    test.each([
      ['that is announced', send('Origin: x\r\nContent-Length: 20000', '')],
      ['of unknown length', send('Origin: x\r\nTransfer-Encoding: chunked', '')],
      ['that is being answered on the fast path', send('Content-Length: 20000', request('test_held', 20_000))],
      [
        'that is being answered by WebSocket',
        async (): Promise<() => void> => {
          const { socket } = await open(ALICE)
          socket.send(request('test_held', 20_000))
          return () => undefined
        },
      ],
    ])('a request %s', async (_, hold) => {
      connectionOf = undefined
      const end = await hold()
      await vi.waitFor(async () => expect(await statusOf(ALICE)).toBe(429))
      expect(await statusOf(BOB)).toBe(200)
      const { socket, next } = await open(ALICE)
      socket.send(request('eth_chainId', 10_000))
      expect(await next()).toMatchObject({ error: { code: -32005 } })
      end()
      release.resolve('')
      await vi.waitFor(async () => expect(await statusOf(ALICE)).toBe(200))
      release = Promise.withResolvers()
      await closeAll()
    })
  })

  test('filters', async () => {
    const alice = await open(ALICE)
    expect(await askUntilRefused(alice, 'eth_newBlockFilter', [])).toBe(10)
    const bob = await open(BOB)
    expect(await askUntilRefused(bob, 'eth_newBlockFilter', [])).toBe(8)
    const { result } = (await (await open('198.51.100.3')).ask('eth_newBlockFilter')) as { result: string }
    expect(await alice.ask('eth_uninstallFilter', [result])).toMatchObject({ result: true })
    await closeAll()
  })
})
