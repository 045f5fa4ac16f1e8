import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { PooledTransaction } from '../../../../src/mempool/types.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import {
  createFilterStore,
  DEFAULT_FILTER_LIMITS,
  type FilterStore,
} from '../../../../src/rpc/subscriptions/filters.ts'
import { createClientBudget } from '../../../../src/rpc/transport/clientBudget.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../../support/rpc/rpcTestServer.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTED, COUNTER } from '../../../support/rpc/testContracts.ts'

const alice = testAccount('alice')
const CONTRACT = new Uint8Array(20).fill(0xcc)
const CLIENT = '203.0.113.1'
const criteria = createClientBudget({ total: 1e8 })
const NO_FILTER = { code: -32000, message: 'filter not found' }

interface Answer {
  readonly result?: unknown
  readonly error?: unknown
}

/** Two servers, as two socket threads, on the filters of one of them; each request has a connection of its own. */
describe('filters over two servers', () => {
  let node: MemoryNode
  let store: FilterStore
  let threads: readonly TestThread[]
  let servers: readonly TestServer[]
  let turn = 0
  let nowMs = 0
  let nonce = 0n

  beforeAll(async () => {
    node = await createMemoryNode({
      accounts: [
        { address: alice.address, balance: 10n ** 24n },
        { address: CONTRACT, code: COUNTER },
      ],
    })
    const limits = { ...DEFAULT_FILTER_LIMITS, filters: 8 }
    store = createFilterStore({ limits, now: () => nowMs, criteria: createClientBudget({ total: 2_000 }) })
    const first = createTestThread(node, { filters: store, limits: { logResults: 3 } })
    const remote = { ...store, addTransactions: () => undefined }
    const second = createTestThread(node, { filters: remote, limits: { logResults: 3 } })
    threads = [first, second]
    servers = await Promise.all(threads.map((thread) => startTestServer(node, thread)))
  })

  beforeEach(() => {
    // Everything that an earlier test left has expired.
    nowMs += DEFAULT_FILTER_LIMITS.lifetimeMs + 1
  })

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()))
    for (const thread of threads) expect(thread.logged).toEqual([])
  })

  const ask = async (method: string, ...params: unknown[]): Promise<Answer> => {
    const response = await fetch(servers[turn++ % 2]!.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return (await response.json()) as Answer
  }
  const create = async (method: string, ...params: unknown[]): Promise<string> => {
    const { result } = await ask(method, ...params)
    expect(result).toMatch(/^0x[1-9a-f][0-9a-f]{0,31}$/)
    return result as string
  }
  const changes = async (id: string): Promise<unknown> => {
    const { result, error } = await ask('eth_getFilterChanges', id)
    return result ?? error
  }
  /** Makes a block with `count` logs. */
  const produce = async (count: number): Promise<void> => {
    const calls = Array.from({ length: count }, () => alice.sign({ to: CONTRACT, nonce: nonce++ }))
    await node.produce(calls)
  }
  const pooled = (data: number): PooledTransaction => {
    const { transaction, sender } = alice.sign({ nonce: 500n, data: Uint8Array.of(data) })
    return { raw: transaction.raw, hash: transaction.hash, sender }
  }

  test('blocks: the hashes since the last poll', async () => {
    const id = await create('eth_newBlockFilter')
    expect(await changes(id)).toEqual([])
    await produce(0)
    await produce(0)
    expect(await changes(id)).toEqual(node.blocks.slice(-2).map(({ hash }) => bytesToHex(hash)))
    expect(await changes(id)).toEqual([])
    expect(await ask('eth_getFilterLogs', id)).toMatchObject({ error: NO_FILTER })
  })

  test('logs: those of new blocks that match', async () => {
    await produce(1)
    const id = await create('eth_newFilter', { address: [bytesToHex(CONTRACT)], topics: [null], unknown: 1 })
    const other = await create('eth_newFilter', { topics: [COUNTED, COUNTED] })
    expect(await changes(id)).toEqual([])
    await produce(2)
    await produce(0)
    await produce(1)
    const { result } = await ask('eth_getLogs', { fromBlock: `0x${(node.blocks.length - 3).toString(16)}` })
    expect(result).toHaveLength(3)
    expect(await changes(id)).toEqual(result)
    expect(await changes(id)).toEqual([])
    expect(await changes(other)).toEqual([])
  })

  test('logs: eth_getLogs gives the same for all ways to name the blocks, and those of a new block at once', async () => {
    for (const count of [2, 0, 1]) {
      await produce(count)
      const { hash } = node.blocks.at(-1)!
      const { result: head } = await ask('eth_blockNumber')
      const ways = [{}, { blockHash: bytesToHex(hash) }, { fromBlock: head, address: bytesToHex(CONTRACT) }]
      // Twice on each server: run, and then from what is kept.
      for (const way of [...ways, ...ways].flatMap((one) => [one, one])) {
        const { result } = await ask('eth_getLogs', way)
        expect(result).toHaveLength(count)
        for (const log of result as object[]) expect(log).toMatchObject({ blockHash: bytesToHex(hash) })
      }
      expect(await ask('eth_getLogs', { fromBlock: head, toBlock: '0x0' })).toHaveProperty('error')
      expect(await ask('eth_getLogs', { topics: [bytesToHex(hash)] })).toEqual({ jsonrpc: '2.0', id: 1, result: [] })
    }
  })

  test('logs: eth_getFilterLogs looks at the range of the filter, the changes only at new blocks of it', async () => {
    await produce(1)
    const head = node.blocks.length - 1
    const fromBlock = `0x${head.toString(16)}`
    const id = await create('eth_newFilter', { fromBlock, toBlock: `0x${(head + 1).toString(16)}` })
    await produce(1)
    await produce(1)
    const { result } = await ask('eth_getFilterLogs', id)
    expect(result).toMatchObject([{ blockNumber: fromBlock }, { blockNumber: `0x${(head + 1).toString(16)}` }])
    expect(await changes(id)).toMatchObject([{ blockNumber: `0x${(head + 1).toString(16)}` }])
    const blockHash = bytesToHex(node.blocks.at(-1)!.hash)
    const ofBlock = await create('eth_newFilter', { blockHash })
    expect(await ask('eth_getFilterLogs', ofBlock)).toMatchObject({ result: [{ blockHash }] })
  })

  test('logs: more than one answer may hold come in parts, none is lost', async () => {
    const id = await create('eth_newFilter', {})
    for (let i = 0; i < 5; i++) await produce(2)
    const told: { blockNumber: string; logIndex: string }[] = []
    for (let polls = 0; polls < 10; polls++) told.push(...((await changes(id)) as typeof told))
    const expected = node.blocks.slice(-5).flatMap(({ header }) =>
      [0, 1].map((logIndex) => ({
        blockNumber: `0x${header.number.toString(16)}`,
        logIndex: `0x${logIndex}`,
      })),
    )
    expect(told.map(({ blockNumber, logIndex }) => ({ blockNumber, logIndex }))).toEqual(expected)
  })

  test('logs: a block with too many is an error each time, and nothing is skipped', async () => {
    const id = await create('eth_newFilter', {})
    await produce(4)
    const error = { code: -32005, message: 'query returned more than 3 results' }
    expect(await changes(id)).toEqual(error)
    expect(await changes(id)).toEqual(error)
  })

  test.each([
    [{ fromBlock: 'pending' }, 'pending logs are not supported'],
    [{ fromBlock: '0x5', toBlock: '0x4' }, 'invalid block range params'],
    [{ topics: [1] }, 'invalid argument 0: invalid topic(s)'],
    [5, 'invalid argument 0: json: cannot unmarshal number into Go value of type filters.input'],
  ])('logs: %j is refused', async (filter, message) => {
    expect(await ask('eth_newFilter', filter)).toMatchObject({ error: { code: -32602, message } })
  })

  test('transactions: hashes, or objects, since the filter was made', async () => {
    const feed = threads[0]!.feed
    feed.pending([pooled(0)])
    const hashes = await create('eth_newPendingTransactionFilter')
    feed.pending([pooled(1), pooled(2)])
    const bodies = await create('eth_newPendingTransactionFilter', true)
    feed.pending([pooled(3)])
    expect(await changes(hashes)).toEqual([1, 2, 3].map((data) => bytesToHex(pooled(data).hash)))
    expect(await changes(hashes)).toEqual([])
    expect(await changes(bodies)).toMatchObject([{ input: '0x03', from: alice.hex, blockHash: null }])
  })

  test('transactions: many objects are written in parts between which others have their turn', async () => {
    const bodies = await create('eth_newPendingTransactionFilter', true)
    threads[0]!.feed.pending(Array.from({ length: 1_000 }, () => pooled(1)))
    let turns = 0
    let timer: NodeJS.Immediate
    const count = (): void => {
      turns++
      timer = setImmediate(count)
    }
    count()
    const answer = await threads[0]!.ask({ jsonrpc: '2.0', id: 1, method: 'eth_getFilterChanges', params: [bodies] })
    clearImmediate(timer!)
    expect((answer as Answer).result).toHaveLength(1_000)
    expect(turns).toBeGreaterThan(10)
  })

  test('end with eth_uninstallFilter', async () => {
    const id = await create('eth_newBlockFilter')
    expect(await ask('eth_uninstallFilter', id)).toMatchObject({ result: true })
    expect(await ask('eth_uninstallFilter', id)).toMatchObject({ result: false })
    expect(await changes(id)).toEqual(NO_FILTER)
  })

  test('end five minutes after the last poll', async () => {
    const id = await create('eth_newBlockFilter')
    const forgotten = await create('eth_newBlockFilter')
    nowMs += 299_999
    expect(await changes(id)).toEqual([])
    nowMs += 2
    expect(await changes(forgotten)).toEqual(NO_FILTER)
    nowMs += 299_998
    expect(await changes(id)).toEqual([])
    nowMs += 300_001
    expect(await changes(id)).toEqual(NO_FILTER)
  })

  test('are limited in number and size', async () => {
    const tooMany = { error: { code: -32005, message: 'too many filters' } }
    for (let i = 0; i < 8; i++) await create('eth_newBlockFilter')
    expect(await ask('eth_newBlockFilter')).toMatchObject(tooMany)
    nowMs += 300_001
    const topics = [Array.from({ length: 40 }, () => COUNTED)]
    expect(await ask('eth_newFilter', { topics })).toMatchObject(tooMany)
    await create('eth_newFilter', {})
  })
})

