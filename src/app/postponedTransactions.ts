import { bytesKey } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'

/** Of the precompile gas limit: so much more must be left than the last time. Bounds how often a transaction is tried in vain. */
const STEPS = 16n
const MOST_TRANSACTIONS = 10_000

/**
 * Transactions that a builder took back since the block had too little precompile gas left, and how much that was. Trying
 * one costs time that nobody pays for, so each is tried again only where it may fare better. Lasts as long as the process.
 */
export class PostponedTransactions {
  readonly #step: bigint
  readonly #leftWhenTried = new Map<string, bigint>()

  /** @param limit a block's precompile gas limit */
  constructor(limit: bigint) {
    this.#step = limit / STEPS
  }

  /** @param left precompile gas of a block where others have used some */
  shouldRetry(hash: Hash, left: bigint): boolean {
    const before = this.#leftWhenTried.get(bytesKey(hash))
    return before === undefined || left >= before + this.#step
  }

  /** @param left precompile gas of the block when the transaction began */
  add(hash: Hash, left: bigint): void {
    const { size } = this.#leftWhenTried
    if (size >= MOST_TRANSACTIONS) this.#leftWhenTried.delete(this.#leftWhenTried.keys().next().value!)
    this.#leftWhenTried.set(bytesKey(hash), left)
  }

  delete(hash: Hash): void {
    this.#leftWhenTried.delete(bytesKey(hash))
  }
}
