import { parseAddress } from '../../primitives/address.ts'
import { ONE } from '../../primitives/decimal.ts'
import {
  embedded,
  enumeration,
  type Field,
  message,
  string,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { budgetOf } from '../budget.ts'
import { PageRequest } from '../pagination.ts'
import { readAccount } from '../query/addresses.ts'
import { addressWalk, paginate, storeWalk } from '../query/paginate.ts'
import { definePagedQuery, defineQuery, type NativeQuery, type Page, type QueryContext } from '../query/query.ts'
import { invalidArgument, notFound } from '../query/queryError.ts'
import { GOV_PARAMS, ratio } from './params.ts'
import {
  depositsOf,
  getConstitution,
  getDeposit,
  getProposal,
  getVote,
  PROPOSALS_PREFIX,
  readProposalRecord,
  votesOf,
  withContent,
} from './state.ts'
import { countVotes, tallyOf, tallyOutcome } from './tally.ts'
import {
  DEPOSIT_PERIOD,
  Deposit,
  DepositParams,
  MsgExecLegacyContent,
  Params,
  PROPOSAL_STATUS,
  Proposal,
  TallyParams,
  TallyResult,
  VOTING_PERIOD,
  Vote,
  VotingParams,
} from './types.ts'
import {
  DepositParamsV1beta1,
  DepositV1beta1,
  ProposalV1beta1,
  TallyParamsV1beta1,
  TallyResultV1beta1,
  VoteV1beta1,
  VotingParamsV1beta1,
} from './typesV1beta1.ts'

const PROPOSAL_ID = { proposalId: uint64(1) }
const LIST_REQUEST = { proposalId: uint64(1), pagination: message(2, PageRequest) }

/** Differences between the two versions of gov's queries: names, and the types in the answers. */
interface GovVersion<P, V, D, T> {
  readonly service: string
  /** of the REST paths */
  readonly base: string
  readonly proposal: readonly [field: Field<P>, show: (proposal: Proposal) => NonNullable<P>]
  readonly vote: readonly [field: Field<V>, show: (vote: Vote) => NonNullable<V>]
  readonly deposit: readonly [field: Field<D>, show: (deposit: Deposit) => NonNullable<D>]
  readonly tally: readonly [field: Field<T>, show: (tally: TallyResult) => NonNullable<T>]
}

/** Returns the queries that both versions have (x/gov/keeper/grpc_query.go). */
function sharedQueries<P, V, D, T>(version: GovVersion<P, V, D, T>): readonly NativeQuery[] {
  const { service, base, proposal, vote, deposit, tally } = version
  return [
    defineQuery({
      service,
      name: 'Proposal',
      get: [`${base}/proposals/{proposal_id}`],
      request: PROPOSAL_ID,
      response: { proposal: proposal[0] },
      run: (context, { proposalId }) => ({ proposal: proposal[1](requireProposal(context, proposalId)) }),
    }),
    definePagedQuery({
      service,
      name: 'Proposals',
      get: [`${base}/proposals`],
      request: {
        proposalStatus: enumeration(1, PROPOSAL_STATUS),
        voter: string(2),
        depositor: string(3),
        pagination: message(4, PageRequest),
      },
      list: ['proposals', proposal[0]],
      run: (context, request) => proposalsPage(context, request, proposal[1]),
    }),
    defineQuery({
      service,
      name: 'Vote',
      get: [`${base}/proposals/{proposal_id}/votes/{voter}`],
      request: { ...PROPOSAL_ID, voter: string(2) },
      response: { vote: vote[0] },
      run: (context, { proposalId, voter }) => ({ vote: vote[1](requireVote(context, proposalId, voter)) }),
    }),
    definePagedQuery({
      service,
      name: 'Votes',
      get: [`${base}/proposals/{proposal_id}/votes`],
      request: LIST_REQUEST,
      list: ['votes', vote[0]],
      run: (context, { proposalId, pagination }) => {
        checkId(proposalId)
        const walk = addressWalk(
          (options) => votesOf(context.world.native, proposalId, options),
          ({ voter }) => parseAddress(voter),
        )
        return paginate(context, pagination, walk, vote[1])
      },
    }),
    defineQuery({
      service,
      name: 'Deposit',
      get: [`${base}/proposals/{proposal_id}/deposits/{depositor}`],
      request: { ...PROPOSAL_ID, depositor: string(2) },
      response: { deposit: deposit[0] },
      run: (context, { proposalId, depositor }) => ({
        deposit: deposit[1](requireDeposit(context, proposalId, depositor)),
      }),
    }),
    definePagedQuery({
      service,
      name: 'Deposits',
      get: [`${base}/proposals/{proposal_id}/deposits`],
      request: LIST_REQUEST,
      list: ['deposits', deposit[0]],
      run: (context, { proposalId, pagination }) => {
        checkId(proposalId)
        const walk = addressWalk(
          (options) => depositsOf(context.world.native, proposalId, options),
          ({ depositor }) => parseAddress(depositor),
        )
        return paginate(context, pagination, walk, deposit[1])
      },
    }),
    defineQuery({
      service,
      name: 'TallyResult',
      get: [`${base}/proposals/{proposal_id}/tally`],
      runs: 'heavy',
      request: PROPOSAL_ID,
      response: { tally: tally[0] },
      run: async (context, { proposalId }) => ({
        tally: tally[1](await currentTally(context, requireProposal(context, proposalId))),
      }),
    }),
  ]
}

/** gov v1, and the same in the types of v1beta1, which older wallets know (migrations/v3/convert.go). */
export const GOV_QUERIES: readonly NativeQuery[] = [
  ...sharedQueries({
    service: 'cosmos.gov.v1.Query',
    base: '/cosmos/gov/v1',
    proposal: [message(1, Proposal), (proposal) => proposal],
    vote: [message(1, Vote), (vote) => vote],
    deposit: [message(1, Deposit), (deposit) => deposit],
    tally: [message(1, TallyResult), (tally) => tally],
  }),
  defineQuery({
    service: 'cosmos.gov.v1.Query',
    name: 'Constitution',
    get: ['/cosmos/gov/v1/constitution'],
    request: {},
    response: { constitution: string(1) },
    run: ({ world }) => ({ constitution: getConstitution(world.native) }),
  }),
  defineQuery({
    service: 'cosmos.gov.v1.Query',
    name: 'Params',
    get: ['/cosmos/gov/v1/params/{params_type}', '/cosmos/gov/v1/params'],
    request: { paramsType: string(1) },
    response: {
      votingParams: message(1, VotingParams),
      depositParams: message(2, DepositParams),
      tallyParams: message(3, TallyParams),
      params: message(4, Params),
    },
    run: ({ world }, { paramsType }) => {
      checkParamsType(paramsType)
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

  ...sharedQueries({
    service: 'cosmos.gov.v1beta1.Query',
    base: '/cosmos/gov/v1beta1',
    proposal: [embedded(1, ProposalV1beta1), toOldProposal],
    vote: [embedded(1, VoteV1beta1), toOldVote],
    deposit: [embedded(1, DepositV1beta1), (deposit) => deposit],
    tally: [embedded(1, TallyResultV1beta1), toOldTally],
  }),
  defineQuery({
    service: 'cosmos.gov.v1beta1.Query',
    name: 'Params',
    get: ['/cosmos/gov/v1beta1/params/{params_type}'],
    request: { paramsType: string(1) },
    response: {
      votingParams: embedded(1, VotingParamsV1beta1),
      depositParams: embedded(2, DepositParamsV1beta1),
      tallyParams: embedded(3, TallyParamsV1beta1),
    },
    run: ({ world }, { paramsType }) => {
      checkParamsType(paramsType)
      const params = GOV_PARAMS.get(world.native)
      const { minDeposit, maxDepositPeriod = 0n, votingPeriod = 0n, quorum, threshold, vetoThreshold } = params
      const tally = { quorum: ratio(quorum), threshold: ratio(threshold), vetoThreshold: ratio(vetoThreshold) }
      return {
        votingParams: { votingPeriod: paramsType === 'voting' ? votingPeriod : 0n },
        depositParams: paramsType === 'deposit' ? { minDeposit, maxDepositPeriod } : DepositParamsV1beta1.create(),
        tallyParams: paramsType === 'tallying' ? tally : TallyParamsV1beta1.create(),
      }
    },
  }),
]

function checkParamsType(type: string): void {
  if (!['', 'deposit', 'voting', 'tallying'].includes(type)) {
    throw invalidArgument(`${type} is not a valid parameter type`)
  }
}

/** Which proposals are asked for; 0 and '' mean all. */
interface ProposalFilter {
  readonly proposalStatus: number
  readonly voter: string
  readonly depositor: string
  readonly pagination: PageRequest | undefined
}

/** Proposals in order of their IDs. */
function proposalsPage<T>(
  context: QueryContext,
  filter: ProposalFilter,
  show: (proposal: Proposal) => T,
): Promise<Page<T>> {
  const { native } = context.world
  const { proposalStatus, pagination } = filter
  const voter = filter.voter === '' ? undefined : readAccount(filter.voter)
  const depositor = filter.depositor === '' ? undefined : readAccount(filter.depositor)
  const walk = storeWalk(native, PROPOSALS_PREFIX, (_, value) => readProposalRecord(value))
  return paginate(context, pagination, walk, (proposal) => {
    if (proposalStatus !== 0 && proposal.status !== proposalStatus) return undefined
    if (voter !== undefined && getVote(native, proposal.id, voter) === undefined) return undefined
    if (depositor !== undefined && getDeposit(native, proposal.id, depositor) === undefined) return undefined
    return show(withContent(native, proposal))
  })
}

/** @throws QueryError */
function requireProposal({ world }: QueryContext, id: bigint): Proposal {
  checkId(id)
  const proposal = getProposal(world.native, id)
  if (proposal === undefined) throw notFound(`proposal ${id} doesn't exist`)
  return proposal
}

/** @throws QueryError "invalid argument", as the SDK does, for a vote that is not there */
function requireVote({ world }: QueryContext, id: bigint, voter: string): Vote {
  checkId(id)
  const vote = getVote(world.native, id, readAccount(voter))
  if (vote === undefined) throw invalidArgument(`voter: ${voter} not found for proposal: ${id}`)
  return vote
}

/** @throws QueryError "invalid argument", as the SDK does, for a deposit that is not there */
function requireDeposit({ world }: QueryContext, id: bigint, depositor: string): Deposit {
  checkId(id)
  const deposit = getDeposit(world.native, id, readAccount(depositor))
  if (deposit === undefined) throw invalidArgument(`depositer: ${depositor} not found for proposal: ${id}`)
  return deposit
}

function checkId(id: bigint): void {
  if (id === 0n) throw invalidArgument('proposal id can not be 0')
}

/** Gas of work between two turns of the event loop, some 10 ms. */
const TURN_GAS = 700_000

const NO_VOTES: TallyResult = { yesCount: '0', abstainCount: '0', noCount: '0', noWithVetoCount: '0' }

/**
 * Returns the tally of a proposal: the final one when voting has ended, else a count of the votes
 * so far (TallyResult of grpc_query.go).
 * @throws QueryError when there are more votes than can be counted in time
 */
async function currentTally(context: QueryContext, proposal: Proposal): Promise<TallyResult> {
  if (proposal.status === DEPOSIT_PERIOD) return NO_VOTES
  if (proposal.status !== VOTING_PERIOD) return proposal.finalTallyResult ?? NO_VOTES
  const { world } = context
  const { native } = world
  const pause = context.beginPauses()
  let state = tallyOf(native, proposal.id)
  for (;;) {
    // Votes are removed once they are counted: the query has the state for itself.
    const counted = countVotes(native, state, budgetOf(native, TURN_GAS))
    if (counted.isComplete) return tallyOutcome(counted.tally, GOV_PARAMS.get(native), proposal.expedited).result
    state = counted
    await pause()
  }
}

/** Go's zero time, year 1, in nanoseconds: v1beta1 has no absent times. */
const ZERO_TIME = -62_135_596_800n * 1_000_000_000n

/** Of the messages of a proposal only content of v1beta1 can be shown. */
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
