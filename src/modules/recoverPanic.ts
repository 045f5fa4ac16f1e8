import { isFatal } from '../evm/engines/fatalErrors.ts'
import { SdkError } from './sdkError.ts'

/**
 * A bug of this software that a transaction or proposal triggered: ErrPanic of the SDK (cosmossdk.io/errors). Its message is always the
 * same: messages can get into the state, and the text of `cause` may differ between versions of Node.js.
 */
class Defect extends SdkError {
  readonly cause: unknown

  constructor(cause: unknown) {
    super('undefined', 111_222, 'recovered: panic')
    this.cause = cause
  }
}

/**
 * Runs `work` and returns its result. A bug that one transaction or proposal triggers fails that one alone, as in the SDK (baseapp's
 * recovery), so that nobody can stop the chain with it. Failures of this machine, an unreadable disk or too little memory, are still
 * thrown: as an outcome they would differ from those of other nodes.
 * The caller undoes the effects, and `work` leaves no checkpoint open when it throws.
 */
export function recoverPanic<T>(work: () => T): T | SdkError {
  try {
    return work()
  } catch (error) {
    if (isFatal(error)) throw error
    return new Defect(error)
  }
}

/** The message of an error, with the cause of a {@link Defect}: only for logs and events, which are in no hash and no state. */
export function reasonWithCause(error: SdkError): string {
  return error instanceof Defect ? `${error.message}: ${String(error.cause)}` : error.message
}
