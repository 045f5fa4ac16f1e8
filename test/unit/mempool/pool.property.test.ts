import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entryHash } from '../../../src/chain/block/entries.ts'
import { decodeTransaction, type Transaction } from '../../../src/chain/block/transaction.ts'
import type { TransactionPool } from '../../../src/mempool/pool.ts'
import { toPooledTransaction } from '../../../src/mempool/poolEntry.ts'
import type { AccountState, ContentScope, PooledTransaction } from '../../../src/mempool/types.ts'
import type { NativeTransaction } from '../../../src/modules/tx/nativeTransaction.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'
import {
  createPool,
  GWEI,
  makeNative,
  makeTransaction,
  nativeOutcomeOf,
  outcomeOf,
  type PoolFixture,
  senderOf,
} from '../../support/mempool/poolFixture.ts'

const SENDERS = 4
const PRICE = 21_000n * GWEI

interface NaiveEntry {
  readonly sender: number
  readonly nonce: bigint
  readonly hash: string
  readonly cost: bigint
  readonly cap: bigint
  readonly tip: bigint
  readonly isNative: boolean
}

const IN_FLIGHT = 'in-flight transaction limit reached for accounts that could not pay'

/** Every rule written the slow and obvious way: one list, everything derived from it when asked. */
class NaivePool {
  transactions: NaiveEntry[] = []
  /** nonces of senders when they could not pay */
  readonly defaulted = new Map<number, bigint>()
  readonly accounts: AccountState[] = Array.from({ length: SENDERS }, () => ({
    nonce: 0n,
    balance: 100n * PRICE,
    code: 'none' as const,
  }))

  of(sender: number) {
    return this.transactions.filter((entry) => entry.sender === sender).sort((a, b) => Number(a.nonce - b.nonce))
  }

  executable(sender: number) {
    const { nonce, balance } = this.accounts[sender]!
    let spent = 0n
    return this.of(sender).filter((entry, index, all) => {
      const reachable = all.slice(0, index + 1).every((one, i) => one.nonce === nonce + BigInt(i))
      spent += entry.cost
      return reachable && entry.nonce === nonce + BigInt(index) && spent <= balance
    })
  }

  add(entry: NaiveEntry): string {
    const { nonce, balance } = this.accounts[entry.sender]!
    if (this.transactions.some(({ hash }) => hash === entry.hash)) return 'already known'
    if (entry.nonce < nonce) return 'nonce too low'
    const executable = this.executable(entry.sender)
    const spent = executable.reduce((sum, { cost }) => sum + cost, 0n)
    const replaced = executable.find((other) => other.nonce === entry.nonce)
    if (entry.cost > balance || spent - (replaced?.cost ?? 0n) + entry.cost > balance) return 'insufficient funds'
    if (nonce <= (this.defaulted.get(entry.sender) ?? -1n)) {
      if (executable.length === 0 && entry.nonce !== nonce) return 'gapped-nonce tx from accounts that could not pay'
      if (executable.length > 0 && replaced === undefined) return IN_FLIGHT
    }
    const old = this.of(entry.sender).find((other) => other.nonce === entry.nonce)
    if (old !== undefined) {
      const isHigher = (next: bigint, before: bigint) => next > before && next * 100n >= before * 110n
      if (!isHigher(entry.cap, old.cap) || !isHigher(entry.tip, old.tip)) return 'replacement transaction underpriced'
      this.transactions = this.transactions.filter((other) => other !== old)
    }
    this.transactions.push(entry)
    return 'accepted'
  }

  setAccount(sender: number, state: AccountState): void {
    const covered = this.executable(sender).filter(({ nonce }) => nonce >= state.nonce).length
    this.accounts[sender] = state
    this.transactions = this.transactions.filter((entry) => entry.sender !== sender || entry.nonce >= state.nonce)
    const left = this.executable(sender)
    if (left.length >= covered) return
    this.transactions = this.transactions.filter((entry) => entry.sender !== sender || left.includes(entry))
    this.defaulted.set(sender, state.nonce)
  }

