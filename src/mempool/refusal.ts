import { type SDK_ERRORS, type SdkError, sdkError } from '../modules/sdkError.ts'
import type { Admission } from './types.ts'

/** Why a transaction of either kind does not come in: geth's words, and the SDK's error that comes nearest. */
export interface Refusal {
  readonly reason: string
  readonly error: keyof typeof SDK_ERRORS
}

/** The refusal of an EVM transaction by a rule for both kinds. */
export function refuseEvm({ reason, error }: Refusal): Admission {
  const { codespace, code } = sdkError(error)
  return { accepted: false, reason, error: { codespace, code } }
}

/** The refusal of a native transaction by a rule for both kinds. */
export function refuseNative({ reason, error }: Refusal): Admission {
  return refuseWith(sdkError(error, reason))
}

export function refuseWith({ message, codespace, code }: SdkError): Admission {
  return { accepted: false, reason: message, error: { codespace, code } }
}