describe('what a store keeps', () => {
  const transaction = (index: number): PooledTransaction => {
    return { raw: new Uint8Array(100), hash: new Uint8Array(32).fill(index), sender: new Uint8Array(20) }
  }
  const hashesOf = async (store: FilterStore, id: string): Promise<unknown> => {
    const poll = await store.poll(id, 0)
    return poll?.kind === 'transactions' ? poll.transactions.map(({ hash }) => hash[0]) : poll
  }
  const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i)

  test.each([
    ['their number', { transactions: 10 }],
    ['their bytes', { transactionBytes: 4_000 }],
  ])('only the newest transactions, by %s', async (_, limits) => {
    const store = createFilterStore({ limits: { ...DEFAULT_FILTER_LIMITS, ...limits }, criteria })
    const [slow, quick] = [
      await store.add({ kind: 'transactions', full: false }, 0, CLIENT),
      await store.add({ kind: 'transactions', full: false }, 0, CLIENT),
    ]
    for (let i = 0; i < 100; i += 5) {
      store.addTransactions(range(i, i + 5).map(transaction))
      expect(await hashesOf(store, quick!)).toEqual(range(i, i + 5))
    }
    expect(await hashesOf(store, slow!)).toEqual(range(90, 100))
  })

  test('a poll by a thread that is behind sees nothing and skips nothing', async () => {
    const store = createFilterStore({ criteria })
    const id = (await store.add({ kind: 'blocks' }, 10, CLIENT))!
    expect(await store.poll(id, 12)).toEqual({ kind: 'blocks', from: 11, to: 12 })
    const { from, to } = (await store.poll(id, 11)) as { from: number; to: number }
    expect(from).toBeGreaterThan(to)
    expect(await store.poll(id, 14)).toEqual({ kind: 'blocks', from: 13, to: 14 })
  })

  test('a long absence is looked at in parts', async () => {
    const store = createFilterStore({ limits: { ...DEFAULT_FILTER_LIMITS, blocksPerPoll: 100 }, criteria })
    const id = (await store.add({ kind: 'blocks' }, 0, CLIENT))!
    expect(await store.poll(id, 150)).toEqual({ kind: 'blocks', from: 1, to: 100 })
    expect(await store.poll(id, 150)).toEqual({ kind: 'blocks', from: 101, to: 150 })
  })
})
