import { isFatal } from '../evm/engines/fatal.ts'
import { SdkError } from './sdkError.ts'

/** ErrPanic of the SDK (cosmossdk.io/errors). */
const PANIC = { codespace: 'undefined', code: 111_222 } as const

/**
 * What `work` gives. A defect of this software that one transaction or proposal comes upon is the failure of that one alone, as
 * with the SDK (baseapp's recovery): nobody stops the chain with it. What comes of this machine, a disk that cannot be read or
 * memory that is short, is still thrown, since as an outcome it would be one that other nodes do not have.
 * The caller undoes the effects, and `work` leaves no checkpoint open when it throws.
 */
export function containDefect<T>(work: () => T): T | SdkError {
  try {
    return work()
  } catch (error) {
    if (isFatal(error)) throw error
    return new SdkError(PANIC.codespace, PANIC.code, `recovered: ${String(error)}: panic`)
  }
}
