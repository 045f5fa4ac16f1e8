import { defineErrors } from '../sdkError.ts'

/** Makes an error of the codespace `gov` (x/gov/types/errors.go). */
export const govError = defineErrors('gov', {
  inactiveProposal: [3, 'inactive proposal'],
  invalidContent: [5, 'invalid proposal content'],
  invalidVote: [7, 'invalid vote option'],
  noHandler: [9, 'no handler exists for proposal type'],
  unroutableMessage: [10, 'proposal message not recognized by router'],
  noMessages: [11, 'no messages proposed'],
  invalidMessage: [12, 'invalid proposal message'],
  invalidSigner: [13, 'expected gov account as only signer for proposal message'],
  metadataTooLong: [15, 'metadata too long'],
  depositTooSmall: [16, 'minimum deposit is too small'],
  invalidProposer: [18, 'invalid proposer'],
  votingPeriodEnded: [20, 'voting period already ended'],
  invalidProposal: [21, 'invalid proposal'],
  summaryTooLong: [22, 'summary too long'],
  invalidDepositDenom: [23, 'invalid deposit denom'],
})
