import type { Genesis } from '../../chain/genesisSchema.ts'
import { type Address, parseAddress } from '../../primitives/address.ts'
import { bigIntToBytes, bigIntToMinimalBytes, bytesToBigInt } from '../../primitives/bytes.ts'
import {
  bytes,
  decimal,
  defineMessage,
  embedded,
  integer,
  message,
  repeated,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { BASE_DENOM, type Coin } from '../coin.ts'
import type { ModuleContext, ReadContext } from '../context.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
import { addressesKey, moduleStoreKey } from '../storeKey.ts'
import { GOV_PARAMS, validateGovParams } from './params.ts'
import { DEPOSIT_PERIOD, Deposit, Params, Proposal, VOTING_PERIOD, Vote, WeightedVoteOption } from './types.ts'

/**
 * The entries of the gov module: proposals, their deposits and votes, the queues of their ends, tallies. Keys have the
 * prefixes of x/gov/types/keys.go; times in keys are milliseconds, 8 bytes.
 */

const key = (prefix: number, ...parts: Uint8Array[]): Uint8Array =>
  moduleStoreKey('gov', Uint8Array.of(prefix), ...parts)
const idBytes = (id: bigint): Uint8Array => bigIntToBytes(id, 8)
const timeBytes = (timeMs: number): Uint8Array => bigIntToBytes(BigInt(timeMs), 8)

export const PROPOSALS_PREFIX = key(0x00)
/** Proposals that are voted on, by the end of voting: time | id. */
export const ACTIVE_QUEUE_PREFIX = key(0x01)
/** Ends of deposit periods, and (at time 0) proposals that ended but have deposits or votes left: time | id. */
export const INACTIVE_QUEUE_PREFIX = key(0x02)
const NEXT_PROPOSAL_ID_KEY = key(0x03)
/** Tallies that go on over several blocks: id. */
const TALLIES_PREFIX = key(0x05)
/** Sum of all deposits. */
const TOTAL_DEPOSITS_KEY = key(0x06)
const DEPOSITS_PREFIX = key(0x10)
const CONSTITUTION_KEY = key(0x31)

export const proposalKey = (id: bigint): Uint8Array => key(0x00, idBytes(id))
export const activeQueueKey = (endMs: number, id: bigint): Uint8Array => key(0x01, timeBytes(endMs), idBytes(id))
export const inactiveQueueKey = (endMs: number, id: bigint): Uint8Array => key(0x02, timeBytes(endMs), idBytes(id))
const tallyKey = (id: bigint): Uint8Array => key(0x05, idBytes(id))
const depositsKey = (id: bigint): Uint8Array => key(0x10, idBytes(id))
const depositKey = (id: bigint, depositor: Address): Uint8Array => addressesKey(depositsKey(id), depositor)
const votesKey = (id: bigint): Uint8Array => key(0x20, idBytes(id))
const voteKey = (id: bigint, voter: Address): Uint8Array => addressesKey(votesKey(id), voter)

/** The proposal with this id; undefined when there never was one, it was cancelled, or it expired in deposit. */
export function getProposal(native: Pick<NativeStore, 'get'>, id: bigint): Proposal | undefined {
  const value = id >= 0n && id < 2n ** 64n ? native.get(proposalKey(id)) : undefined
  return value && Proposal.decode(value)
}

export function putProposal(native: Pick<NativeStore, 'set'>, proposal: Proposal): void {
  native.set(proposalKey(proposal.id), Proposal.encode(proposal))
}

export function deleteProposal(native: Pick<NativeStore, 'delete'>, id: bigint): void {
  native.delete(proposalKey(id))
}

/** The id that the next proposal gets. */
export function nextProposalId(native: Pick<NativeStore, 'get'>): bigint {
  const value = native.get(NEXT_PROPOSAL_ID_KEY)
  if (value === undefined) throw new Error('the gov module has no next proposal id')
  return bytesToBigInt(value)
}

export function setNextProposalId(native: Pick<NativeStore, 'set'>, id: bigint): void {
  native.set(NEXT_PROPOSAL_ID_KEY, bigIntToBytes(id, 8))
}

/** A time of a stored proposal in milliseconds. */
export function proposalTimeMs(nanos: bigint | undefined): number {
  if (nanos === undefined) throw new Error('a time of a proposal is missing')
  return Number(nanos / 1_000_000n)
}

export function nanosOf(timeMs: number): bigint {
  return BigInt(timeMs) * 1_000_000n
}

export function getDeposit(native: Pick<NativeStore, 'get'>, id: bigint, depositor: Address): Deposit | undefined {
  const value = native.get(depositKey(id, depositor))
  return value && Deposit.decode(value)
}

export function putDeposit(native: Pick<NativeStore, 'set'>, deposited: Deposit): void {
  const key = depositKey(deposited.proposalId, parseAddress(deposited.depositor))
  native.set(key, Deposit.encode(deposited))
}

export function deleteDeposit(native: Pick<NativeStore, 'delete'>, id: bigint, depositor: Address): void {
  native.delete(depositKey(id, depositor))
}

/** Deposits of a proposal in order of depositors; `start`: the first of them. */
export function* depositsOf(
  native: Pick<NativeStore, 'range'>,
  id: bigint,
  options: { readonly start?: Address; readonly reverse?: boolean } = {},
): IterableIterator<Deposit> {
  const { start, reverse = false } = options
  const range = { reverse, ...(start && { start: depositKey(id, start) }) }
  for (const [, value] of native.range(depositsKey(id), range)) yield Deposit.decode(value)
}

/**
 * Sum of all deposits, acoin: the governance account never holds less (see `executeProposal`). It is an entry of its own,
 * so that reading it costs one look-up.
 */
export function totalDeposits(native: Pick<NativeStore, 'get'>): bigint {
  const value = native.get(TOTAL_DEPOSITS_KEY)
  return value === undefined ? 0n : bytesToBigInt(value)
}

export function changeTotalDeposits(native: Pick<NativeStore, 'get' | 'set' | 'delete'>, change: bigint): void {
  const total = totalDeposits(native) + change
  if (total < 0n) throw new Error('more deposits were given back than there were')
  if (total === 0n) native.delete(TOTAL_DEPOSITS_KEY)
  else native.set(TOTAL_DEPOSITS_KEY, bigIntToMinimalBytes(total))
}

/** Acoin of a stored deposit. */
export function totalOf(coins: readonly Coin[]): bigint {
  return coins.reduce((sum, { amount }) => sum + amount, 0n)
}

export function getVote(native: Pick<NativeStore, 'get'>, id: bigint, voter: Address): Vote | undefined {
  const value = native.get(voteKey(id, voter))
  return value && Vote.decode(value)
}

export function putVote(native: Pick<NativeStore, 'set'>, vote: Vote): void {
  native.set(voteKey(vote.proposalId, parseAddress(vote.voter)), Vote.encode(vote))
}

export function deleteVote(native: Pick<NativeStore, 'delete'>, id: bigint, voter: Address): void {
  native.delete(voteKey(id, voter))
}

/** Votes on a proposal in order of voters; they are there until they are counted. `start`: the first voter. */
export function* votesOf(
  native: Pick<NativeStore, 'range'>,
  id: bigint,
  options: { readonly start?: Address; readonly reverse?: boolean } = {},
): IterableIterator<Vote> {
  const { start, reverse = false } = options
  const range = { reverse, ...(start && { start: voteKey(id, start) }) }
  for (const [, value] of native.range(votesKey(id), range)) yield Vote.decode(value)
}

/** A bonded validator as it was when the tally began. */
const TallyValidator = defineMessage('coind.gov.TallyValidator', {
  operator: bytes(1),
  tokens: integer(2),
  delegatorShares: decimal(3),
  /** shares of delegators who voted themselves */
  deductions: decimal(4),
  /** the operator's own vote; empty while it is not counted */
  vote: repeated(message(5, WeightedVoteOption)),
})

/**
 * A tally that has not counted all votes yet. Voting powers are those of the block in which it began: validators are
 * copied here, and the vote of a delegator is counted before one of its delegations changes (see `beforeStakeChanges`).
 */
export const Tally = defineMessage('coind.gov.Tally', {
  validators: repeated(embedded(1, TallyValidator)),
  yes: decimal(2),
  abstain: decimal(3),
  no: decimal(4),
  noWithVeto: decimal(5),
  /** of all that was counted */
  totalPower: decimal(6),
  /** acoin that was bonded, also at bonded validators that are not in `validators` */
  bondedTokens: integer(7),
})
export type Tally = ValueOf<typeof Tally>
export type TallyValidator = ValueOf<typeof TallyValidator>

/** The tally of a proposal while it goes on over several blocks; undefined before voting ended. */
export function getTally(native: Pick<NativeStore, 'get'>, id: bigint): Tally | undefined {
  const value = native.get(tallyKey(id))
  return value && Tally.decode(value)
}

export function putTally(native: Pick<NativeStore, 'set'>, id: bigint, tally: Tally): void {
  native.set(tallyKey(id), Tally.encode(tally))
}

/** All tallies that go on over several blocks. */
export function tallies(native: Pick<NativeStore, 'range'>): readonly { readonly id: bigint; readonly tally: Tally }[] {
  return [...native.range(TALLIES_PREFIX)].map(([key, value]) => ({
    id: bytesToBigInt(key.subarray(TALLIES_PREFIX.length)),
    tally: Tally.decode(value),
  }))
}

export function deleteTally(native: Pick<NativeStore, 'delete'>, id: bigint): void {
  native.delete(tallyKey(id))
}

/**
 * Writes the module's part of block 0.
 * @throws Error when the genesis has invalid parameters
 */
export function initGov(
  { world: { native } }: ModuleContext,
  section: Pick<Genesis['app_state']['gov'], 'starting_proposal_id' | 'params' | 'constitution'>,
): void {
  const params = Params.fromJson(section.params, { typeOf: () => undefined }, 'app_state.gov.params')
  const problem = validateGovParams(params)
  if (problem !== undefined) throw new Error(`app_state.gov.params: ${problem.message}`)
  GOV_PARAMS.set(native, params)
  setNextProposalId(native, BigInt(section.starting_proposal_id))
  if (section.constitution !== '') native.set(CONSTITUTION_KEY, new TextEncoder().encode(section.constitution))
}

/** The text that the genesis gave the chain; '' when none. */
export function getConstitution(native: Pick<NativeStore, 'get'>): string {
  return new TextDecoder().decode(native.get(CONSTITUTION_KEY))
}

/**
 * What must hold of governance in every state (ModuleAccountInvariant of x/gov/keeper/invariants.go): its account has at
 * least the coins of all deposits (others may have sent it more), the stored sum of deposits is right, and an open
 * proposal's total is the sum of its deposits. For tests and `coind debug invariants`: it reads every deposit.
 * @returns what does not hold
 */
export function* govInvariants({ world }: Pick<ReadContext, 'world'>): IterableIterator<string> {
  const byProposal = new Map<bigint, bigint>()
  let sum = 0n
  for (const [, value] of world.native.range(DEPOSITS_PREFIX)) {
    const { proposalId, depositor, amount } = Deposit.decode(value)
    const acoin = totalOf(amount)
    if (acoin < 0n) yield `gov: the deposit of ${depositor} on proposal ${proposalId} is negative`
    byProposal.set(proposalId, (byProposal.get(proposalId) ?? 0n) + acoin)
    sum += acoin
  }
  const stored = totalDeposits(world.native)
  if (stored !== sum) yield `gov: deposits are ${sum}${BASE_DENOM}, but ${stored} are counted`
  const balance = world.getBalance(GOVERNANCE)
  if (balance < sum) yield `gov: the account holds ${balance}${BASE_DENOM} of ${sum} that are deposits`
  for (const [, value] of world.native.range(PROPOSALS_PREFIX)) {
    const { id, status, totalDeposit } = Proposal.decode(value)
    if (status !== DEPOSIT_PERIOD && status !== VOTING_PERIOD) continue
    const total = totalOf(totalDeposit)
    const deposited = byProposal.get(id) ?? 0n
    if (total !== deposited) yield `gov: proposal ${id} has deposits of ${deposited}, but says ${total}`
  }
}
