import { defineErrors } from '../sdkError.ts'

/** Makes an error of the codespace `distribution` (x/distribution/types/errors.go). */
export const distributionError = defineErrors('distribution', {
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
})
