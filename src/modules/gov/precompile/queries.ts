import { type Address, parseAddress, toBech32 } from '../../../primitives/address.ts'
import { address, array, string, uint32, uint64 } from '../../precompileFunctions/abi/types.ts'
import {
  defineFunction,
  type FunctionContext,
  type FunctionFailure,
  isFailure,
  type PrecompileFunction,
} from '../../precompileFunctions/dispatch.ts'
import { moduleContext, queryError } from '../../precompileFunctions/nativeCall.ts'
import { answerPage, byAccount } from '../../precompileFunctions/page.ts'
import { PageRequest, PageResponse } from '../../precompileFunctions/types.ts'
import { GOV_PARAMS } from '../params.ts'
import {
  depositsOf,
  getConstitution,
  getDeposit,
  getProposal,
  getVote,
  PROPOSALS_PREFIX,
  proposalKey,
  readProposalRecord,
  votesOf,
  withContent,
} from '../state.ts'
import { currentTally } from '../tally.ts'
import { DEPOSIT_PERIOD, FAILED, type Proposal } from '../types.ts'
import {
  DepositData,
  depositTuple,
  Params,
  ProposalData,
  paramsTuple,
  proposalTuple,
  TallyResultData,
  tallyTuple,
  voteTuple,
  WeightedVote,
} from './types.ts'

/** One small record. */
const READ_GAS = 3_000n
/** A vote or deposit in a page. */
const SMALL_ITEM_GAS = 2_000n
/** To decode where a proposal stands, and for the two look-ups that a filter may need. */
const PROPOSAL_ENTRY_GAS = 6_000n
/** Gas of reading a proposal's content, besides its bytes. */
const PROPOSAL_ITEM_GAS = 6_000n
const ID_BYTES = 8
/** Ids begin at 1; 0 in a request stands for no id. */
const NO_PROPOSAL_ID = queryError('InvalidArgument', 'proposal id can not be 0')

/** The functions of IGov that only read. */
export const GOV_QUERIES: readonly PrecompileFunction[] = [
  defineFunction({
    name: 'getVote',
    inputs: { proposalId: uint64, voter: address },
    outputs: { vote: WeightedVote },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world }, { proposalId, voter }) => {
      if (proposalId === 0n) return NO_PROPOSAL_ID
      const vote = getVote(world.native, proposalId, voter)
      if (vote !== undefined) return { vote: voteTuple(vote) }
      return queryError('InvalidArgument', `voter: ${toBech32(voter)} not found for proposal: ${proposalId}`)
    },
  }),
  defineFunction({
    name: 'getVotes',
    inputs: { proposalId: uint64, pagination: PageRequest },
    outputs: { votes: array(WeightedVote), pageResponse: PageResponse },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { proposalId, pagination }) => {
      if (proposalId === 0n) return NO_PROPOSAL_ID
      return answerPage(context, pagination, 'votes', {
        ...byAccount(
          (options) => votesOf(context.world.native, proposalId, options),
          ({ voter }) => parseAddress(voter),
        ),
        itemGas: SMALL_ITEM_GAS,
        toTuple: voteTuple,
      })
    },
  }),
  defineFunction({
    name: 'getDeposit',
    inputs: { proposalId: uint64, depositor: address },
    outputs: { deposit: DepositData },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world }, { proposalId, depositor }) => {
      if (proposalId === 0n) return NO_PROPOSAL_ID
      const deposit = getDeposit(world.native, proposalId, depositor)
      if (deposit !== undefined) return { deposit: depositTuple(deposit) }
      return queryError('NotFound', `depositor: ${toBech32(depositor)} not found for proposal: ${proposalId}`)
    },
  }),
  defineFunction({
    name: 'getDeposits',
    inputs: { proposalId: uint64, pagination: PageRequest },
    outputs: { deposits: array(DepositData), pageResponse: PageResponse },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { proposalId, pagination }) => {
      if (proposalId === 0n) return NO_PROPOSAL_ID
      return answerPage(context, pagination, 'deposits', {
        ...byAccount(
          (options) => depositsOf(context.world.native, proposalId, options),
          ({ depositor }) => parseAddress(depositor),
        ),
        itemGas: SMALL_ITEM_GAS,
        toTuple: depositTuple,
      })
    },
  }),
  defineFunction({
    name: 'getTallyResult',
    inputs: { proposalId: uint64 },
    outputs: { tallyResult: TallyResultData },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { proposalId }) => {
      if (proposalId === 0n) return NO_PROPOSAL_ID
      // The work that it takes is counted while it is done.
      const result = currentTally(moduleContext(context), proposalId)
      return result === undefined ? noProposal(proposalId) : { tallyResult: tallyTuple(result) }
    },
  }),
  defineFunction({
    name: 'getProposal',
    inputs: { proposalId: uint64 },
    outputs: { proposal: ProposalData },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { proposalId }) => {
      const proposal = readProposal(context, proposalId)
      return isFailure(proposal) ? proposal : { proposal: proposalTuple(proposal) }
    },
  }),
  defineFunction({
    name: 'getProposals',
    inputs: { proposalStatus: uint32, voter: address, depositor: address, pagination: PageRequest },
    outputs: { proposals: array(ProposalData), pageResponse: PageResponse },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { proposalStatus, voter, depositor, pagination }) => {
      const { native } = context.world
      // As in the SDK, an unknown status filters nothing.
      const hasStatus = proposalStatus >= BigInt(DEPOSIT_PERIOD) && proposalStatus <= BigInt(FAILED)
      return answerPage(context, pagination, 'proposals', {
        *walk(start, reverse) {
          const range = { ...(start && { start: proposalKey(Buffer.from(start).readBigUInt64BE()) }), reverse }
          for (const [key, stored] of native.range(PROPOSALS_PREFIX, range)) yield [key.slice(-ID_BYTES), stored]
        },
        isKey: (key) => key.length === ID_BYTES,
        entryGas: () => PROPOSAL_ENTRY_GAS,
        matches: (stored) => {
          const { id, status } = readProposalRecord(stored)
          if (hasStatus && BigInt(status) !== proposalStatus) return false
          if (isSomebody(voter) && getVote(native, id, voter) === undefined) return false
          return !isSomebody(depositor) || getDeposit(native, id, depositor) !== undefined
        },
        itemGas: PROPOSAL_ITEM_GAS,
        // The gas of its content is counted while it is read.
        toTuple: (stored) => proposalTuple(withContent(native, readProposalRecord(stored))),
      })
    },
  }),
  defineFunction({
    name: 'getParams',
    inputs: {},
    outputs: { params: Params },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world }) => ({ params: paramsTuple(GOV_PARAMS.get(world.native)) }),
  }),
  defineFunction({
    name: 'getConstitution',
    inputs: {},
    outputs: { constitution: string },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world }) => ({ constitution: getConstitution(world.native) }),
  }),
]

/** Reads a proposal that must exist. */
function readProposal({ world }: FunctionContext, id: bigint): Proposal | FunctionFailure {
  if (id === 0n) return NO_PROPOSAL_ID
  return getProposal(world.native, id) ?? noProposal(id)
}

function noProposal(id: bigint): FunctionFailure {
  return queryError('NotFound', `proposal ${id} doesn't exist`)
}

/** The address 0 stands for none. */
function isSomebody(account: Address): boolean {
  return account.some((byte) => byte !== 0)
}