  /** The next transactions in order, one decision at a time over all senders. */
  select(baseFee: bigint): string[] {
    const waiting = Array.from({ length: SENDERS }, (_, sender) => this.executable(sender))
    const chosen: string[] = []
    for (;;) {
      let best: { readonly queue: NaiveEntry[]; readonly tip: bigint; readonly arrival: number } | undefined
      for (const queue of waiting) {
        const first = queue[0]
        if (first === undefined) continue
        let tip = first.cap - baseFee
        if (first.tip < tip) tip = first.tip
        const arrival = this.transactions.indexOf(first)
        if (tip < 0n) continue
        if (best === undefined || tip > best.tip || (tip === best.tip && arrival < best.arrival)) {
          best = { queue, tip, arrival }
        }
      }
      if (best === undefined) return chosen
      chosen.push(best.queue.shift()!.hash)
    }
  }
}

type Step =
  | {
      readonly kind: 'add'
      readonly isNative: boolean
      readonly sender: number
      readonly nonce: number
      readonly cap: number
      readonly tip: number
    }
  | { readonly kind: 'account'; readonly sender: number; readonly nonces: number; readonly balance: number }
  | { readonly kind: 'baseFee'; readonly gwei: number }

const sender = fc.nat(SENDERS - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      isNative: fc.boolean(),
      sender,
      nonce: fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, fc.nat(7)),
      cap: fc.constantFrom(1, 9, 20, 22, 40),
      tip: fc.constantFrom(1, 2, 3, 12),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('account' as const),
      sender,
      nonces: fc.constantFrom(0, 0, 0, 1, 2),
      balance: fc.integer({ min: 0, max: 120 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('baseFee' as const), gwei: fc.integer({ min: 1, max: 20 }) }) },
)

type Add = Extract<Step, { kind: 'add' }>

function transactionOf({ sender, nonce, cap, tip }: Add): Transaction {
  return makeTransaction({
    nonce: BigInt(nonce),
    maxFeePerGas: BigInt(cap) * GWEI,
    maxPriorityFeePerGas: BigInt(Math.min(cap, tip)) * GWEI,
    data: Uint8Array.of(sender),
    gasLimit: 22_000n,
  })
}

/** The same bytes for the same step. */
function nativeOf({ sender, nonce, cap, tip }: Add): NativeTransaction {
  const raw = Uint8Array.of(0x0a, sender, nonce, cap, tip, ...new Uint8Array(150))
  return makeNative({
    from: senderOf(sender),
    sequence: BigInt(nonce),
    raw,
    hash: entryHash(raw),
    gasLimit: 22_000n,
    gasPrice: BigInt(cap) * GWEI,
    maxPriorityPrice: tip < cap ? BigInt(tip) * GWEI : undefined,
  })
}

/** Adds it to both pools: the model's outcome, and the pool's as far as the model knows it. */
function addToBoth(pool: TransactionPool, model: NaivePool, one: Add): readonly [expected: string, outcome: string] {
  const transaction = one.isNative ? nativeOf(one) : transactionOf(one)
  const expected = model.add({
    sender: one.sender,
    nonce: BigInt(one.nonce),
    hash: bytesToHex(transaction.hash),
    cost: 22_000n * BigInt(one.cap) * GWEI,
    cap: BigInt(one.cap) * GWEI,
    tip: BigInt(Math.min(one.cap, one.tip)) * GWEI,
    isNative: one.isNative,
  })
  if ('value' in transaction) return [expected, outcomeOf(pool, transaction, senderOf(one.sender))]
  const outcome = nativeOutcomeOf(pool, transaction)
  const isPoor = outcome.startsWith('sdk/5 spendable balance')
  const texts: Readonly<Record<string, string>> = {
    'sdk/19 already known: tx already in mempool': 'already known',
    [`sdk/20 ${IN_FLIGHT}: mempool is full`]: IN_FLIGHT,
    'sdk/32 gapped-nonce tx from accounts that could not pay: incorrect account sequence':
      'gapped-nonce tx from accounts that could not pay',
    'sdk/13 replacement transaction underpriced: insufficient fee': 'replacement transaction underpriced',
  }
  if (/^sdk\/32 account sequence mismatch, expected \d+, got \d+: incorrect account sequence$/.test(outcome)) {
    return [expected, 'nonce too low']
  }
  return [expected, isPoor ? 'insufficient funds' : (texts[outcome] ?? outcome)]
}

