import { entryHash } from '../chain/entries.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { NetworkMetrics } from '../telemetry/metrics/networkMetrics.ts'
import { LIMITS } from './limits.ts'
import { SeenHashes } from './seenHashes.ts'
import type { Session } from './session.ts'
import { TokenBucket } from './tokenBucket.ts'
import { BatchError, batchLength, decodeBatch } from './transactionBatch.ts'

/**
 * What becomes of a gossiped message. `unread`: nobody looked at it, for reasons that lie with its sender or this node, so that
 * the same from somebody else counts as new. `ban`: no honest node sends it.
 */
export type Verdict = 'accept' | 'ignore' | 'unread' | { readonly ban: string }

export interface HashedTransaction {
  readonly raw: Uint8Array
  /** see `entryHash` */
  readonly hash: Hash
}

/** What the pool made of gossiped transactions. */
export interface AdmissionCounts {
  readonly admitted: number
  /** for reasons that may differ between honest nodes: nonce or sequence, funds, fee, a full pool, known already */
  readonly refused: number
  /** malformed, of another chain, or with a wrong signature: those that were given */
  readonly invalid: readonly HashedTransaction[]
}

/** Bytes of a batch beside its transaction. */
const BATCH_OVERHEAD = batchLength([new Uint8Array(0)])

const SEEN = { maxSize: 200_000, lifetimeMs: 60_000 }
const INVALID = { maxSize: 20_000, lifetimeMs: 600_000 }

export interface TransactionGossipOptions {
  readonly metrics: NetworkMetrics
  readonly now: () => number
  /** recovers senders and offers the transactions to the pool */
  readonly admit: (transactions: readonly HashedTransaction[]) => Promise<AdmissionCounts>
}

/**
 * Judges batches of transactions that peers send: cheap checks here, the rest where there is time for it. Whoever passes on a batch
 * answers for all of it, so none is accepted before each of its transactions has been found valid, in this batch or in another.
 */
export class TransactionGossip {
  readonly #options: TransactionGossipOptions
  /** valid ones, in the pool or refused by it */
  readonly #seen: SeenHashes
  readonly #invalid: SeenHashes
  /** those that are being judged, each with the end of it */
  readonly #judging = new Map<string, Promise<void>>()
  readonly #repeated: TokenBucket
  #queuedBytes = 0

  constructor(options: TransactionGossipOptions) {
    this.#options = options
    this.#seen = new SeenHashes(SEEN, options.now())
    this.#invalid = new SeenHashes(INVALID, options.now())
    this.#repeated = new TokenBucket(LIMITS.repeatedBatches, options.now())
  }

  /** Marks what this node publishes itself, so that nobody's repetition of it comes back to the pool. */
  published(data: Uint8Array): void {
    const nowMs = this.#options.now()
    for (const transaction of decodeBatch(data).transactions) this.#seen.add(bytesKey(entryHash(transaction)), nowMs)
  }

  async judge(session: Session, data: Uint8Array): Promise<Verdict> {
    let batch: ReturnType<typeof decodeBatch>
    try {
      batch = decodeBatch(data)
    } catch (error) {
      if (error instanceof BatchError) return { ban: error.message }
      throw error
    }
    const maxBytes = batch.transactions.length > 1 ? LIMITS.batchBytes : LIMITS.transactionBytes + BATCH_OVERHEAD
    if (data.length > maxBytes) return { ban: `a batch of ${data.length} bytes` }
    const nowMs = this.#options.now()
    if (!session.budgets.refusedTransactions.take(0, nowMs)) return this.#drop('refused transactions', 'unread')
    const batched = new Map(batch.transactions.map((raw) => withKey({ raw, hash: entryHash(raw) })))
    const invalid = this.#countInvalid(batched.keys())
    if (invalid > 0) {
      // Whoever made it has been banned; this may be somebody who was made to pass it on.
      session.budgets.refusedTransactions.draw(invalid, nowMs)
      return this.#drop('invalid transactions', 'ignore')
    }
    const fresh = new Map([...batched].filter(([key]) => !this.#seen.has(key) && !this.#judging.has(key)))
    const others = [...batched.keys()].flatMap((key) => this.#judging.get(key) ?? [])
    if (fresh.size === 0) {
      return batch.isRepeated && others.length === 0 && this.#repeated.take(1, nowMs) ? 'accept' : 'ignore'
    }
    if (this.#queuedBytes + data.length > LIMITS.queuedTransactions) return this.#drop('transactions wait', 'unread')
    const counts = await this.#admit(fresh, data.length)
    if (counts.invalid.length > 0) return { ban: 'a transaction with a wrong signature' }
    session.budgets.refusedTransactions.draw(refusedCost(counts.refused, batched), this.#options.now())
    await Promise.all(others)
    return counts.admitted > 0 && this.#areSeen(batched.keys()) ? 'accept' : 'ignore'
  }

  #countInvalid(keys: Iterable<string>): number {
    let count = 0
    for (const key of keys) if (this.#invalid.has(key)) count++
    return count
  }

  /** Those that were judged in another batch may have turned out invalid, or nobody got to judge them. */
  #areSeen(keys: Iterable<string>): boolean {
    for (const key of keys) if (!this.#seen.has(key)) return false
    return true
  }

  #drop(reason: string, verdict: 'ignore' | 'unread'): Verdict {
    this.#options.metrics.droppedTotal.inc({ reason })
    return verdict
  }

  /** Offers the transactions to the pool and remembers what they are; nothing of them when that fails. */
  async #admit(fresh: ReadonlyMap<string, HashedTransaction>, length: number): Promise<AdmissionCounts> {
    const { metrics, admit, now } = this.#options
    const judged = Promise.withResolvers<void>()
    for (const key of fresh.keys()) this.#judging.set(key, judged.promise)
    this.#queuedBytes += length
    metrics.queuedBytes.set({ queue: 'transactions' }, this.#queuedBytes)
    try {
      const counts = await admit([...fresh.values()])
      const invalid = new Set(counts.invalid.map(({ hash }) => bytesKey(hash)))
      for (const key of fresh.keys()) (invalid.has(key) ? this.#invalid : this.#seen).add(key, now())
      return counts
    } finally {
      for (const key of fresh.keys()) this.#judging.delete(key)
      judged.resolve()
      this.#queuedBytes -= length
      metrics.queuedBytes.set({ queue: 'transactions' }, this.#queuedBytes)
    }
  }
}

/**
 * What the refused ones of a batch cost its sender: one each, and one for each KiB of theirs, taken from the average. A native
 * transaction may have a hundred signatures, which were verified before it was refused; they take room.
 */
function refusedCost(refused: number, batch: ReadonlyMap<string, HashedTransaction>): number {
  if (refused === 0) return 0
  let bytes = 0
  for (const { raw } of batch.values()) bytes += raw.length
  return refused + Math.floor((bytes * refused) / batch.size / 1_024)
}

function withKey(transaction: HashedTransaction): readonly [string, HashedTransaction] {
  return [bytesKey(transaction.hash), transaction]
}
