import { entryHash } from '../chain/block/entries.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { LIMITS, TokenBucket } from './limits.ts'
import type { Session } from './session.ts'

/**
 * What happens to a gossiped message. `accept`: it is relayed; `ignore`: it is not; `unread`: it was not examined, because this node is
 * overloaded, so nothing in it counts as known; `ban`: no honest node sends it.
 */
export type Verdict = 'accept' | 'ignore' | 'unread' | { readonly ban: string }

export interface HashedTransaction {
  readonly raw: Uint8Array
  /** see `entryHash` */
  readonly hash: Hash
}

/** The pool's results for gossiped transactions. */
export interface AdmissionCounts {
  readonly admitted: number
  /** refused for reasons that may differ between honest nodes: nonce or sequence, funds, fee, a full pool, already known */
  readonly refused: number
  /** those that are malformed, of another chain, or with a wrong signature */
  readonly invalid: readonly HashedTransaction[]
  /** the refused transactions whose check failed with an unexpected error: the peer is not to blame, and they are not relayed */
  readonly unknown: readonly HashedTransaction[]
}

/** A batch begins with its kind (1) and number (4). */
const HEADER = 5
/** Before each transaction of a batch: its length, big-endian. */
export const BATCH_PREFIX_BYTES = 4
/** Bytes of a batch with one transaction, without the transaction itself. */
const BATCH_OVERHEAD = batchLength([new Uint8Array(0)])

const SEEN = { maxSize: 200_000, lifetimeMs: 60_000 }
const INVALID = { maxSize: 20_000, lifetimeMs: 600_000 }

interface TransactionGossipOptions {
  readonly metrics: NetworkMetrics
  readonly now: () => number
  /** recovers senders and offers the transactions to the pool */
  readonly admit: (transactions: readonly HashedTransaction[]) => Promise<AdmissionCounts>
  /** called with the cost of a peer's transactions that the pool refused, or that were known to be invalid */
  readonly refused: (session: Session, cost: number) => void
}

/**
 * Validates batches of transactions from peers, in this order, so that cheap checks avoid expensive ones:
 *
 * 1. The batch can be decoded and is within the size limits; otherwise its sender is banned.
 * 2. It contains no transaction that is known to be invalid. Other nodes would ban this node for relaying it.
 * 3. It contains new transactions, or it is a repetition, which peers that connected later may need.
 * 4. View threads recover the senders of new transactions, and the pool accepts or refuses them.
 *    For an invalid one the peer is banned. A refused one is not the peer's fault: honest nodes
 *    have different pools, which an attacker can fill with conflicting transactions.
 * 5. It is relayed when the pool accepted at least as many of them as it refused, and all others are known to be valid, from this batch
 *    or from another one that is being validated. So few accepted transactions carry no mass of refused ones through the network.
 */
export class TransactionGossip {
  readonly #options: TransactionGossipOptions
  /** valid transactions, in the pool or refused by it */
  readonly #seen: SeenHashes
  readonly #invalid: SeenHashes
  /** transactions that are being validated, each with a promise that resolves at the end of its validation */
  readonly #validating = new Map<string, Promise<void>>()
  readonly #repeated: TokenBucket
  #queuedBytes = 0

  constructor(options: TransactionGossipOptions) {
    this.#options = options
    this.#seen = new SeenHashes(SEEN, options.now())
    this.#invalid = new SeenHashes(INVALID, options.now())
    this.#repeated = new TokenBucket(LIMITS.repeatedBatches, options.now())
  }

  /** Records transactions that this node publishes itself, so that they are not given to the pool again when a peer repeats them. */
  published(data: Uint8Array): void {
    const nowMs = this.#options.now()
    for (const transaction of decodeBatch(data).transactions) this.#seen.add(bytesKey(entryHash(transaction)), nowMs)
  }

