import { GOV_PARAMS } from '../../modules/gov/params.ts'
import {
  depositsOf,
  getConstitution,
  getDeposit,
  getVote,
  PROPOSALS_PREFIX,
  proposalKey,
  votesOf,
} from '../../modules/gov/state.ts'
import { DEPOSIT_PERIOD, FAILED, Proposal, VOTING_PERIOD } from '../../modules/gov/types.ts'
import { runningTally } from '../../modules/gov/votes.ts'
import { lastPowers } from '../../modules/staking/validators.ts'
import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { address, array, string, uint32, uint64 } from '../abi/types.ts'
import {
  defineFunction,
  type FunctionContext,
  type FunctionFailure,
  isFailure,
  OUT_OF_GAS,
  type PrecompileFunction,
} from '../dispatch.ts'
import { moduleContext, queryError } from '../nativeCall.ts'
import { answerPage, byAccount } from '../page.ts'
import { PageRequest, PageResponse } from '../types.ts'
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
const PROPOSAL_ITEM_GAS = 3_000n
/** A validator, a vote, or a delegation of a voter, in the tally of a proposal that is voted on. */
const TALLY_UNIT_GAS = 1_000n
/** For each 32 bytes of a stored proposal, which may hold long messages. */
const PROPOSAL_WORD_GAS = 10n
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
      const proposal = readProposal(context, proposalId)
      if (isFailure(proposal)) return proposal
      const charge = (units: number) => context.charge(BigInt(units) * TALLY_UNIT_GAS)
      if (proposal.status === VOTING_PERIOD) {
        for (const _ of lastPowers(context.world.native)) if (!charge(1)) return OUT_OF_GAS
      }
      const result = runningTally(moduleContext(context), proposalId, charge)
      return result === undefined ? OUT_OF_GAS : { tallyResult: tallyTuple(result) }
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
        entryGas: proposalGas,
        matches: (stored) => {
          const { id, status } = Proposal.decode(stored)
          if (hasStatus && BigInt(status) !== proposalStatus) return false
          if (isSomebody(voter) && getVote(native, id, voter) === undefined) return false
          return !isSomebody(depositor) || getDeposit(native, id, depositor) !== undefined
        },
        itemGas: PROPOSAL_ITEM_GAS,
        toTuple: (stored) => proposalTuple(Proposal.decode(stored)),
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

/** Reads a proposal that must exist; takes gas for its size first. */
function readProposal({ world, charge }: FunctionContext, id: bigint): Proposal | FunctionFailure {
  if (id === 0n) return NO_PROPOSAL_ID
  const stored = world.native.get(proposalKey(id))
  if (stored === undefined) return queryError('NotFound', `proposal ${id} doesn't exist`)
  return charge(proposalGas(stored)) ? Proposal.decode(stored) : OUT_OF_GAS
}

/** Gas of a stored proposal: to decode it at most twice, and for the two look-ups that a filter may need. */
function proposalGas(stored: Uint8Array): bigint {
  return 2n * READ_GAS + BigInt(Math.ceil(stored.length / 32)) * PROPOSAL_WORD_GAS
}

/** The address 0 stands for none. */
function isSomebody(account: Address): boolean {
  return account.some((byte) => byte !== 0)
}
