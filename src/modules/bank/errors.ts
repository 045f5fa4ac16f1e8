import { defineErrors } from '../sdkError.ts'

/** Makes an error of the codespace `bank` (x/bank/types/errors.go). */
export const bankError = defineErrors('bank', {
  noInputs: [2, 'no inputs to send transaction'],
  noOutputs: [3, 'no outputs to send transaction'],
  inputOutputMismatch: [4, 'sum inputs != sum outputs'],
  sendDisabled: [5, 'send transactions are disabled'],
  duplicateEntry: [8, 'duplicate entry'],
  multipleSenders: [9, 'multiple senders not allowed'],
})