  /**
   * Returns whether batches may be read, of peers with a reserved slot or of others. Asked before
   * gossipsub gets one, which then remembers its bytes for a minute: otherwise a peer could
   * suppress batches by sending them while none can be examined.
   */
  hasRoom(isReserved: boolean): boolean {
    const { queuedTransactions, batchBytes } = LIMITS
    return this.#queuedBytes <= (isReserved ? queuedTransactions - 2 * batchBytes : queuedTransactions / 2)
  }

  async validate(session: Session, data: Uint8Array): Promise<Verdict> {
    // 1.
    let batch: ReturnType<typeof decodeBatch>
    try {
      batch = decodeBatch(data)
    } catch (error) {
      if (error instanceof BatchError) return { ban: error.message }
      throw error
    }
    const maxBytes = batch.transactions.length > 1 ? LIMITS.batchBytes : LIMITS.transactionBytes + BATCH_OVERHEAD
    if (data.length > maxBytes) return { ban: `a batch of ${data.length} bytes` }
    // 2.
    const batched = new Map(batch.transactions.map((raw) => withKey({ raw, hash: entryHash(raw) })))
    const invalid = this.#countInvalid(batched.keys())
    if (invalid > 0) {
      // The peer that sent it first was banned; this peer may have relayed it before it was known to be invalid.
      this.#options.refused(session, invalid)
      return this.#drop('invalid transactions', 'ignore')
    }
    // 3.
    const nowMs = this.#options.now()
    const fresh = new Map([...batched].filter(([key]) => !this.#seen.has(key) && !this.#validating.has(key)))
    const others = [...batched.keys()].flatMap((key) => this.#validating.get(key) ?? [])
    if (fresh.size === 0) {
      return batch.isRepeated && others.length === 0 && this.#repeated.take(1, nowMs) ? 'accept' : 'ignore'
    }
    // 4.
    if (this.#queuedBytes + data.length > LIMITS.queuedTransactions) return this.#drop('transactions wait', 'unread')
    const counts = await this.#admit(fresh, data.length)
    if (counts.invalid.length > 0) return { ban: 'a transaction with a wrong signature' }
    this.#options.refused(session, refusedCost(counts.refused, batched))
    // 5.
    await Promise.all(others)
    return counts.admitted > 0 && counts.admitted >= counts.refused && this.#areSeen(batched.keys())
      ? 'accept'
      : 'ignore'
  }

  #countInvalid(keys: Iterable<string>): number {
    let count = 0
    for (const key of keys) if (this.#invalid.has(key)) count++
    return count
  }

  /**
   * Returns whether all are known to be valid: a transaction that was validated in another batch
   * may have been invalid or dropped there.
   */
  #areSeen(keys: Iterable<string>): boolean {
    for (const key of keys) if (!this.#seen.has(key)) return false
    return true
  }

  #drop(reason: string, verdict: 'ignore' | 'unread'): Verdict {
    this.#options.metrics.droppedTotal.inc({ reason })
    return verdict
  }

  /** Offers the transactions to the pool and records which are valid; none if the call fails. */
  async #admit(fresh: ReadonlyMap<string, HashedTransaction>, length: number): Promise<AdmissionCounts> {
    const { metrics, admit, now } = this.#options
    const validated = Promise.withResolvers<void>()
    for (const key of fresh.keys()) this.#validating.set(key, validated.promise)
    this.#queuedBytes += length
    metrics.queuedBytes.set({ queue: 'transactions' }, this.#queuedBytes)
    try {
      const counts = await admit([...fresh.values()])
      const invalid = new Set(counts.invalid.map(({ hash }) => bytesKey(hash)))
      const unknown = new Set(counts.unknown.map(({ hash }) => bytesKey(hash)))
      for (const key of fresh.keys()) {
        if (!unknown.has(key)) (invalid.has(key) ? this.#invalid : this.#seen).add(key, now())
      }
      return counts
    } finally {
      for (const key of fresh.keys()) this.#validating.delete(key)
      validated.resolve()
      this.#queuedBytes -= length
      metrics.queuedBytes.set({ queue: 'transactions' }, this.#queuedBytes)
    }
  }
}

/**
 * Returns the cost of the refused transactions of a batch: one for each, and one for each KiB of
 * them (by the batch's average size). A native transaction may have a hundred signatures, which
 * were verified before it was refused, and its size grows with them.
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

/** Encoded transactions in one gossip message. */
interface TransactionBatch {
  /**
   * the transactions were sent before and still wait for a block: nodes that know them relay them to nodes that connected since then
   */
  readonly isRepeated: boolean
  /** uint32; gossip treats messages with the same bytes as one, so this number makes repeated batches different */
  readonly number: number
  readonly transactions: readonly Uint8Array[]
}

export class BatchError extends Error {
  override readonly name = 'BatchError'
}

/** Returns the bytes of a batch of these transactions. */
export function batchLength(transactions: readonly Uint8Array[]): number {
  return transactions.reduce((sum, { length }) => sum + BATCH_PREFIX_BYTES + length, HEADER)
}

export function encodeBatch({ isRepeated, number, transactions }: TransactionBatch): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(batchLength(transactions))
  const view = new DataView(bytes.buffer)
  bytes[0] = isRepeated ? 1 : 0
  view.setUint32(1, number)
  let at = HEADER
  for (const transaction of transactions) {
    view.setUint32(at, transaction.length)
    bytes.set(transaction, at + BATCH_PREFIX_BYTES)
    at += BATCH_PREFIX_BYTES + transaction.length
  }
  return bytes
}

/** Returns the number of transactions in a batch, as far as it can be decoded. */
export function countTransactions(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (let at = HEADER; at + BATCH_PREFIX_BYTES <= bytes.length && count <= LIMITS.transactionsPerBatch; count++) {
    at += BATCH_PREFIX_BYTES + view.getUint32(at)
  }
  return count
}

/**
 * Decodes a batch. The transactions are views on `bytes`.
 * @throws BatchError
 */
export function decodeBatch(bytes: Uint8Array): TransactionBatch {
  if (bytes.length < HEADER || bytes[0]! > 1) throw new BatchError('not a batch of transactions')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const transactions: Uint8Array[] = []
  for (let at = HEADER; at < bytes.length; ) {
    if (at + BATCH_PREFIX_BYTES > bytes.length) throw new BatchError('a batch of transactions is cut off')
    const end = at + BATCH_PREFIX_BYTES + view.getUint32(at)
    if (end === at + BATCH_PREFIX_BYTES || end > bytes.length) throw new BatchError('a transaction has a wrong length')
    transactions.push(bytes.subarray(at + BATCH_PREFIX_BYTES, end))
    at = end
  }
  const { length } = transactions
  if (length === 0 || length > LIMITS.transactionsPerBatch) throw new BatchError(`a batch of ${length} transactions`)
  return { isRepeated: bytes[0] === 1, number: view.getUint32(1), transactions }
}

/** A bounded set of recent hashes, in two generations: when the newer one is full or old, the older one is forgotten. */
export class SeenHashes {
  readonly #maxSize: number
  readonly #lifetimeMs: number
  #newer = new Set<string>()
  #older = new Set<string>()
  #sinceMs: number

  constructor(limits: { readonly maxSize: number; readonly lifetimeMs: number }, nowMs: number) {
    this.#maxSize = limits.maxSize / 2
    this.#lifetimeMs = limits.lifetimeMs / 2
    this.#sinceMs = nowMs
  }

  has(key: string): boolean {
    return this.#newer.has(key) || this.#older.has(key)
  }

  /** Forgets old entries, also if nothing is added. */
  expire(nowMs: number): void {
    if (nowMs - this.#sinceMs <= this.#lifetimeMs) return
    this.#older = nowMs - this.#sinceMs > 2 * this.#lifetimeMs ? new Set() : this.#newer
    this.#newer = new Set()
    this.#sinceMs = nowMs
  }

  add(key: string, nowMs: number): void {
    if (this.#newer.size >= this.#maxSize || nowMs - this.#sinceMs > this.#lifetimeMs) {
      this.#older = this.#newer
      this.#newer = new Set()
      this.#sinceMs = nowMs
    }
    this.#newer.add(key)
  }
}
