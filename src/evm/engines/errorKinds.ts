import { StateReadError } from '../../state/reader.ts'
import { DatabaseError } from '../../storage/database.ts'

/**
 * Whose fault is it when an error is thrown while transactions run, and what may it cost? All nodes must agree on the outcome of a
 * transaction, so an error becomes one only when it is certain that every node has it.
 *
 * - **Outcomes** are mostly values: `SdkError`, a precompile's `Revert` and `OUT_OF_GAS`, a failed `ExecutionResult`, and what a decoder
 *   of a transaction finds wrong, which is caught where the bytes are decoded, by the decoder's own class of errors; a library's refusal
 *   of a key, a signature or a text is caught by its one form (`isRefusal`, `decodeUtf8`). The only thrown ones are `EVMError`s of
 *   `@ethereumjs/evm`, the failures of its frames. Nothing else that is thrown makes a transaction fail: neither a receipt nor a revert
 *   hides it. (One exception, with its reason: `recoverPanic`, for passed proposals and items of a block's start and end.)
 * - **Failures of the machine** ({@link isMachineFailure}) end the node, whether the block was being built, checked or executed.
 * - **Verdicts on this node**, `ShadowMismatchError`, `UpgradeNeeded` and `WrongVersion`, end it too: that is what they are for.
 * - **All others are unforeseen**: a `TypeError` of a bug, a trap of the engine, an overflown stack. Another node may not have them.
 *   They cost no more than they must (`src/execution/unforeseenError.ts`): a proposer leaves the transaction out, a validator does not vote
 *   for a block that has it, a view fails, and only a decided block ends the node.
 *
 * `ExecutionTimeout` and the errors of tracers and RPC belong to views, which no block depends on.
 */

/** V8's messages where the memory of this machine runs out. Not recognizing one costs little: the error is unforeseen then. */
const OUT_OF_MEMORY = /allocation failed|out of memory/i

/**
 * Returns whether this machine cannot continue: its disk, its database or its memory fails. No
 * transaction can cause that.
 */
export function isMachineFailure(error: unknown): boolean {
  if (error instanceof StateReadError || error instanceof DatabaseError) return true
  if (error instanceof RangeError) return OUT_OF_MEMORY.test(error.message)
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
}

/**
 * Two engines came to different results for the same block. One of them is wrong, and it is not
 * known which: the block must not be committed. The message is the whole report, since only an
 * error's message reaches the thread that logs it.
 */
export class ShadowMismatchError extends Error {
  override readonly name = 'ShadowMismatchError'
}
