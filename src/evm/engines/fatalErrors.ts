import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { StateReadError } from '../../state/reader.ts'
import { DatabaseError } from '../../storage/database.ts'
import { ExecutionTimeout } from '../engine.ts'

/** V8's messages where the memory or the stack of this machine run out; another machine may have enough. */
const EXHAUSTED = /allocation failed|Maximum call stack size exceeded/

/**
 * Whether an error is not the fault of the code that runs: a deadline, a state that cannot be read, or a machine without memory.
 * Such an error must end the run. Taken for a failed transaction it would be an outcome that other nodes do not have.
 */
export function isFatal(error: unknown): boolean {
  if (error instanceof ExecutionTimeout || error instanceof StateReadError || error instanceof DatabaseError)
    return true
  if (error instanceof RangeError) return EXHAUSTED.test(error.message)
  if (!(error instanceof Error) || !('code' in error)) return false
  return typeof error.code === 'string' && error.code.startsWith('LEVEL_')
}

/**
 * The engine broke while it ran code: a bug of the engine, or a machine without memory. What the code would have done is not
 * known, so it must never become the outcome of a transaction.
 */
export class EngineTrapError extends Error {
  override readonly name = 'EngineTrapError'

  constructor(message: string, cause: unknown) {
    super(message, { cause })
  }

  /**
   * The same error, with the block and transaction where it happened (without a transaction: at the block's start) in its
   * message, since only the message of an error reaches another thread.
   */
  in(block: number, transaction: Hash | undefined): EngineTrapError {
    const where = transaction === undefined ? 'system calls' : `transaction ${bytesToHex(transaction)}`
    return new EngineTrapError(`block ${block}, ${where}: ${this.message}`, this.cause)
  }
}

/**
 * Two engines came to different results for the same block. One of them is wrong, and nobody knows which: the block must not be
 * committed. The message is the whole report, since only the message of an error reaches the thread that logs it.
 */
export class ShadowMismatchError extends Error {
  override readonly name = 'ShadowMismatchError'
}
