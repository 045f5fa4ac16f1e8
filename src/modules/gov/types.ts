import {
  any,
  bool,
  defineMessage,
  enumeration,
  message,
  optionalDuration,
  optionalTimestamp,
  repeated,
  string,
  timestamp,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { Coin } from '../coin.ts'

/** cosmos.gov.v1 (proto/cosmos/gov/v1/{gov,tx}.proto of SDK 0.50). Ratios are decimals in text, counts whole numbers in text. */

export const VOTE_OPTIONS = {
  VOTE_OPTION_UNSPECIFIED: 0,
  VOTE_OPTION_YES: 1,
  VOTE_OPTION_ABSTAIN: 2,
  VOTE_OPTION_NO: 3,
  VOTE_OPTION_NO_WITH_VETO: 4,
} as const

export const PROPOSAL_STATUS = {
  PROPOSAL_STATUS_UNSPECIFIED: 0,
  PROPOSAL_STATUS_DEPOSIT_PERIOD: 1,
  PROPOSAL_STATUS_VOTING_PERIOD: 2,
  PROPOSAL_STATUS_PASSED: 3,
  PROPOSAL_STATUS_REJECTED: 4,
  PROPOSAL_STATUS_FAILED: 5,
} as const

export const DEPOSIT_PERIOD = PROPOSAL_STATUS.PROPOSAL_STATUS_DEPOSIT_PERIOD
export const VOTING_PERIOD = PROPOSAL_STATUS.PROPOSAL_STATUS_VOTING_PERIOD
export const PASSED = PROPOSAL_STATUS.PROPOSAL_STATUS_PASSED
export const REJECTED = PROPOSAL_STATUS.PROPOSAL_STATUS_REJECTED
export const FAILED = PROPOSAL_STATUS.PROPOSAL_STATUS_FAILED

export const WeightedVoteOption = defineMessage('cosmos.gov.v1.WeightedVoteOption', {
  option: enumeration(1, VOTE_OPTIONS),
  /** a decimal, e.g. 0.5 */
  weight: string(2),
})
export type WeightedVoteOption = ValueOf<typeof WeightedVoteOption>

export const Vote = defineMessage('cosmos.gov.v1.Vote', {
  proposalId: uint64(1),
  voter: string(2),
  options: repeated(message(4, WeightedVoteOption)),
  metadata: string(5),
})
export type Vote = ValueOf<typeof Vote>

export const Deposit = defineMessage('cosmos.gov.v1.Deposit', {
  proposalId: uint64(1),
  depositor: string(2),
  amount: repeated(message(3, Coin)),
})
export type Deposit = ValueOf<typeof Deposit>

export const TallyResult = defineMessage('cosmos.gov.v1.TallyResult', {
  yesCount: string(1),
  abstainCount: string(2),
  noCount: string(3),
  noWithVetoCount: string(4),
})
export type TallyResult = ValueOf<typeof TallyResult>

export const Proposal = defineMessage('cosmos.gov.v1.Proposal', {
  id: uint64(1),
  messages: repeated(any(2)),
  status: enumeration(3, PROPOSAL_STATUS),
  finalTallyResult: message(4, TallyResult),
  submitTime: optionalTimestamp(5),
  depositEndTime: optionalTimestamp(6),
  totalDeposit: repeated(message(7, Coin)),
  votingStartTime: optionalTimestamp(8),
  votingEndTime: optionalTimestamp(9),
  metadata: string(10),
  title: string(11),
  summary: string(12),
  proposer: string(13),
  expedited: bool(14),
  failedReason: string(15),
})
export type Proposal = ValueOf<typeof Proposal>

export const Params = defineMessage('cosmos.gov.v1.Params', {
  minDeposit: repeated(message(1, Coin)),
  maxDepositPeriod: optionalDuration(2),
  votingPeriod: optionalDuration(3),
  quorum: string(4),
  threshold: string(5),
  vetoThreshold: string(6),
  minInitialDepositRatio: string(7),
  proposalCancelRatio: string(8),
  proposalCancelDest: string(9),
  expeditedVotingPeriod: optionalDuration(10),
  expeditedThreshold: string(11),
  expeditedMinDeposit: repeated(message(12, Coin)),
  burnVoteQuorum: bool(13),
  burnProposalDepositPrevote: bool(14),
  burnVoteVeto: bool(15),
  minDepositRatio: string(16),
})
export type Params = ValueOf<typeof Params>

/** The three older groups of parameters, which queries still return. */
export const DepositParams = defineMessage('cosmos.gov.v1.DepositParams', {
  minDeposit: repeated(message(1, Coin)),
  maxDepositPeriod: optionalDuration(2),
})
export const VotingParams = defineMessage('cosmos.gov.v1.VotingParams', { votingPeriod: optionalDuration(1) })
export const TallyParams = defineMessage('cosmos.gov.v1.TallyParams', {
  quorum: string(1),
  threshold: string(2),
  vetoThreshold: string(3),
})

export const MsgSubmitProposal = defineMessage('cosmos.gov.v1.MsgSubmitProposal', {
  messages: repeated(any(1)),
  initialDeposit: repeated(message(2, Coin)),
  proposer: string(3),
  metadata: string(4),
  title: string(5),
  summary: string(6),
  expedited: bool(7),
})
export type MsgSubmitProposal = ValueOf<typeof MsgSubmitProposal>
export const MsgSubmitProposalResponse = defineMessage('cosmos.gov.v1.MsgSubmitProposalResponse', {
  proposalId: uint64(1),
})

export const MsgExecLegacyContent = defineMessage('cosmos.gov.v1.MsgExecLegacyContent', {
  content: any(1),
  authority: string(2),
})
export const MsgExecLegacyContentResponse = defineMessage('cosmos.gov.v1.MsgExecLegacyContentResponse', {})

export const MsgVote = defineMessage('cosmos.gov.v1.MsgVote', {
  proposalId: uint64(1),
  voter: string(2),
  option: enumeration(3, VOTE_OPTIONS),
  metadata: string(4),
})
export const MsgVoteResponse = defineMessage('cosmos.gov.v1.MsgVoteResponse', {})

export const MsgVoteWeighted = defineMessage('cosmos.gov.v1.MsgVoteWeighted', {
  proposalId: uint64(1),
  voter: string(2),
  options: repeated(message(3, WeightedVoteOption)),
  metadata: string(4),
})
export const MsgVoteWeightedResponse = defineMessage('cosmos.gov.v1.MsgVoteWeightedResponse', {})

export const MsgDeposit = defineMessage('cosmos.gov.v1.MsgDeposit', {
  proposalId: uint64(1),
  depositor: string(2),
  amount: repeated(message(3, Coin)),
})
export const MsgDepositResponse = defineMessage('cosmos.gov.v1.MsgDepositResponse', {})

export const MsgUpdateParams = defineMessage('cosmos.gov.v1.MsgUpdateParams', {
  authority: string(1),
  params: message(2, Params),
})
export const MsgUpdateParamsResponse = defineMessage('cosmos.gov.v1.MsgUpdateParamsResponse', {})

export const MsgCancelProposal = defineMessage('cosmos.gov.v1.MsgCancelProposal', {
  proposalId: uint64(1),
  proposer: string(2),
})
export const MsgCancelProposalResponse = defineMessage('cosmos.gov.v1.MsgCancelProposalResponse', {
  proposalId: uint64(1),
  canceledTime: timestamp(2),
  canceledHeight: uint64(3),
})
