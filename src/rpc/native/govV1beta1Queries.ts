import { GOV_PARAMS, ratio } from '../../modules/gov/params.ts'
import {
  type Deposit,
  MsgExecLegacyContent,
  PROPOSAL_STATUS,
  type Proposal,
  type TallyResult,
  type Vote,
} from '../../modules/gov/types.ts'
import {
  DepositParamsV1beta1,
  DepositV1beta1,
  ProposalV1beta1,
  TallyParamsV1beta1,
  TallyResultV1beta1,
  VoteV1beta1,
  VotingParamsV1beta1,
} from '../../modules/gov/typesV1beta1.ts'
import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import { ONE } from '../../primitives/decimal.ts'
import { embedded, enumeration, message, repeated, string, uint64, type ValueOf } from '../../primitives/protoSchema.ts'
import { depositsPage, proposalsPage, votesPage } from './govLists.ts'
import { requireDeposit, requireProposal, requireVote } from './govLookup.ts'
import { currentTally } from './govTally.ts'
import { defineQuery, type NativeQuery } from './query.ts'
import { invalidArgument } from './queryError.ts'

const SERVICE = 'cosmos.gov.v1beta1.Query'
const BASE = '/cosmos/gov/v1beta1'
const OF_PROPOSAL = { proposalId: uint64(1), pagination: message(2, PageRequest) }
/** Go's zero time, year 1, in nanoseconds: this version has no absent times. */
const ZERO_TIME = -62_135_596_800n * 1_000_000_000n

/** The same as of gov v1 in the types that older wallets know (x/gov/keeper/grpc_query.go and migrations/v3/convert.go). */
export const GOV_V1BETA1_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Proposal',
    get: [`${BASE}/proposals/{proposal_id}`],
    request: { proposalId: uint64(1) },
    response: { proposal: embedded(1, ProposalV1beta1) },
    run: (context, { proposalId }) => ({ proposal: toOldProposal(requireProposal(context, proposalId)) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Proposals',
    get: [`${BASE}/proposals`],
    request: {
      proposalStatus: enumeration(1, PROPOSAL_STATUS),
      voter: string(2),
      depositor: string(3),
      pagination: message(4, PageRequest),
    },
    response: { proposals: repeated(embedded(1, ProposalV1beta1)), pagination: message(2, PageResponse) },
    run: async (context, request) => {
      const { items, pagination } = await proposalsPage(context, request)
      return { proposals: items.map(toOldProposal), pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Vote',
    get: [`${BASE}/proposals/{proposal_id}/votes/{voter}`],
    request: { proposalId: uint64(1), voter: string(2) },
    response: { vote: embedded(1, VoteV1beta1) },
    run: (context, { proposalId, voter }) => ({ vote: toOldVote(requireVote(context, proposalId, voter)) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Votes',
    get: [`${BASE}/proposals/{proposal_id}/votes`],
    request: OF_PROPOSAL,
    response: { votes: repeated(embedded(1, VoteV1beta1)), pagination: message(2, PageResponse) },
    run: async (context, request) => {
      const { items, pagination } = await votesPage(context, request)
      return { votes: items.map(toOldVote), pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Params',
    get: [`${BASE}/params/{params_type}`],
    request: { paramsType: string(1) },
    response: {
      votingParams: embedded(1, VotingParamsV1beta1),
      depositParams: embedded(2, DepositParamsV1beta1),
      tallyParams: embedded(3, TallyParamsV1beta1),
    },
    run: ({ world }, { paramsType }) => {
      if (!['', 'deposit', 'voting', 'tallying'].includes(paramsType)) {
        throw invalidArgument(`${paramsType} is not a valid parameter type`)
      }
      const { votingPeriod, minDeposit, maxDepositPeriod, quorum, threshold, vetoThreshold } = GOV_PARAMS.get(
        world.native,
      )
      const tally = { quorum: ratio(quorum), threshold: ratio(threshold), vetoThreshold: ratio(vetoThreshold) }
      return {
        votingParams: { votingPeriod: paramsType === 'voting' ? (votingPeriod ?? 0n) : 0n },
        depositParams:
          paramsType === 'deposit'
            ? { minDeposit, maxDepositPeriod: maxDepositPeriod ?? 0n }
            : DepositParamsV1beta1.create(),
        tallyParams: paramsType === 'tallying' ? tally : TallyParamsV1beta1.create(),
      }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Deposit',
    get: [`${BASE}/proposals/{proposal_id}/deposits/{depositor}`],
    request: { proposalId: uint64(1), depositor: string(2) },
    response: { deposit: embedded(1, DepositV1beta1) },
    run: (context, { proposalId, depositor }): { deposit: Deposit } => ({
      deposit: requireDeposit(context, proposalId, depositor),
    }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Deposits',
    get: [`${BASE}/proposals/{proposal_id}/deposits`],
    request: OF_PROPOSAL,
    response: { deposits: repeated(embedded(1, DepositV1beta1)), pagination: message(2, PageResponse) },
    run: async (context, request) => {
      const { items, pagination } = await depositsPage(context, request)
      return { deposits: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'TallyResult',
    get: [`${BASE}/proposals/{proposal_id}/tally`],
    request: { proposalId: uint64(1) },
    response: { tally: embedded(1, TallyResultV1beta1) },
    run: async (context, { proposalId }) => ({
      tally: toOldTally(await currentTally(context, requireProposal(context, proposalId))),
    }),
  }),
]

/** What a proposal of v1 says shows only where it is content of v1beta1. */
function toOldProposal(proposal: Proposal): ValueOf<typeof ProposalV1beta1> {
  const legacy = proposal.messages.findLast(({ typeUrl }) => typeUrl === MsgExecLegacyContent.typeUrl)
  return {
    proposalId: proposal.id,
    content: legacy && MsgExecLegacyContent.decode(legacy.value).content,
    status: proposal.status,
    finalTallyResult: toOldTally(proposal.finalTallyResult),
    submitTime: proposal.submitTime ?? ZERO_TIME,
    depositEndTime: proposal.depositEndTime ?? ZERO_TIME,
    totalDeposit: proposal.totalDeposit,
    votingStartTime: proposal.votingStartTime ?? ZERO_TIME,
    votingEndTime: proposal.votingEndTime ?? ZERO_TIME,
  }
}

function toOldVote({ proposalId, voter, options }: Vote): ValueOf<typeof VoteV1beta1> {
  const weighted = options.map(({ option, weight }) => ({ option, weight: ratio(weight) }))
  const [only] = weighted
  const isWhole = weighted.length === 1 && only!.weight === ONE
  return { proposalId, voter, option: isWhole ? only!.option : 0, options: weighted }
}

function toOldTally(tally: TallyResult | undefined): ValueOf<typeof TallyResultV1beta1> {
  const { yesCount = '', abstainCount = '', noCount = '', noWithVetoCount = '' } = tally ?? {}
  return {
    yes: BigInt(yesCount),
    abstain: BigInt(abstainCount),
    no: BigInt(noCount),
    noWithVeto: BigInt(noWithVetoCount),
  }
}
