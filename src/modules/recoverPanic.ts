import { isMachineFailure } from '../evm/engines/errorKinds.ts'
import { WorkStopped } from '../state/workMeter.ts'
import { SdkError } from './sdkError.ts'

/** V8's message where the stack of this machine ends; another machine may have a longer one. */
const STACK_OVERFLOW = /Maximum call stack size exceeded/

/**
 * A bug of this software that a passed proposal or an item of a block's start or end hit: ErrPanic
 * of the SDK (cosmossdk.io/errors). The message is constant because it gets into the state; the
 * text of `cause` may differ between versions of Node.js.
 */
class Defect extends SdkError {
  readonly cause: unknown

  constructor(cause: unknown) {
    super('undefined', 111_222, 'recovered: panic')
    this.cause = cause
  }
}

/**
 * Runs a message of a passed proposal, or an item of a block's start or end
 * ({@link ./blockItem.ts}), and returns its result. A bug in a message fails the proposal, as in
 * the SDK (safeExecuteHandler of x/gov/abci.go). Nowhere else is an unforeseen error an outcome:
 * no proposer can leave out the start or end of a block, so no block could follow. A node that
 * alone has the error computes another state, and stops at the next block, whose application hash
 * differs.
 * Failures of this machine (its disk, memory or stack) are still thrown, and so is the end of a
 * run with a limit or deadline. The caller undoes the effects, and `work` leaves no checkpoint open
 * when it throws.
 */
export function recoverPanic<T>(work: () => T): T | SdkError {
  try {
    return work()
  } catch (error) {
    if (isMachineFailure(error) || error instanceof WorkStopped) throw error
    if (error instanceof RangeError && STACK_OVERFLOW.test(error.message)) throw error
    return new Defect(error)
  }
}

/**
 * Returns the message of an error, with the cause of a {@link Defect}: only for logs and events,
 * which are in no hash and no state.
 */
export function reasonWithCause(error: SdkError): string {
  return error instanceof Defect ? `${error.message}: ${String(error.cause)}` : error.message
}
