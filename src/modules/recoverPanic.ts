import { isFatal } from '../evm/engines/fatalErrors.ts'
import { SdkError } from './sdkError.ts'

/**
 * Something that should not happen came upon a transaction or proposal: ErrPanic of the SDK (cosmossdk.io/errors). Its message is
 * always the same, since the words of `cause` may be those of one version of Node.js, and messages can get into the state.
 */
export class Defect extends SdkError {
  readonly cause: unknown

  constructor(cause: unknown) {
    super('undefined', 111_222, 'recovered: panic')
    this.cause = cause
  }
}

/**
 * What `work` gives. A defect of this software that one transaction or proposal comes upon is the failure of that one alone, as
 * with the SDK (baseapp's recovery): nobody stops the chain with it. What comes of this machine, a disk that cannot be read or
 * memory that is short, is still thrown, since as an outcome it would be one that other nodes do not have.
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

/** The message of an error, and of a defect what it was: for logs and events, which no hash and no state holds. */
export function reasonWithCause(error: SdkError): string {
  return error instanceof Defect ? `${error.message}: ${String(error.cause)}` : error.message
}
