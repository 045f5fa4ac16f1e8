import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { EthereumHeader } from '../../../../src/chain/block/ethereumBlock.ts'
import { type Log, logsBloom } from '../../../../src/chain/block/receipt.ts'
import type { ChainReader } from '../../../../src/chain/store/chainReader.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { logMatcher } from '../../../../src/rpc/eth/logs.ts'
import { getBlockReceipts } from '../../../../src/rpc/eth/transactions.ts'
import { createFilterStore } from '../../../../src/rpc/subscriptions/filters.ts'
import { createLogSubscribers } from '../../../../src/rpc/subscriptions/logSubscribers.ts'
import { createNotificationWork } from '../../../../src/rpc/subscriptions/notificationWork.ts'
import { createReceiptSubscribers } from '../../../../src/rpc/subscriptions/receiptSubscribers.ts'
import { createClientBudget } from '../../../../src/rpc/transport/clientBudget.ts'
import type { NotificationEnd } from '../../../../src/rpc/transport/socketProtocol.ts'
import { runs } from '../../../propertyRuns.ts'
import { invoke } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { createTestThread, startTestServer, type TestThread } from '../../../support/rpc/rpcTestServer.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTED, COUNTER } from '../../../support/rpc/testContracts.ts'
import { openTestSocket } from '../../../support/rpc/testSocket.ts'

const hashes = vi.hoisted(() => ({ count: 0 }))

vi.mock('../../../../src/primitives/hash.ts', async (original) => {
  const real = await original<typeof import('../../../../src/primitives/hash.ts')>()
  return {
    ...real,
    keccak256: (data: Uint8Array) => {
      hashes.count++
      return real.keccak256(data)
    },
  }
})

const alice = testAccount('alice')
const CLIENT = '203.0.113.1'
const WITHOUT_PAUSE = { ...createNotificationWork({ total: 1e9 }), pause: () => undefined }
const CONTRACT = new Uint8Array(20).fill(0xcc)

/** The topics `first` to `first + count - 1`. */
function topicsFrom(first: number, count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => {
    const topic = new Uint8Array(32)
    new DataView(topic.buffer).setUint32(0, first + i)
    return topic
  })
}

describe('the cost of a block', () => {
  let node: MemoryNode
  let nonce = 0n

  beforeAll(async () => {
    node = await createMemoryNode({
      accounts: [
        { address: alice.address, balance: 10n ** 24n },
        { address: CONTRACT, code: COUNTER },
      ],
    })
  })

  test('without subscriptions to blocks heads are not followed', () => {
    const { hub, feed } = createTestThread(node)
    const subscriber = { client: CLIENT, deliver: () => undefined, drop: () => undefined }
    hub.add({ kind: 'newPendingTransactions', full: false }, subscriber)
    expect(feed.listeners).toBe(0)
    const end = hub.add({ kind: 'newHeads' }, subscriber)
    expect(feed.listeners).toBe(1)
    end()
    end()
    feed.head(node.view())
    expect(feed.listeners).toBe(0)
  })

  test.each([
    ['an empty block', 0],
    ['a block with a log', 1],
  ])('%s: no hash, however many alternatives are subscribed to', async (_, logs) => {
    const thread = createTestThread(node)
    const range = { blockHash: undefined, fromBlock: undefined, toBlock: undefined }
    const told: number[] = []
    for (let i = 0; i < 20; i++) {
      const topics = [i === 7 ? [hexToBytes(COUNTED), ...topicsFrom(0, 999)] : topicsFrom(i * 1_000, 1_000)]
      const subscriber = { client: CLIENT, deliver: () => void told.push(i), drop: () => undefined }
      thread.hub.add({ kind: 'logs', filter: { ...range, addresses: [], topics } }, subscriber)
    }
    await node.produce(Array.from({ length: logs }, () => alice.sign({ to: CONTRACT, nonce: nonce++ })))
    hashes.count = 0
    thread.feed.head(node.view())
    await nextTurn()
    expect(hashes.count).toBe(0)
    expect(told).toEqual(logs === 0 ? [] : [7])
    expect(thread.logged).toEqual([])
  })

  test('logs of a range of blocks are those of its blocks alone, and a range that ends before it starts is refused', async () => {
    const thread = createTestThread(node)
    const { headHeight } = node.view().chain
    const told: string[] = []
    const watch = (name: string, fromBlock: number | 'latest' | undefined, toBlock: number | undefined) =>
      thread.hub.add(
        { kind: 'logs', filter: { blockHash: undefined, fromBlock, toBlock, addresses: [], topics: [] } },
        { client: CLIENT, deliver: () => void told.push(name), drop: () => undefined },
      )
    watch('from the second block on', headHeight + 2, undefined)
    watch('up to the first', undefined, headHeight + 1)
    watch('both', 0, headHeight + 2)
    for (let block = 0; block < 3; block++) {
      await node.produce([alice.sign({ to: CONTRACT, nonce: nonce++ })])
      thread.feed.head(node.view())
      await nextTurn()
      told.push('|')
    }
    expect(told.join(' ')).toBe('up to the first both | from the second block on both | from the second block on |')
    expect(() => watch('', 2, 1)).toThrow('invalid block range params')
    expect(() => watch('', 'latest', 1)).toThrow('invalid block range params')
    expect(thread.leases()).toBe(0)
  })
})

