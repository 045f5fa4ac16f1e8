import { SdkError } from '../sdkError.ts'

/** Errors of the bank module (x/bank/types/errors.go): code and text. */
const BANK_ERRORS = {
  noInputs: [2, 'no inputs to send transaction'],
  noOutputs: [3, 'no outputs to send transaction'],
  inputOutputMismatch: [4, 'sum inputs != sum outputs'],
  sendDisabled: [5, 'send transactions are disabled'],
  duplicateEntry: [8, 'duplicate entry'],
  multipleSenders: [9, 'multiple senders not allowed'],
} as const

export function bankError(name: keyof typeof BANK_ERRORS, reason?: string): SdkError {
  const [code, text] = BANK_ERRORS[name]
  return new SdkError('bank', code, reason === undefined ? text : `${reason}: ${text}`)
}
