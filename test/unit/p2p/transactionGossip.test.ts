import fc from 'fast-check'
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/p2p/limits.ts'
import { createBudgets, type Session } from '../../../src/p2p/session.ts'
import {
  type AdmissionCounts,
  BatchError,
  batchLength,
  countTransactions,
  decodeBatch,
  encodeBatch,
  type HashedTransaction,
  SeenHashes,
  TransactionGossip,
  type Verdict,
} from '../../../src/p2p/transactionGossip.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { keccak256, sha256 } from '../../../src/primitives/hash.ts'
import { createNetworkMetrics } from '../../../src/telemetry/metrics.ts'

/**
 * A transaction; those that begin with 9 have wrong signatures, those with 8 are refused by the pool, and the check of those with 7
 * comes upon a bug.
 */
type Bytes = readonly [kind: 1 | 7 | 8 | 9, number: number]

const BAN = { ban: 'a transaction with a wrong signature' }

let gossip: TransactionGossip
let offered: string[]
/** cost of what the pool refused, by peer */
let refused: Map<Session, number>
/** what the pool waits for */
let pool: Promise<void>

beforeEach(() => {
  offered = []
  pool = Promise.resolve()
  refused = new Map()
  gossip = new TransactionGossip({
    metrics: createNetworkMetrics(new Registry()),
    now: () => 0,
    admit,
    refused: (session, cost) => refused.set(session, (refused.get(session) ?? 0) + cost),
  })
})

async function admit(transactions: readonly HashedTransaction[]): Promise<AdmissionCounts> {
  offered.push(...transactions.map(({ raw }) => raw.join('.')))
  await pool
  const count = (kind: number) => transactions.filter(({ raw }) => raw[0] === kind)
  return { admitted: count(1).length, refused: count(8).length + count(7).length, invalid: count(9), unknown: count(7) }
}

/** A peer of its own each time. */
function peer(): Session {
  return { budgets: createBudgets(0) } as Session
}

let number = 0

function validate(
  transactions: readonly Bytes[],
  options: { from?: Session; isRepeated?: boolean } = {},
): Promise<Verdict> {
  const { from = peer(), isRepeated = false } = options
  const raw = transactions.map((bytes) => Uint8Array.from(bytes))
  return gossip.validate(from, encodeBatch({ isRepeated, number: number++, transactions: raw }))
}

test('native transactions are known by their sha256, EVM ones by their keccak256', async () => {
  const hashes: string[] = []
  const both = new TransactionGossip({
    metrics: createNetworkMetrics(new Registry()),
    now: () => 0,
    admit: async (transactions) => {
      hashes.push(...transactions.map(({ hash }) => bytesToHex(hash)))
      return { admitted: transactions.length, refused: 0, invalid: [], unknown: [] }
    },
    refused: () => undefined,
  })
  const [native, evm] = [Uint8Array.of(0x0a, 1), Uint8Array.of(2, 1)]
  const batch = (transactions: Uint8Array[]) => encodeBatch({ isRepeated: false, number: number++, transactions })
  expect(await both.validate(peer(), batch([native, evm]))).toBe('accept')
  expect(hashes).toEqual([sha256(native), keccak256(evm)].map(bytesToHex))
  expect(await both.validate(peer(), batch([native, evm]))).toBe('ignore')
  both.published(batch([Uint8Array.of(0x0a, 2)]))
  expect(await both.validate(peer(), batch([Uint8Array.of(0x0a, 2)]))).toBe('ignore')
  expect(hashes.length).toBe(2)
})

test('a transaction whose check comes upon a bug is not relayed, is no fault of its sender, and is not known', async () => {
  expect(await validate([[7, 1]])).toBe('ignore')
  expect(await validate([[1, 1], [7, 1]])).toBe('ignore') // biome-ignore format: short
  expect(offered).toEqual(['7.1', '1.1', '7.1'])
  expect(await validate([[1, 2]])).toBe('accept')
})

