import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Transaction } from '../../../src/chain/transaction.ts'
import { decodeTransaction } from '../../../src/chain/transactionCodec.ts'
import { toPooledTransaction } from '../../../src/mempool/poolEntry.ts'
import type { AccountState } from '../../../src/mempool/types.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { createPool, GWEI, makeTransaction, outcomeOf, type PoolFixture, senderOf } from './poolFixture.ts'

const SENDERS = 4
const PRICE = 21_000n * GWEI

interface NaiveEntry {
  readonly sender: number
  readonly transaction: Transaction
  readonly cost: bigint
}

/** Every rule written the slow and obvious way: one list, everything derived from it when asked. */
class NaivePool {
  transactions: NaiveEntry[] = []
  readonly accounts: AccountState[] = Array.from({ length: SENDERS }, () => ({
    nonce: 0n,
    balance: 100n * PRICE,
    code: 'none' as const,
  }))

  of(sender: number) {
    return this.transactions
      .filter((entry) => entry.sender === sender)
      .sort((a, b) => Number(a.transaction.nonce - b.transaction.nonce))
  }

  executable(sender: number) {
    const { nonce, balance } = this.accounts[sender]!
    let spent = 0n
    return this.of(sender).filter(({ transaction, cost }, index, all) => {
      const reachable = all.slice(0, index + 1).every((one, i) => one.transaction.nonce === nonce + BigInt(i))
      spent += cost
      return reachable && transaction.nonce === nonce + BigInt(index) && spent <= balance
    })
  }

  add(sender: number, transaction: Transaction): string {
    const { nonce, balance } = this.accounts[sender]!
    const cost = transaction.gasLimit * transaction.maxFeePerGas + transaction.value
    if (this.transactions.some((entry) => bytesToHex(entry.transaction.hash) === bytesToHex(transaction.hash))) {
      return 'already known'
    }
    if (transaction.nonce < nonce) return 'nonce too low'
    const executable = this.executable(sender)
    const spent = executable.reduce((sum, entry) => sum + entry.cost, 0n)
    const replaced = executable.find((entry) => entry.transaction.nonce === transaction.nonce)
    if (cost > balance || spent - (replaced?.cost ?? 0n) + cost > balance) return 'insufficient funds'
    const old = this.of(sender).find((entry) => entry.transaction.nonce === transaction.nonce)?.transaction
    if (old !== undefined) {
      const isHigher = (next: bigint, before: bigint) => next > before && next * 100n >= before * 110n
      const { maxFeePerGas, maxPriorityFeePerGas } = transaction
      if (!isHigher(maxFeePerGas, old.maxFeePerGas) || !isHigher(maxPriorityFeePerGas, old.maxPriorityFeePerGas)) {
        return 'replacement transaction underpriced'
      }
      this.transactions = this.transactions.filter((entry) => entry.transaction !== old)
    }
    this.transactions.push({ sender, transaction, cost })
    return 'accepted'
  }

  setAccount(sender: number, state: AccountState): void {
    this.accounts[sender] = state
    this.transactions = this.transactions.filter(
      (entry) => entry.sender !== sender || entry.transaction.nonce >= state.nonce,
    )
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
        const { maxFeePerGas, maxPriorityFeePerGas } = first.transaction
        let tip = maxFeePerGas - baseFee
        if (maxPriorityFeePerGas < tip) tip = maxPriorityFeePerGas
        const arrival = this.transactions.indexOf(first)
        if (tip < 0n) continue
        if (best === undefined || tip > best.tip || (tip === best.tip && arrival < best.arrival)) {
          best = { queue, tip, arrival }
        }
      }
      if (best === undefined) return chosen
      chosen.push(bytesToHex(best.queue.shift()!.transaction.hash))
    }
  }
}

type Step =
  | {
      readonly kind: 'add'
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
      sender,
      nonce: fc.nat(7),
      cap: fc.constantFrom(1, 9, 20, 22, 40),
      tip: fc.constantFrom(1, 2, 3, 12),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('account' as const),
      sender,
      nonces: fc.nat(2),
      balance: fc.integer({ min: 0, max: 120 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('baseFee' as const), gwei: fc.integer({ min: 1, max: 20 }) }) },
)

function transactionOf({ sender, nonce, cap, tip }: Extract<Step, { kind: 'add' }>): Transaction {
  return makeTransaction({
    nonce: BigInt(nonce),
    maxFeePerGas: BigInt(cap) * GWEI,
    maxPriorityFeePerGas: BigInt(Math.min(cap, tip)) * GWEI,
    data: Uint8Array.of(sender),
    gasLimit: 22_000n,
  })
}

function hashesOf(list: Iterable<{ readonly hash: Uint8Array }>): string[] {
  return Array.from(list, ({ hash }) => bytesToHex(hash))
}

describe('the pool', () => {
  it('agrees with a naive model in outcomes, content, pending nonces and selection', () => {
    const outcomes = new Set<string>()
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
        const fixture = createPool()
        const { pool } = fixture
        const model = new NaivePool()
        let baseFee = GWEI
        for (let i = 0; i < SENDERS; i++) fixture.setAccount(senderOf(i), model.accounts[i]!)
        for (const one of steps) {
          if (one.kind === 'add') {
            const transaction = transactionOf(one)
            const outcome = outcomeOf(pool, transaction, senderOf(one.sender))
            const expected = model.add(one.sender, transaction)
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
            const executable = model.executable(i).map((entry) => entry.transaction)
            const all = model.of(i).map((entry) => entry.transaction)
            const content = pool.contentFrom(senderOf(i))
            expect(hashesOf(content.pending)).toEqual(hashesOf(executable))
            expect(hashesOf(content.queued)).toEqual(hashesOf(all.slice(executable.length)))
            expect(pool.pendingNonce(senderOf(i))).toBe(
              all.length === 0 ? undefined : model.accounts[i]!.nonce + BigInt(executable.length),
            )
          }
          const request = { baseFeePerGas: baseFee, gasLimit: 30_000_000n, maxBytes: 2_000_000 }
          expect(hashesOf([...pool.candidates(request)].map(toPooledTransaction))).toEqual(model.select(baseFee))
          expect(pool.status().pending + pool.status().queued).toBe(model.transactions.length)
        }
        expect(new Set(fixture.admitted).size).toBe(fixture.admitted.length)
      }),
      { numRuns: 300 },
    )
    expect([...outcomes].sort()).toEqual([
      'accepted',
      'already known',
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
        const pooled = () => [...hashesOf(pool.content().pending), ...hashesOf(pool.content().queued)].sort()
        for (const one of steps) {
          const before = pooled()
          const droppedBefore = fixture.dropped.length
          if (one.kind === 'add') {
            const outcome = outcomeOf(pool, transactionOf(one), senderOf(one.sender))
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
          expect(pool.status().pending).toBe(pool.content().pending.length)
          expect(pool.status().queued).toBe(pool.content().queued.length)
        }
        const everything = Array.from({ length: SENDERS }, (_, i) => i)
        fixture.publish(everything.map((i) => [senderOf(i), { nonce: 100n }] as const))
        expect(pool.bytes).toBe(0)
        expect(pool.status()).toEqual({ pending: 0, queued: 0 })
      }),
      { numRuns: 300 },
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