describe('many subscribers', () => {
  let node: MemoryNode
  let nonce = 0n
  const range = { blockHash: undefined, fromBlock: undefined, toBlock: undefined }
  const topics = {
    newHeads: { kind: 'newHeads' },
    logs: { kind: 'logs', filter: { ...range, addresses: [], topics: [] } },
    newPendingTransactions: { kind: 'newPendingTransactions', full: true },
    transactionReceipts: { kind: 'transactionReceipts', hashes: [] },
  } as const

  beforeAll(async () => {
    node = await createMemoryNode({
      accounts: [
        { address: alice.address, balance: 10n ** 24n },
        { address: CONTRACT, code: COUNTER },
      ],
    })
  })

  /** Subscriptions of `client`; they end when they are dropped. */
  function subscribe(thread: TestThread, kind: keyof typeof topics, clients: readonly string[]) {
    return clients.map((client) => {
      const subscriber = {
        client,
        heard: [] as NotificationEnd[],
        isDropped: false,
        deliver: (end: NotificationEnd) => void subscriber.heard.push(end),
        drop: () => {
          subscriber.isDropped = true
          end()
        },
      }
      const end = thread.hub.add(topics[kind], subscriber)
      return subscriber
    })
  }

  /** `count` different transactions, of which the pool tells. */
  function pooled(count: number, dataBytes = 0) {
    return Array.from({ length: count }, (_, i) => {
      const { transaction, sender } = alice.sign({ nonce: BigInt(i), data: new Uint8Array(dataBytes) })
      return { raw: transaction.raw, hash: transaction.hash, sender }
    })
  }

  test.each(['newHeads', 'logs', 'newPendingTransactions', 'transactionReceipts'] as const)(
    'of %s are told in parts, between which others have their turn',
    async (kind) => {
      const thread = createTestThread(node)
      const subscribers = subscribe(
        thread,
        kind,
        Array.from({ length: 3_000 }, (_, i) => `192.0.2.${i}`),
      )
      const count = () => subscribers.reduce((sum, { heard }) => sum + heard.length, 0)
      await node.produce([alice.sign({ to: CONTRACT, nonce: nonce++ })])
      if (kind === 'newPendingTransactions') thread.feed.pending(pooled(1))
      else thread.feed.head(node.view())
      const perTurn: number[] = []
      for (let told = 0; told < 3_000; told = count()) {
        await nextTurn()
        perTurn.push(count() - told)
      }
      expect(Math.max(...perTurn)).toBeLessThan(700)
      expect(subscribers.every(({ heard }) => heard.length === 1)).toBe(true)
      expect(thread.leases()).toBe(0)
    },
  )

  test('share the text of a notification, and get them in order', async () => {
    const thread = createTestThread(node)
    const subscribers = subscribe(thread, 'newPendingTransactions', Array(50).fill(CLIENT))
    const transactions = pooled(20, 10_000)
    thread.feed.pending(transactions.slice(0, 7))
    thread.feed.pending(transactions.slice(7))
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    const [first] = subscribers
    expect(first!.heard.map((end) => JSON.parse(String(end).slice(0, -'}}'.length)).nonce)).toEqual(
      transactions.map((_, i) => `0x${i.toString(16)}`),
    )
    for (const { heard } of subscribers) {
      for (const [i, end] of heard.entries()) expect(end).toBe(first!.heard[i])
    }
    expect(first!.heard[0]).toBeInstanceOf(Buffer)
  })

  test('of one client that are too much work are dropped, another client hears everything', async () => {
    const thread = createTestThread(node)
    const greedy = subscribe(thread, 'newPendingTransactions', Array(1_000).fill(CLIENT))
    const [modest] = subscribe(thread, 'newPendingTransactions', ['198.51.100.1'])
    thread.feed.pending(pooled(40))
    while (modest!.heard.length < 40) await nextTurn()
    expect(greedy.filter(({ isDropped }) => isDropped).length).toBeGreaterThan(500)
    expect(modest!.isDropped).toBe(false)
  })

  test('that cannot be told in time miss the oldest transactions, not the newest', async () => {
    const thread = createTestThread(node)
    const [subscriber] = subscribe(thread, 'newPendingTransactions', [CLIENT])
    const [transaction] = pooled(1, 100_000)
    // Of these 60 MB more than 32 MiB do not wait. The sender tells them apart.
    for (let i = 0; i < 600; i++) {
      const sender = new Uint8Array(20)
      new DataView(sender.buffer).setUint32(16, i)
      thread.feed.pending([{ ...transaction!, sender }])
    }
    for (let turn = 0; turn < 60; turn++) await nextTurn()
    const heard = subscriber!.heard.map((end) => Number(JSON.parse(String(end).slice(0, -'}}'.length)).from))
    expect(heard.length).toBeGreaterThan(300)
    expect(heard.length).toBeLessThan(340)
    expect(heard).toEqual([0, ...Array.from({ length: heard.length - 1 }, (_, i) => 601 - heard.length + i)])
  })
})