describe('a batch with a transaction that is known to be invalid is never passed on', () => {
  test.each<[string, readonly Bytes[], boolean]>([
    ['alone', [[9, 1]], false],
    ['alone and repeated', [[9, 1]], true],
    [
      'before a new one',
      [
        [9, 1],
        [1, 1],
      ],
      false,
    ],
    [
      'after a new one',
      [
        [1, 1],
        [9, 1],
      ],
      true,
    ],
  ])('%s', async (_, transactions, isRepeated) => {
    expect(await validate([[9, 1]])).toEqual(BAN)
    expect(await validate(transactions, { isRepeated })).toBe('ignore')
    // Whoever sends the others without it is heard.
    expect(await validate([[1, 1]])).toBe('accept')
  })

  test('nor one whose transaction is found to be invalid meanwhile, in another batch', async () => {
    const verdicts = Promise.withResolvers<void>()
    pool = verdicts.promise
    const first = validate([[9, 1]])
    const second = validate([
      [1, 1],
      [9, 1],
    ])
    const repeated = validate([[9, 1]], { isRepeated: true })
    verdicts.resolve()
    expect(await Promise.all([first, second, repeated])).toEqual([BAN, 'ignore', 'ignore'])
    expect(offered).toEqual(['9.1', '1.1'])
  })

  test('nor one of whose transactions nobody has an answer', async () => {
    const failure = Promise.withResolvers<void>()
    pool = failure.promise
    const first = validate([[1, 1]])
    pool = Promise.resolve()
    const second = validate([
      [1, 1],
      [1, 2],
    ])
    failure.reject(new Error('the pool has no time'))
    await expect(first).rejects.toThrow('no time')
    expect(await second).toBe('ignore')
    expect(await validate([[1, 1]])).toBe('accept')
  })

  test('and one that has such a transaction in it does not make the others invalid', async () => {
    expect(
      await validate([
        [1, 1],
        [9, 1],
      ]),
    ).toEqual(BAN)
    expect(
      await validate([
        [1, 1],
        [1, 2],
      ]),
    ).toBe('accept')
    expect(offered).toEqual(['1.1', '9.1', '1.2'])
  })

  test('and counts as refused transactions for who sends it', async () => {
    const bad = Array.from({ length: 250 }, (_, i): Bytes => [9, i])
    const [first, from] = [peer(), peer()]
    expect(await validate(bad, { from: first })).toEqual(BAN)
    expect(await validate(bad, { from })).toBe('ignore')
    expect([...refused]).toEqual([[from, 250]])
  })
})

test('what the pool refuses counts for who sends it, and more where it is large', async () => {
  const costOf = async (length: number): Promise<number> => {
    const from = peer()
    const transactions = Array.from({ length: 5 }, (_, i) => new Uint8Array(length).fill(8).fill(i, 1, 5))
    expect(await gossip.validate(from, encodeBatch({ isRepeated: false, number: number++, transactions }))).toBe(
      'ignore',
    )
    return refused.get(from)!
  }
  expect(await costOf(200)).toBe(5)
  // Whoever verifies a hundred signatures has more to do.
  expect(await costOf(9 * 1_024)).toBe(50)
})

test('a batch of which the pool refuses more than it accepts is not passed on', async () => {
  const mixed = (first: number, accepted: number, others: number): readonly Bytes[] => [
    ...Array.from({ length: accepted }, (_, i): Bytes => [1, first + i]),
    ...Array.from({ length: others }, (_, i): Bytes => [8, first + i]),
  ]
  expect(await validate(mixed(0, 3, 3))).toBe('accept')
  expect(await validate(mixed(100, 3, 4))).toBe('ignore')
  // No more than it has not seen before counts.
  expect(await validate([...mixed(100, 3, 4), [1, 200]])).toBe('accept')
})