function hashesOf(list: Iterable<{ readonly hash: Uint8Array }>): string[] {
  return Array.from(list, ({ hash }) => bytesToHex(hash))
}

describe('the pool', () => {
  it('agrees with a naive model in outcomes, content, pending nonces and selection', () => {
    const outcomes = new Set<string>()
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 60 }), (steps) => {
        const fixture = createPool()
        const { pool } = fixture
        const model = new NaivePool()
        let baseFee = GWEI
        for (let i = 0; i < SENDERS; i++) fixture.setAccount(senderOf(i), model.accounts[i]!)
        for (const one of steps) {
          if (one.kind === 'add') {
            const [expected, outcome] = addToBoth(pool, model, one)
            outcomes.add(expected)
            expect(outcome.startsWith(expected), `${outcome} is not ${expected}`).toBe(true)
          } else if (one.kind === 'account') {
            const { nonce } = model.accounts[one.sender]!
            const state = {
              nonce: nonce + BigInt(one.nonces),
              balance: BigInt(one.balance) * PRICE,
              code: 'none' as const,
            }
            model.setAccount(one.sender, state)
            fixture.publish([[senderOf(one.sender), state]])
          } else {
            baseFee = BigInt(one.gwei) * GWEI
            fixture.publish([], { baseFeePerGas: baseFee })
          }
          for (let i = 0; i < SENDERS; i++) {
            const executable = model.executable(i)
            const all = model.of(i)
            const evmHashes = (list: readonly NaiveEntry[]) => list.flatMap((e) => (e.isNative ? [] : [e.hash]))
            const content = pool.contentFrom(senderOf(i))
            expect(hashesOf(content.pending)).toEqual(evmHashes(executable))
            expect(hashesOf(content.queued)).toEqual(evmHashes(all.slice(executable.length)))
            expectSizes(pool, senderOf(i))
            expect(pool.pendingNonce(senderOf(i))).toBe(
              all.length === 0 ? undefined : model.accounts[i]!.nonce + BigInt(executable.length),
            )
          }
          const request = {
            baseFeePerGas: baseFee,
            gasLimit: 30_000_000n,
            nativeGasLimit: 7_500_000n,
            maxBytes: 2_000_000,
          }
          expect(hashesOf([...pool.candidates(request)].map(toPooledTransaction))).toEqual(model.select(baseFee))
          for (const isNative of [false, true]) {
            const { pending, queued } = isNative ? pool.nativeStatus() : pool.status()
            const isKind = (entry: NaiveEntry) => entry.isNative === isNative
            const executable = model.accounts.flatMap((_, i) => model.executable(i)).filter(isKind)
            expect({ pending, all: pending + queued }).toEqual({
              pending: executable.length,
              all: model.transactions.filter(isKind).length,
            })
          }
        }
        expect(new Set(fixture.admitted).size).toBe(fixture.admitted.length)
      }),
      { numRuns: runs(120) },
    )
    expect([...outcomes].sort()).toEqual([
      'accepted',
      'already known',
      'gapped-nonce tx from accounts that could not pay',
      IN_FLIGHT,
      'insufficient funds',
      'nonce too low',
      'replacement transaction underpriced',
    ])
  })

  it('stays within its limits when full, and a refused transaction changes nothing', () => {
    let evicted = 0
    let refused = 0
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), fc.integer({ min: 4, max: 9 }), (steps, count) => {
        const limits = { count, bytes: count * 1_500, perSender: 5, fairShare: 2 }
        const fixture: PoolFixture = createPool({ limits })
        const { pool } = fixture
        const pooled = () =>
          pool
            .unconfirmed(count)
            .transactions.map((raw) => bytesToHex(entryHash(raw)))
            .sort()
        for (const one of steps) {
          const before = pooled()
          const droppedBefore = fixture.dropped.length
          if (one.kind === 'add') {
            const outcome = one.isNative
              ? nativeOutcomeOf(pool, nativeOf(one)).replace(/^sdk\/20 (.*): mempool is full$/, '$1')
              : outcomeOf(pool, transactionOf(one), senderOf(one.sender))
            if (outcome !== 'accepted') {
              expect(pooled()).toEqual(before)
              expect(fixture.dropped.length).toBe(droppedBefore)
              if (outcome === 'transaction underpriced' || outcome === 'txpool is full') refused++
            }
            evicted += fixture.dropped.slice(droppedBefore).filter(({ reason }) => reason === 'evicted').length
          } else if (one.kind === 'account') {
            fixture.publish([[senderOf(one.sender), { balance: BigInt(one.balance) * PRICE }]])
          } else {
            fixture.publish([], { baseFeePerGas: BigInt(one.gwei) * GWEI })
          }
          const gone = new Set(fixture.dropped.slice(droppedBefore).map(({ hash }) => hash))
          expect(before.filter((hash) => !pooled().includes(hash)).every((hash) => gone.has(hash))).toBe(true)
          expect(pool.bytes).toBeLessThanOrEqual(limits.bytes)
          expect(pooled().length).toBeLessThanOrEqual(count)
          expect(pool.unconfirmed(0).count).toBe(pooled().length)
          expect(pool.status().pending).toBe(pool.content().pending.length)
          expect(pool.status().queued).toBe(pool.content().queued.length)
          for (const of of ['all', 'pending'] as const) expectSizes(pool, of)
        }
        const everything = Array.from({ length: SENDERS }, (_, i) => i)
        fixture.publish(everything.map((i) => [senderOf(i), { nonce: 100n }] as const))
        expect(pool.bytes).toBe(0)
        expect(pool.status()).toEqual({ pending: 0, queued: 0 })
        expect(pool.nativeStatus()).toEqual({ pending: 0, queued: 0 })
        expect(pool.unconfirmed(9)).toEqual({ count: 0, bytes: 0, transactions: [] })
      }),
      { numRuns: runs(120) },
    )
    expect(evicted).toBeGreaterThan(50)
    expect(refused).toBeGreaterThan(50)
  })

  it('gives out transactions that still decode to what was put in', () => {
    const { pool } = createPool()
    const shared = new Uint8Array(1_000)
    const { raw } = makeTransaction()
    shared.set(raw, 100)
    const transaction = decodeTransaction(shared.subarray(100, 100 + raw.length))
    pool.add(transaction, senderOf(0))
    shared.fill(0)
    expect(pool.content().pending.map((one) => one.raw)).toEqual([raw])
  })
})

/** The parts of the content, which are as large as the pool says without them. */
function expectSizes(pool: PoolFixture['pool'], of: ContentScope): void {
  const parts = [...pool.contentParts(of)]
  const whole = typeof of === 'string' ? pool.content() : pool.contentFrom(of)
  const [pending, queued] = (['pending', 'queued'] as const).map((list) =>
    parts.flatMap((part) => part[list]).map(toPooledTransaction),
  ) as [PooledTransaction[], PooledTransaction[]]
  expect({ pending, queued }).toEqual(of === 'pending' ? { ...whole, queued: [] } : whole)
  const all = [...pending, ...queued]
  const bytes = all.reduce((sum, { raw }) => sum + raw.length, 0)
  expect(pool.contentSize(of)).toEqual({ transactions: all.length, bytes })
}