describe('matching', () => {
  // Few different values, so that many combinations match; long lists exceed what keys may join.
  const address = fc.integer({ min: 0, max: 1 }).map((value) => new Uint8Array(20).fill(value))
  const topic = fc
    .oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 40 }))
    .map((i) => topicsFrom(i, 1)[0]!)
  const longList = fc.nat(2).map((first) => topicsFrom(first, 20))
  const criteria = fc.record({
    addresses: fc.array(address, { maxLength: 3 }),
    topics: fc.array(fc.oneof(fc.array(topic, { maxLength: 3 }), longList), { maxLength: 4 }),
  })
  const log = fc.record({ address, topics: fc.array(topic, { maxLength: 4 }), data: fc.constant(new Uint8Array(0)) })

  test('gives each subscription what it would get alone, in order, also after others have ended', () => {
    let matches = 0
    const subscriptions = fc.array(fc.tuple(criteria, fc.boolean()), { maxLength: 30 })
    fc.assert(
      fc.property(subscriptions, fc.array(log, { maxLength: 12 }), (wanted, logs) => {
        let taken = 0
        const subscribers = createLogSubscribers(
          createClientBudget({ total: 1e9, onChange: (bytes) => (taken = bytes) }),
        )
        const told = wanted.map((): string[] => [])
        const ends = wanted.map(([one], i) =>
          subscribers.add(
            one,
            { from: 1 },
            {
              client: CLIENT,
              deliver: (end) => told[i]!.push(JSON.parse(String(end).slice(0, -'}}'.length)).logIndex),
              drop: () => expect.fail('the work is little'),
            },
          ),
        )
        wanted.forEach(([, isEnded], i) => {
          if (isEnded) ends[i]!()
        })
        void subscribers.notify(chainWith(logs), 1, WITHOUT_PAUSE)
        const expected = wanted.map(([one, isEnded]) => {
          const isMatch = logMatcher(one)
          return isEnded ? [] : logs.flatMap((each, index) => (isMatch(each) ? [`0x${index.toString(16)}`] : []))
        })
        expect(told).toEqual(expected)
        matches += expected.flat().length
        for (const end of ends) end!()
        expect(taken).toBe(0)
      }),
      { seed: 20_261_122, numRuns: runs(300) },
    )
    expect(matches).toBeGreaterThan(500)
  })

  test('reads the receipts of a block only when its bloom filter may match', () => {
    const emitted = [{ address: CONTRACT, topics: topicsFrom(0, 1), data: new Uint8Array(0) }]
    let reads = 0
    const chain = chainWith(emitted, () => reads++)
    const subscribers = createLogSubscribers(createClientBudget({ total: 1e8 }))
    const subscriber = { client: CLIENT, deliver: () => undefined, drop: () => undefined }
    subscribers.add({ addresses: [new Uint8Array(20)], topics: [] }, { from: 1 }, subscriber)
    subscribers.add({ addresses: [CONTRACT], topics: [topicsFrom(1, 1)] }, { from: 1 }, subscriber)
    void subscribers.notify(chain, 1, WITHOUT_PAUSE)
    expect(reads).toBe(0)
    subscribers.add({ addresses: [CONTRACT], topics: [] }, { from: 1 }, subscriber)
    void subscribers.notify(chain, 1, WITHOUT_PAUSE)
    expect(reads).toBe(1)
    subscribers.add({ addresses: [], topics: [] }, { from: 1 }, subscriber)
    const empty = chainWith([], () => reads++)
    void subscribers.notify(empty, 1, WITHOUT_PAUSE)
    expect(reads).toBe(1)
  })

  /** A chain whose block has these logs. */
  function chainWith(logs: readonly Log[], onRead: () => void = () => undefined) {
    const header = { number: 1, timestamp: 1, logsBloom: logsBloom(logs) } as unknown as EthereumHeader
    const { transaction, sender } = alice.sign({ nonce: 0n })
    return {
      header: () => header,
      hash: () => new Uint8Array(32),
      transactions: () => [{ transaction, sender }] as unknown as ReturnType<ChainReader['transactions']>,
      receipts: () => {
        onRead()
        return [{ logs }] as unknown as ReturnType<ChainReader['receipts']>
      },
    }
  }
})

