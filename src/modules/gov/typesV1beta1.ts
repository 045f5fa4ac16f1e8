import {
  any,
  decimal,
  decimalBytes,
  defineMessage,
  duration,
  embedded,
  enumeration,
  integer,
  message,
  repeated,
  string,
  timestamp,
  uint64,
} from '../../primitives/protoSchema.ts'
import { Coin } from '../coin.ts'
import { Plan } from '../upgrade/plan.ts'
import { PROPOSAL_STATUS, VOTE_OPTIONS } from './types.ts'

/** cosmos.gov.v1beta1: the types of older wallets' messages and queries. */

export const WeightedVoteOptionV1beta1 = defineMessage('cosmos.gov.v1beta1.WeightedVoteOption', {
  option: enumeration(1, VOTE_OPTIONS),
  weight: decimal(2),
})

export const VoteV1beta1 = defineMessage('cosmos.gov.v1beta1.Vote', {
  proposalId: uint64(1),
  voter: string(2),
  /** deprecated: the option of a vote that is not split */
  option: enumeration(3, VOTE_OPTIONS),
  options: repeated(embedded(4, WeightedVoteOptionV1beta1)),
})

export const DepositV1beta1 = defineMessage('cosmos.gov.v1beta1.Deposit', {
  proposalId: uint64(1),
  depositor: string(2),
  amount: repeated(message(3, Coin)),
})

export const TallyResultV1beta1 = defineMessage('cosmos.gov.v1beta1.TallyResult', {
  yes: integer(1),
  abstain: integer(2),
  no: integer(3),
  noWithVeto: integer(4),
})

export const ProposalV1beta1 = defineMessage('cosmos.gov.v1beta1.Proposal', {
  proposalId: uint64(1),
  content: any(2),
  status: enumeration(3, PROPOSAL_STATUS),
  finalTallyResult: embedded(4, TallyResultV1beta1),
  submitTime: timestamp(5),
  depositEndTime: timestamp(6),
  totalDeposit: repeated(message(7, Coin)),
  votingStartTime: timestamp(8),
  votingEndTime: timestamp(9),
})

export const DepositParamsV1beta1 = defineMessage('cosmos.gov.v1beta1.DepositParams', {
  minDeposit: repeated(message(1, Coin)),
  maxDepositPeriod: duration(2),
})
export const VotingParamsV1beta1 = defineMessage('cosmos.gov.v1beta1.VotingParams', { votingPeriod: duration(1) })
/** The .proto file declares these decimals as bytes. */
export const TallyParamsV1beta1 = defineMessage('cosmos.gov.v1beta1.TallyParams', {
  quorum: decimalBytes(1),
  threshold: decimalBytes(2),
  vetoThreshold: decimalBytes(3),
})

export const MsgSubmitProposalV1beta1 = defineMessage('cosmos.gov.v1beta1.MsgSubmitProposal', {
  content: any(1),
  initialDeposit: repeated(message(2, Coin)),
  proposer: string(3),
})
export const MsgSubmitProposalResponseV1beta1 = defineMessage('cosmos.gov.v1beta1.MsgSubmitProposalResponse', {
  proposalId: uint64(1),
})
export const MsgVoteV1beta1 = defineMessage('cosmos.gov.v1beta1.MsgVote', {
  proposalId: uint64(1),
  voter: string(2),
  option: enumeration(3, VOTE_OPTIONS),
})
export const MsgVoteResponseV1beta1 = defineMessage('cosmos.gov.v1beta1.MsgVoteResponse', {})
export const MsgVoteWeightedV1beta1 = defineMessage('cosmos.gov.v1beta1.MsgVoteWeighted', {
  proposalId: uint64(1),
  voter: string(2),
  options: repeated(embedded(3, WeightedVoteOptionV1beta1)),
})
export const MsgVoteWeightedResponseV1beta1 = defineMessage('cosmos.gov.v1beta1.MsgVoteWeightedResponse', {})
export const MsgDepositV1beta1 = defineMessage('cosmos.gov.v1beta1.MsgDeposit', {
  proposalId: uint64(1),
  depositor: string(2),
  amount: repeated(message(3, Coin)),
})
export const MsgDepositResponseV1beta1 = defineMessage('cosmos.gov.v1beta1.MsgDepositResponse', {})

/** The contents of v1beta1 proposals, from x/{gov,params,distribution,upgrade} of SDK 0.50. */

export const TextProposal = defineMessage('cosmos.gov.v1beta1.TextProposal', {
  title: string(1),
  description: string(2),
})

export const ParamChange = defineMessage('cosmos.params.v1beta1.ParamChange', {
  /** a module's name, or baseapp for consensus parameters */
  subspace: string(1),
  key: string(2),
  /** JSON */
  value: string(3),
})
export const ParameterChangeProposal = defineMessage('cosmos.params.v1beta1.ParameterChangeProposal', {
  title: string(1),
  description: string(2),
  changes: repeated(message(3, ParamChange)),
})

export const CommunityPoolSpendProposal = defineMessage('cosmos.distribution.v1beta1.CommunityPoolSpendProposal', {
  title: string(1),
  description: string(2),
  recipient: string(3),
  amount: repeated(message(4, Coin)),
})

export const SoftwareUpgradeProposal = defineMessage('cosmos.upgrade.v1beta1.SoftwareUpgradeProposal', {
  title: string(1),
  description: string(2),
  plan: embedded(3, Plan),
})

export const CancelSoftwareUpgradeProposal = defineMessage('cosmos.upgrade.v1beta1.CancelSoftwareUpgradeProposal', {
  title: string(1),
  description: string(2),
})

/** Contents with their names in amino JSON. */
export const CONTENT_TYPES = [
  { type: TextProposal, aminoName: 'cosmos-sdk/TextProposal' },
  { type: ParameterChangeProposal, aminoName: 'cosmos-sdk/ParameterChangeProposal' },
  { type: CommunityPoolSpendProposal, aminoName: CommunityPoolSpendProposal.typeUrl },
  { type: SoftwareUpgradeProposal, aminoName: 'cosmos-sdk/SoftwareUpgradeProposal' },
  { type: CancelSoftwareUpgradeProposal, aminoName: 'cosmos-sdk/CancelSoftwareUpgradeProposal' },
] as const