describe('what is not offered to the pool is not known', () => {
  test('while too many wait', async () => {
    const waiting = Promise.withResolvers<void>()
    pool = waiting.promise
    const large = (i: number) =>
      gossip.validate(
        peer(),
        encodeBatch({
          isRepeated: false,
          number: 0,
          transactions: [new Uint8Array(LIMITS.transactionBytes - i).fill(1)],
        }),
      )
    const verdicts = Array.from({ length: LIMITS.queuedTransactions / LIMITS.transactionBytes + 1 }, (_, i) => large(i))
    const last = validate([[1, 1]])
    expect([gossip.hasRoom(false), gossip.hasRoom(true)]).toEqual([false, false])
    waiting.resolve()
    const answers = await Promise.all(verdicts)
    expect(answers.filter((answer) => answer === 'unread').length).toBeGreaterThan(0)
    expect(answers[0]).toBe('accept')
    expect(await last).toBe('accept')
    const late = answers.indexOf('unread')
    expect(await large(late)).toBe('accept')
    expect([gossip.hasRoom(false), gossip.hasRoom(true)]).toEqual([true, true])
  })

  test('and half of the room is for peers with a reserved slot alone', async () => {
    const waiting = Promise.withResolvers<void>()
    pool = waiting.promise
    const batches = Array.from({ length: LIMITS.queuedTransactions / LIMITS.transactionBytes / 2 + 1 }, (_, i) => {
      const transactions = [new Uint8Array(LIMITS.transactionBytes).fill(i).fill(1, 0, 1)]
      return gossip.validate(peer(), encodeBatch({ isRepeated: false, number: 0, transactions }))
    })
    expect([gossip.hasRoom(false), gossip.hasRoom(true)]).toEqual([false, true])
    waiting.resolve()
    expect(await Promise.all(batches)).not.toContain('unread')
  })
})

test('what is known is passed on when it is repeated, and only then', async () => {
  expect(
    await validate([
      [1, 1],
      [8, 1],
    ]),
  ).toBe('accept')
  expect(
    await validate([
      [1, 1],
      [8, 1],
    ]),
  ).toBe('ignore')
  expect(
    await validate(
      [
        [8, 1],
        [1, 1],
      ],
      { isRepeated: true },
    ),
  ).toBe('accept')
  // One twice is one.
  expect(
    await validate([
      [1, 2],
      [1, 2],
    ]),
  ).toBe('accept')
  expect(offered).toEqual(['1.1', '8.1', '1.2'])
})

describe('batches of transactions', () => {
  test('come back as they were, and are counted', () => {
    const transactions = fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), { minLength: 1, maxLength: 20 })
    const batches = fc.record({
      isRepeated: fc.boolean(),
      number: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      transactions,
    })
    fc.assert(
      fc.property(batches, (batch) => {
        const bytes = encodeBatch(batch)
        expect(bytes).toHaveLength(batchLength(batch.transactions))
        expect(decodeBatch(bytes)).toEqual(batch)
        expect(countTransactions(bytes)).toBe(batch.transactions.length)
      }),
    )
  })

  test('no bytes do anything but decode or fail as they should', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (input) => {
        try {
          expect(countTransactions(input)).toBeLessThanOrEqual(input.length / 4)
          const batch = decodeBatch(input)
          expect(encodeBatch(batch)).toEqual(input)
        } catch (error) {
          expect(error).toBeInstanceOf(BatchError)
        }
      }),
    )
  })
})

test('SeenHashes remembers for a while, and never more than it may', () => {
  const seen = new SeenHashes({ maxSize: 10, lifetimeMs: 1_000 }, 0)
  for (let i = 0; i < 100; i++) seen.add(`a${i}`, 0)
  const known = Array.from({ length: 100 }, (_, i) => seen.has(`a${i}`))
  expect(known.filter(Boolean).length).toBeLessThanOrEqual(10)
  expect(known.slice(95)).toEqual([true, true, true, true, true])
  seen.add('b', 501)
  expect(seen.has('a99')).toBe(true)
  seen.add('c', 1_002)
  expect([seen.has('a99'), seen.has('b'), seen.has('c')]).toEqual([false, true, true])
})