describe('the memory of criteria', () => {
  const LIMIT_BYTES = 50_000
  const topics = [topicsFrom(0, 100).map(bytesToHex)]
  const tooMuch = { error: { code: -32005, message: 'log subscriptions take too much memory' } }

  test('is one budget for subscriptions and filters, returned when either or its socket ends', async () => {
    let taken = 0
    const budget = createClientBudget({
      total: LIMIT_BYTES,
      onChange: (bytes) => {
        taken = bytes
      },
    })
    const node = await createMemoryNode()
    const filters = createFilterStore({ criteria: budget })
    const thread = createTestThread(node, { filters, budget })
    const server = await startTestServer(node, thread)
    try {
      const [first, second] = [await openTestSocket(server.wsUrl), await openTestSocket(server.wsUrl)]
      const { result: id } = (await first.ask('eth_subscribe', ['logs', { topics }])) as { result: string }
      const ofOne = taken
      expect(ofOne).toBeGreaterThan(100 * 32)
      expect(await second.ask('eth_subscribe', ['logs', { topics }])).toMatchObject(tooMuch)
      expect(taken).toBe(ofOne)

      expect(await first.ask('eth_unsubscribe', [id])).toMatchObject({ result: true })
      expect(taken).toBe(0)
      expect(await second.ask('eth_subscribe', ['logs', { topics }])).toMatchObject({ result: expect.any(String) })
      second.socket.terminate()
      await vi.waitFor(() => expect(taken).toBe(0))

      const filter = (await first.ask('eth_newFilter', [{ topics }])) as { result: string }
      const ofFilter = taken
      expect(ofFilter).toBeGreaterThan(100 * 64)
      expect(budget.take(undefined, LIMIT_BYTES - ofFilter)).toBe(true)
      expect(await first.ask('eth_newFilter', [{ topics }])).toMatchObject({ error: { code: -32005 } })
      expect(await first.ask('eth_subscribe', ['logs', {}])).toMatchObject(tooMuch)
      expect(await first.ask('eth_subscribe', ['newHeads'])).toMatchObject({ result: expect.any(String) })
      expect(await first.ask('eth_uninstallFilter', [filter.result])).toMatchObject({ result: true })
      expect(taken).toBe(LIMIT_BYTES - ofFilter)
      first.socket.terminate()
    } finally {
      await server.close()
    }
    expect(thread.logged).toEqual([])
  })
})

