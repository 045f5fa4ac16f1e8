import { getConstitution } from '../../modules/gov/initGov.ts'
import { GOV_PARAMS } from '../../modules/gov/params.ts'
import {
  Deposit,
  DepositParams,
  Params,
  PROPOSAL_STATUS,
  Proposal,
  TallyParams,
  TallyResult,
  Vote,
  VotingParams,
} from '../../modules/gov/types.ts'
import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import { enumeration, message, repeated, string, uint64 } from '../../primitives/protoSchema.ts'
import { depositsPage, proposalsPage, votesPage } from './govLists.ts'
import { requireDeposit, requireProposal, requireVote } from './govLookup.ts'
import { currentTally } from './govTally.ts'
import { defineQuery, type NativeQuery } from './query.ts'
import { invalidArgument } from './queryError.ts'

const SERVICE = 'cosmos.gov.v1.Query'
const BASE = '/cosmos/gov/v1'
const OF_PROPOSAL = { proposalId: uint64(1), pagination: message(2, PageRequest) }

/** x/gov/keeper/grpc_query.go */
export const GOV_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Constitution',
    get: [`${BASE}/constitution`],
    request: {},
    response: { constitution: string(1) },
    run: ({ world }) => ({ constitution: getConstitution(world.native) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Proposal',
    get: [`${BASE}/proposals/{proposal_id}`],
    request: { proposalId: uint64(1) },
    response: { proposal: message(1, Proposal) },
    run: (context, { proposalId }) => ({ proposal: requireProposal(context, proposalId) }),
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
    response: { proposals: repeated(message(1, Proposal)), pagination: message(2, PageResponse) },
    run: async (context, request) => {
      const { items, pagination } = await proposalsPage(context, request)
      return { proposals: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Vote',
    get: [`${BASE}/proposals/{proposal_id}/votes/{voter}`],
    request: { proposalId: uint64(1), voter: string(2) },
    response: { vote: message(1, Vote) },
    run: (context, { proposalId, voter }) => ({ vote: requireVote(context, proposalId, voter) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Votes',
    get: [`${BASE}/proposals/{proposal_id}/votes`],
    request: OF_PROPOSAL,
    response: { votes: repeated(message(1, Vote)), pagination: message(2, PageResponse) },
    run: async (context, request) => {
      const { items, pagination } = await votesPage(context, request)
      return { votes: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Params',
    get: [`${BASE}/params/{params_type}`, `${BASE}/params`],
    request: { paramsType: string(1) },
    response: {
      votingParams: message(1, VotingParams),
      depositParams: message(2, DepositParams),
      tallyParams: message(3, TallyParams),
      params: message(4, Params),
    },
    run: ({ world }, { paramsType }) => {
      if (!['', 'deposit', 'voting', 'tallying'].includes(paramsType)) {
        throw invalidArgument(`${paramsType} is not a valid parameter type`)
      }
      const params = GOV_PARAMS.get(world.native)
      const { minDeposit, maxDepositPeriod, votingPeriod, quorum, threshold, vetoThreshold } = params
      return {
        votingParams: paramsType === 'voting' ? { votingPeriod } : undefined,
        depositParams: paramsType === 'deposit' ? { minDeposit, maxDepositPeriod } : undefined,
        tallyParams: paramsType === 'tallying' ? { quorum, threshold, vetoThreshold } : undefined,
        params,
      }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Deposit',
    get: [`${BASE}/proposals/{proposal_id}/deposits/{depositor}`],
    request: { proposalId: uint64(1), depositor: string(2) },
    response: { deposit: message(1, Deposit) },
    run: (context, { proposalId, depositor }) => ({ deposit: requireDeposit(context, proposalId, depositor) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Deposits',
    get: [`${BASE}/proposals/{proposal_id}/deposits`],
    request: OF_PROPOSAL,
    response: { deposits: repeated(message(1, Deposit)), pagination: message(2, PageResponse) },
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
    response: { tally: message(1, TallyResult) },
    run: async (context, { proposalId }) => ({
      tally: await currentTally(context, requireProposal(context, proposalId)),
    }),
  }),
]
