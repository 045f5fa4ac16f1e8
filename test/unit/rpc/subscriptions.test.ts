import fc from 'fast-check'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { EthereumHeader } from '../../../src/chain/ethereumBlock.ts'
import { type Log, logsBloom } from '../../../src/chain/receipt.ts'
import type { ChainReader } from '../../../src/chain/store.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { createClientBudget } from '../../../src/rpc/clientBudget.ts'
import { logMatcher } from '../../../src/rpc/eth/logs.ts'
import { createFilterStore } from '../../../src/rpc/filters.ts'
import { createLogSubscribers } from '../../../src/rpc/logSubscribers.ts'
import { runs } from '../../propertyRuns.ts'
import { createMemoryNode, type MemoryNode } from './memoryNode.ts'
import { createTestThread, startTestServer } from './rpcTestServer.ts'
import { testAccount } from './testAccount.ts'
import { COUNTED, COUNTER } from './testContracts.ts'
import { openTestSocket } from './testSocket.ts'

const hashes = vi.hoisted(() => ({ count: 0 }))

vi.mock('../../../src/primitives/hash.ts', async (original) => {
  const real = await original<typeof import('../../../src/primitives/hash.ts')>()
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

  test.each([
    ['an empty block', 0],
    ['a block with a log', 1],
  ])('%s: no hash, however many alternatives are subscribed to', async (_, logs) => {
    const thread = createTestThread(node)
    const range = { blockHash: undefined, fromBlock: undefined, toBlock: undefined }
    const told: number[] = []
    for (let i = 0; i < 20; i++) {
      const topics = [i === 7 ? [hexToBytes(COUNTED), ...topicsFrom(0, 999)] : topicsFrom(i * 1_000, 1_000)]
      thread.hub.add({ kind: 'logs', filter: { ...range, addresses: [], topics } }, CLIENT, () => void told.push(i))
    }
    await node.produce(Array.from({ length: logs }, () => alice.sign({ to: CONTRACT, nonce: nonce++ })))
    hashes.count = 0
    thread.feed.head(node.view())
    expect(hashes.count).toBe(0)
    expect(told).toEqual(logs === 0 ? [] : [7])
    expect(thread.logged).toEqual([])
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
          subscribers.add(one, CLIENT, (end) => told[i]!.push(JSON.parse(String(end).slice(0, -'}}'.length)).logIndex)),
        )
        wanted.forEach(([, isEnded], i) => {
          if (isEnded) ends[i]!()
        })
        subscribers.notify(chainWith(logs), 1)
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
    const ignore = () => undefined
    subscribers.add({ addresses: [new Uint8Array(20)], topics: [] }, CLIENT, ignore)
    subscribers.add({ addresses: [CONTRACT], topics: [topicsFrom(1, 1)] }, CLIENT, ignore)
    subscribers.notify(chain, 1)
    expect(reads).toBe(0)
    subscribers.add({ addresses: [CONTRACT], topics: [] }, CLIENT, ignore)
    subscribers.notify(chain, 1)
    expect(reads).toBe(1)
    subscribers.add({ addresses: [], topics: [] }, CLIENT, ignore)
    subscribers.notify(
      chainWith([], () => reads++),
      1,
    )
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