describe('transactionReceipts', () => {
  let node: MemoryNode
  const receiptsOf = (height: number) => invoke(getBlockReceipts, node.context(), `0x${height.toString(16)}`)

  beforeAll(async () => {
    node = await createMemoryNode({
      accounts: [
        { address: alice.address, balance: 10n ** 24n },
        { address: CONTRACT, code: COUNTER },
      ],
    })
  })

  /** A subscription and the results that it was told of. */
  function subscribe(thread: TestThread, hashes: readonly Uint8Array[], client = CLIENT) {
    const heard: unknown[] = []
    const deliver = (end: NotificationEnd): void => void heard.push(JSON.parse(String(end).slice(0, -'}}'.length)))
    const end = thread.hub.add({ kind: 'transactionReceipts', hashes }, { client, deliver, drop: () => undefined })
    return { heard, end }
  }

  test('are those of eth_getBlockReceipts, in one notification a block; none for an empty block', async () => {
    const thread = createTestThread(node)
    const signed = [0n, 1n, 2n].map((nonce) => alice.sign({ to: CONTRACT, nonce }))
    const [first, , third] = signed.map(({ transaction }) => transaction.hash)
    const all = subscribe(thread, [])
    const two = subscribe(thread, [third!, first!, third!])
    const other = subscribe(thread, [new Uint8Array(32)])
    const ended = subscribe(thread, [first!])
    ended.end()
    await node.produce(signed)
    await node.produce([])
    thread.feed.head(node.view())
    await nextTurn()
    await nextTurn()
    const receipts = (await receiptsOf(1)) as unknown[]
    expect(all.heard).toEqual([receipts])
    expect(two.heard).toEqual([[receipts[0], receipts[2]]])
    expect(other.heard).toEqual([])
    expect(ended.heard).toEqual([])
    expect(thread.logged).toEqual([])
  })

  test('give back the memory of their hashes when they end, once', () => {
    let used = 0
    const setUsed = (bytes: number): void => {
      used = bytes
    }
    const budget = createClientBudget({ total: 1e9, onChange: setUsed })
    const subscribers = createReceiptSubscribers(budget)
    const target = { client: CLIENT, deliver: () => undefined, drop: () => undefined }
    const end = subscribers.add([new Uint8Array(32), new Uint8Array(32).fill(1)], 1, target)
    expect(used).toBeGreaterThan(0)
    end!()
    end!()
    expect(used).toBe(0)
    expect(createReceiptSubscribers(createClientBudget({ total: 10 })).add([], 1, target)).toBeUndefined()
  })

  test('over a WebSocket, with the errors of geth', async () => {
    const thread = createTestThread(node)
    const server = await startTestServer(node, thread)
    const socket = await openTestSocket(server.wsUrl)
    const subscribeTo = async (...params: unknown[]) => {
      const answer = await socket.ask('eth_subscribe', ['transactionReceipts', ...params])
      const { result, error } = answer as { readonly result?: unknown; readonly error?: unknown }
      return result ?? error
    }
    expect(await subscribeTo({ transactionHashes: Array(201).fill(`0x${'00'.repeat(32)}`) })).toMatchObject({
      code: -32000,
      message: 'exceed max number of transaction hashes allowed per transactionReceipts subscription',
    })
    expect(await subscribeTo({ transactionHashes: ['0x12'] })).toMatchObject({ code: -32602 })
    expect(await subscribeTo(null)).toMatch(/^0x/)
    expect(await subscribeTo({})).toMatch(/^0x/)
    socket.socket.close()
    await server.close()
  })
})
