import { SdkError } from '../sdkError.ts'

/** Errors of the codespace `feegrant` (x/feegrant/errors.go): code and text. */
const FEEGRANT_ERRORS = {
  limitExceeded: [2, 'fee limit exceeded'],
  expired: [3, 'fee allowance expired'],
  invalidDuration: [4, 'invalid duration'],
  noAllowance: [5, 'no allowance'],
  noMessages: [6, 'allowed messages are empty'],
  messageNotAllowed: [7, 'message not allowed'],
} as const

export function feegrantError(name: keyof typeof FEEGRANT_ERRORS, reason: string): SdkError {
  const [code, text] = FEEGRANT_ERRORS[name]
  return new SdkError('feegrant', code, `${reason}: ${text}`)
}
