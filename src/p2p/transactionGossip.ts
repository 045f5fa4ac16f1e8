import { bytesKey } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'
import type { NetworkMetrics } from '../telemetry/metrics/networkMetrics.ts'
import { LIMITS } from './limits.ts'
import { SeenHashes } from './seenHashes.ts'
import type { Session } from './session.ts'
import { TokenBucket } from './tokenBucket.ts'
import { BatchError, batchLength, decodeBatch } from './transactionBatch.ts'

/** What becomes of a gossiped message. `ban`: no honest node sends it. */
export type Verdict = 'accept' | 'ignore' | { readonly ban: string }

export interface HashedTransaction {
  readonly raw: Uint8Array
  /** keccak-256 of `raw`: the hash of an Ethereum transaction */
  readonly hash: Hash
}

/** What the pool made of gossiped transactions. */
export interface AdmissionCounts {
  readonly admitted: number
  /** for reasons that may differ between honest nodes: nonce, funds, fee, a full pool, known already */
  readonly refused: number
  /** malformed, of another chain, or with a wrong signature */
  readonly invalid: number
}

/** Bytes of a batch beside its transaction. */
const BATCH_OVERHEAD = batchLength([new Uint8Array(0)])

const SEEN = { maxSize: 200_000, lifetimeMs: 60_000 }

export interface TransactionGossipOptions {
  readonly metrics: NetworkMetrics
  readonly now: () => number
  /** recovers senders and offers the transactions to the pool */
  readonly admit: (transactions: readonly HashedTransaction[]) => Promise<AdmissionCounts>
}

/** Judges batches of transactions that peers send: cheap checks here, the rest where there is time for it. */
export class TransactionGossip {
  readonly #options: TransactionGossipOptions
  readonly #seen: SeenHashes
  readonly #repeated: TokenBucket
  #queuedBytes = 0

  constructor(options: TransactionGossipOptions) {
    this.#options = options
    this.#seen = new SeenHashes(SEEN, options.now())
    this.#repeated = new TokenBucket(LIMITS.repeatedBatches, options.now())
  }

  /** Marks what this node publishes itself, so that nobody's repetition of it comes back to the pool. */
  published(data: Uint8Array): void {
    const nowMs = this.#options.now()
    for (const transaction of decodeBatch(data).transactions) this.#seen.add(bytesKey(keccak256(transaction)), nowMs)
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
    const fresh = batch.transactions
      .map((raw): HashedTransaction => ({ raw, hash: keccak256(raw) }))
      .filter(({ hash }) => this.#isNew(hash, nowMs))
    if (fresh.length === 0) return batch.isRepeated && this.#repeated.take(1, nowMs) ? 'accept' : 'ignore'
    if (!session.budgets.refusedTransactions.take(0, nowMs)) return this.#drop('refused transactions')
    if (this.#queuedBytes + data.length > LIMITS.queuedTransactions) return this.#drop('transactions wait')
    const counts = await this.#admit(fresh, data.length)
    if (counts.invalid > 0) return { ban: 'a transaction with a wrong signature' }
    session.budgets.refusedTransactions.draw(counts.refused, this.#options.now())
    return counts.admitted > 0 ? 'accept' : 'ignore'
  }

  #isNew(hash: Hash, nowMs: number): boolean {
    const key = bytesKey(hash)
    if (this.#seen.has(key)) return false
    this.#seen.add(key, nowMs)
    return true
  }

  #drop(reason: string): Verdict {
    this.#options.metrics.droppedTotal.inc({ reason })
    return 'ignore'
  }

  async #admit(transactions: readonly HashedTransaction[], length: number): Promise<AdmissionCounts> {
    const { queuedBytes } = this.#options.metrics
    this.#queuedBytes += length
    queuedBytes.set({ queue: 'transactions' }, this.#queuedBytes)
    try {
      return await this.#options.admit(transactions)
    } finally {
      this.#queuedBytes -= length
      queuedBytes.set({ queue: 'transactions' }, this.#queuedBytes)
    }
  }
}
