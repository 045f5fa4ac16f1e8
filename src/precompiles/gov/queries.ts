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
import { addressesKey } from '../../modules/storeKey.ts'
import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { AbiValue } from '../abi/type.ts'
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
import { addressInKey, isAddressesKey, PageRequest, PageResponse, readPage } from '../page.ts'
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
/** A validator, a vote, or a delegation of a voter, in a tally that goes on. */
const TALLY_UNIT_GAS = 1_000n
/** Reading a stored proposal, which may hold long messages: for each 32 bytes. */
const PROPOSAL_WORD_GAS = 10n
const ID_BYTES = 8
/** Ids begin at 1; in a request 0 is an id that was left out. */
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
      const { native } = context.world
      const walk = (options: Walk) => votesOf(native, proposalId, options)
      const page = readAccountPage(context, pagination, walk, ({ voter }) => voter)
      if (isFailure(page)) return page
      return { votes: page.items.map(voteTuple), pageResponse: page.pageResponse }
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
      const { native } = context.world
      const walk = (options: Walk) => depositsOf(native, proposalId, options)
      const page = readAccountPage(context, pagination, walk, ({ depositor }) => depositor)
      if (isFailure(page)) return page
      return { deposits: page.items.map(depositTuple), pageResponse: page.pageResponse }
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
      // as in the SDK, a status that there is none of narrows nothing
      const hasStatus = proposalStatus >= BigInt(DEPOSIT_PERIOD) && proposalStatus <= BigInt(FAILED)
      const page = readPage<Uint8Array>(context, pagination, {
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
      })
      if (isFailure(page)) return page
      return {
        proposals: page.items.map((stored) => proposalTuple(Proposal.decode(stored))),
        pageResponse: page.pageResponse,
      }
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

interface Walk {
  readonly start?: Address
  readonly reverse: boolean
}

/** A page of small items that are in order of accounts, one of each. */
function readAccountPage<T>(
  context: FunctionContext,
  request: AbiValue<typeof PageRequest>,
  walk: (options: Walk) => Iterable<T>,
  accountOf: (item: T) => string,
): ReturnType<typeof readPage<T>> {
  return readPage<T>(context, request, {
    *walk(start, reverse) {
      const options = { ...(start && { start: addressInKey(start, 0) }), reverse }
      for (const item of walk(options)) yield [addressesKey(EMPTY_BYTES, parseAddress(accountOf(item))), item]
    },
    isKey: (key) => isAddressesKey(key, 1),
    itemGas: SMALL_ITEM_GAS,
  })
}

/** A proposal that there is, after the gas for its size. */
function readProposal({ world, charge }: FunctionContext, id: bigint): Proposal | FunctionFailure {
  if (id === 0n) return NO_PROPOSAL_ID
  const stored = world.native.get(proposalKey(id))
  if (stored === undefined) return queryError('NotFound', `proposal ${id} doesn't exist`)
  return charge(proposalGas(stored)) ? Proposal.decode(stored) : OUT_OF_GAS
}

/** Of a stored proposal, decoded twice at most, and of the two look-ups that a filter may need. */
function proposalGas(stored: Uint8Array): bigint {
  return 2n * READ_GAS + BigInt(Math.ceil(stored.length / 32)) * PROPOSAL_WORD_GAS
}

/** The address 0 stands for none. */
function isSomebody(account: Address): boolean {
  return account.some((byte) => byte !== 0)
}
