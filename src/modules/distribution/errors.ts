import { SdkError } from '../sdkError.ts'

/** Errors of the codespace `distribution` (x/distribution/types/errors.go): code and text. */
export const DISTRIBUTION_ERRORS = {
  emptyDelegatorAddress: [2, 'delegator address is empty'],
  emptyWithdrawAddress: [3, 'withdraw address is empty'],
  emptyValidatorAddress: [4, 'validator address is empty'],
  emptyDelegationInfo: [5, 'no delegation distribution info'],
  noValidatorInfo: [6, 'no validator distribution info'],
  noValidatorCommission: [7, 'no validator commission to withdraw'],
  withdrawAddressDisabled: [8, 'set withdraw address disabled'],
  badDistribution: [9, 'community pool does not have sufficient coins to distribute'],
  invalidProposalAmount: [10, 'invalid community pool spend proposal amount'],
  emptyProposalRecipient: [11, 'invalid community pool spend proposal recipient'],
  noValidator: [12, 'validator does not exist'],
  noDelegation: [13, 'delegation does not exist'],
} as const

/** An error of the distribution module, `reason: text` as the SDK wraps it. */
export function distributionError(name: keyof typeof DISTRIBUTION_ERRORS, reason?: string): SdkError {
  const [code, text] = DISTRIBUTION_ERRORS[name]
  return new SdkError('distribution', code, reason === undefined ? text : `${reason}: ${text}`)
}
