import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'

/**
 * The engine broke while it ran code: a bug of the engine, or a machine without memory. What the code would have done is not
 * known, so it must never become the outcome of a transaction.
 */
export class EngineTrapError extends Error {
  override readonly name = 'EngineTrapError'

  constructor(message: string, cause: unknown) {
    super(message, { cause })
  }

  /** The same with the place where it happened (without a transaction, the block's start): all that is left of an error that travels to another thread is its message. */
  in(block: number, transaction: Hash | undefined): EngineTrapError {
    const where = transaction === undefined ? 'system calls' : `transaction ${bytesToHex(transaction)}`
    return new EngineTrapError(`block ${block}, ${where}: ${this.message}`, this.cause)
  }
}
