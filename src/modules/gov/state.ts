import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { bigIntToBytes, bigIntToMinimalBytes, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import {
  any,
  bytes,
  decimal,
  defineMessage,
  embedded,
  integer,
  message,
  repeated,
  string,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { BASE_DENOM, type Coin } from '../coin.ts'
import type { ModuleContext, ReadContext } from '../context.ts'
import { GOV_DEPOSITS } from '../moduleAccounts.ts'
import { addressEntries, addressesKey, addressesOf, moduleStoreKey } from '../storeKey.ts'
import { GOV_PARAMS, validateGovParams } from './params.ts'
import { DEPOSIT_PERIOD, Deposit, Params, Proposal, VOTING_PERIOD, Vote, WeightedVoteOption } from './types.ts'

/**
 * The entries of the gov module: proposals, their deposits and votes, the queues of their ends, the tally that is under way. Keys have
 * the prefixes of x/gov/types/keys.go, and 0x05 to 0x08 are this chain's own. Times in keys are milliseconds, 8 bytes.
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
/** Which proposal is being tallied, and how far. */
const RUNNING_TALLY_KEY = key(0x05)
/** The counts of the running tally. */
const TALLY_KEY = key(0x06)
/** Shares at the start of the running tally, for delegations that changed since: id | voter | operator. */
const COPIED_SHARES_PREFIX = key(0x07)
const DEPOSITS_PREFIX = key(0x10)
const CONSTITUTION_KEY = key(0x31)

export const proposalKey = (id: bigint): Uint8Array => key(0x00, idBytes(id))
export const activeQueueKey = (endMs: number, id: bigint): Uint8Array => key(0x01, timeBytes(endMs), idBytes(id))
export const inactiveQueueKey = (endMs: number, id: bigint): Uint8Array => key(0x02, timeBytes(endMs), idBytes(id))
/** A proposal's texts and messages: large, so they are apart from the record that deposits, votes and tallies read and write. */
const contentKey = (id: bigint): Uint8Array => key(0x08, idBytes(id))
const depositsKey = (id: bigint): Uint8Array => key(0x10, idBytes(id))
const depositKey = (id: bigint, depositor: Address): Uint8Array => addressesKey(depositsKey(id), depositor)
const votesKey = (id: bigint): Uint8Array => key(0x20, idBytes(id))
const voteKey = (id: bigint, voter: Address): Uint8Array => addressesKey(votesKey(id), voter)

/** A proposal's texts and messages, which never change. */
const ProposalContent = defineMessage('coind.gov.ProposalContent', {
  messages: repeated(any(1)),
  metadata: string(2),
  title: string(3),
  summary: string(4),
})
type ProposalContent = ValueOf<typeof ProposalContent>

/** Where a proposal stands: some 300 bytes, whatever it says. */
export type ProposalRecord = Omit<Proposal, keyof ProposalContent>

const NO_CONTENT = ProposalContent.create()

/**
 * Gas of a content's byte, besides the read: it is decoded, and a view encodes it once more. Messages are 83 bytes at least, with
 * type and authority, which take 3 µs.
 */
const CONTENT_BYTE_GAS = 3

/**
 * Returns where a proposal stands; undefined when there never was one with this id, it was
 * cancelled, or it expired in deposit.
 */
export function getProposalRecord(native: Pick<NativeStore, 'get'>, id: bigint): ProposalRecord | undefined {
  const value = id >= 0n && id < 2n ** 64n ? native.get(proposalKey(id)) : undefined
  return value && readProposalRecord(value)
}

/** @param value of an entry under {@link PROPOSALS_PREFIX} */
export function readProposalRecord(value: Uint8Array): ProposalRecord {
  const {
    messages: _messages,
    metadata: _metadata,
    title: _title,
    summary: _summary,
    ...record
  } = Proposal.decode(value)
  return record
}

/** Returns a proposal: its record with its content. */
export function withContent(native: Pick<NativeStore, 'get' | 'work'>, record: ProposalRecord): Proposal {
  const value = native.get(contentKey(record.id))
  if (value === undefined) throw new Error(`proposal ${record.id} has no content`)
  native.work.add(value.length * CONTENT_BYTE_GAS)
  return { ...record, ...ProposalContent.decode(value) }
}

/** Returns the whole proposal with this id. */
export function getProposal(native: Pick<NativeStore, 'get' | 'work'>, id: bigint): Proposal | undefined {
  const record = getProposalRecord(native, id)
  return record && withContent(native, record)
}

/** Stores a new proposal. */
export function addProposal(native: Pick<NativeStore, 'set'>, proposal: Proposal): void {
  native.set(contentKey(proposal.id), ProposalContent.encode(proposal))
  putProposalRecord(native, proposal)
}

export function putProposalRecord(native: Pick<NativeStore, 'set'>, record: ProposalRecord): void {
  native.set(proposalKey(record.id), Proposal.encode({ ...record, ...NO_CONTENT }))
}

export function deleteProposal(native: Pick<NativeStore, 'delete'>, id: bigint): void {
  native.delete(proposalKey(id))
  native.delete(contentKey(id))
}

/** Returns the id that the next proposal gets. */
export function nextProposalId(native: Pick<NativeStore, 'get'>): bigint {
  const value = native.get(NEXT_PROPOSAL_ID_KEY)
  if (value === undefined) throw new Error('the gov module has no next proposal id')
  return bytesToBigInt(value)
}

export function setNextProposalId(native: Pick<NativeStore, 'set'>, id: bigint): void {
  native.set(NEXT_PROPOSAL_ID_KEY, bigIntToBytes(id, 8))
}

/** Returns a time of a stored proposal in milliseconds. */
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

/** Returns the acoin of a stored deposit. */
export function totalOf(coins: readonly Coin[]): bigint {
  return coins.reduce((sum, { amount }) => sum + amount, 0n)
}

export function getVote(native: Pick<NativeStore, 'get'>, id: bigint, voter: Address): Vote | undefined {
  const value = native.get(voteKey(id, voter))
  return value && Vote.decode(value)
}

export function hasVote(native: Pick<NativeStore, 'get'>, id: bigint, voter: Address): boolean {
  return native.get(voteKey(id, voter)) !== undefined
}

export function putVote(native: Pick<NativeStore, 'set'>, vote: Vote): void {
  native.set(voteKey(vote.proposalId, parseAddress(vote.voter)), Vote.encode(vote))
}

export function deleteVote(native: Pick<NativeStore, 'delete'>, id: bigint, voter: Address): void {
  native.delete(voteKey(id, voter))
}

/**
 * Yields the votes on a proposal in order of voters; they are there until they are counted.
 * `start`: the first voter.
 */
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
 * The counts of a tally. Voting powers are those of the block in which it began: validators are
 * copied here, and the shares of a delegation are copied if it changes before it is counted, see
 * `beforeStakeChanges`.
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

/**
 * How far a tally is. Voters are counted in order, and a vote is removed once it is counted. `voter` and `operator`: the delegation
 * with which it continues; no bytes when it continues with a new voter.
 */
const TallyPosition = defineMessage('coind.gov.TallyPosition', {
  proposalId: uint64(1),
  voter: bytes(2),
  operator: bytes(3),
})
export type TallyPosition = ValueOf<typeof TallyPosition>

/**
 * Returns the tally that is under way over several blocks. There is one at most: other proposals
 * whose voting is over wait. A small entry, since each change of a delegation reads it.
 */
export function runningTally(native: Pick<NativeStore, 'get'>): TallyPosition | undefined {
  const value = native.get(RUNNING_TALLY_KEY)
  return value && TallyPosition.decode(value)
}

/** Returns the counts of the running tally. @throws Error (a bug) when no tally is running */
export function countedSoFar(native: Pick<NativeStore, 'get'>): Tally {
  const value = native.get(TALLY_KEY)
  if (value === undefined) throw new Error('the running tally has no counts')
  return Tally.decode(value)
}

export function putRunningTally(native: Pick<NativeStore, 'set'>, position: TallyPosition, tally: Tally): void {
  native.set(RUNNING_TALLY_KEY, TallyPosition.encode(position))
  native.set(TALLY_KEY, Tally.encode(tally))
}

export function deleteRunningTally(native: Pick<NativeStore, 'delete'>): void {
  native.delete(RUNNING_TALLY_KEY)
  native.delete(TALLY_KEY)
}

/** Shares that a voter had at a validator when the running tally began; 0 for a delegation that did not exist. */
export interface CopiedShares {
  readonly voter: Address
  readonly operator: Address
  readonly shares: Decimal
}

/** By proposal: those of a tally that was left alone are removed in later blocks, see `abandonTally`. */
const copiedSharesOf = (id: bigint): Uint8Array => concatBytes(COPIED_SHARES_PREFIX, idBytes(id))
const copiedSharesKey = (id: bigint, voter: Address, operator: Address): Uint8Array =>
  addressesKey(copiedSharesOf(id), voter, operator)

export function hasCopiedShares(
  native: Pick<NativeStore, 'get'>,
  id: bigint,
  voter: Address,
  operator: Address,
): boolean {
  return native.get(copiedSharesKey(id, voter, operator)) !== undefined
}

export function putCopiedShares(
  native: Pick<NativeStore, 'set'>,
  id: bigint,
  { voter, operator, shares }: CopiedShares,
): void {
  native.set(copiedSharesKey(id, voter, operator), shares === 0n ? Uint8Array.of(0) : bigIntToMinimalBytes(shares))
}

export function deleteCopiedShares(
  native: Pick<NativeStore, 'delete'>,
  id: bigint,
  { voter, operator }: Pick<CopiedShares, 'voter' | 'operator'>,
): void {
  native.delete(copiedSharesKey(id, voter, operator))
}

/** Yields the copied shares of a proposal's tally, in order of voters and then operators. */
export function* copiedShares(native: Pick<NativeStore, 'range'>, id: bigint): IterableIterator<CopiedShares> {
  for (const [[voter, operator], value] of addressEntries(native, copiedSharesOf(id))) {
    yield { voter: voter!, operator: operator!, shares: bytesToBigInt(value) }
  }
}

/** The largest id of a chain's first proposal: ids, which are 64 bits, never run out. */
const MAX_FIRST_ID = 2n ** 63n - 1n

/**
 * Writes the module's part of block 0.
 * @throws Error when the genesis has invalid parameters or an invalid first id
 */
export function initGov(
  { world: { native } }: ModuleContext,
  section: Pick<Genesis['app_state']['gov'], 'starting_proposal_id' | 'params' | 'constitution'>,
): void {
  const params = Params.fromJson(section.params, { typeOf: () => undefined }, 'app_state.gov.params')
  const problem = validateGovParams(params)
  if (problem !== undefined) throw new Error(`app_state.gov.params: ${problem.message}`)
  GOV_PARAMS.set(native, params)
  const firstId = BigInt(section.starting_proposal_id)
  if (firstId < 1n || firstId > MAX_FIRST_ID) {
    throw new Error(`app_state.gov.starting_proposal_id: ${firstId} is not between 1 and ${MAX_FIRST_ID}`)
  }
  setNextProposalId(native, firstId)
  if (section.constitution !== '') native.set(CONSTITUTION_KEY, new TextEncoder().encode(section.constitution))
}

/** Returns the constitution of the chain from the genesis; '' without one. */
export function getConstitution(native: Pick<NativeStore, 'get'>): string {
  return new TextDecoder().decode(native.get(CONSTITUTION_KEY))
}

/**
 * Checks governance's invariants in a state (ModuleAccountInvariant of x/gov/keeper/invariants.go):
 * - The account of deposits has at least the coins of all deposits (contracts that destroy
 *   themselves may have sent it more).
 * - An open proposal's total is the sum of its deposits.
 * - Copied shares belong only to voters that the running tally has not counted, or to a skipped
 *   tally that is being removed.
 *
 * For tests and `coind debug invariants`: it reads every deposit.
 * @returns the violated invariants
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
  const balance = world.getBalance(GOV_DEPOSITS)
  if (balance < sum) yield `gov: the account of deposits holds ${balance}${BASE_DENOM} of ${sum}`
  for (const [, value] of world.native.range(PROPOSALS_PREFIX)) {
    const { id, status, totalDeposit } = readProposalRecord(value)
    if (status !== DEPOSIT_PERIOD && status !== VOTING_PERIOD) continue
    const total = totalOf(totalDeposit)
    const deposited = byProposal.get(id) ?? 0n
    if (total !== deposited) yield `gov: proposal ${id} has deposits of ${deposited}, but says ${total}`
  }
  const running = runningTally(world.native)
  for (const [key] of world.native.range(COPIED_SHARES_PREFIX)) {
    const id = bytesToBigInt(key.subarray(COPIED_SHARES_PREFIX.length, COPIED_SHARES_PREFIX.length + 8))
    const [voter, operator] = addressesOf(key, copiedSharesOf(id))
    if (running?.proposalId === id && hasVote(world.native, id, voter!)) continue
    // Waits to be removed.
    if (world.native.get(inactiveQueueKey(0, id)) !== undefined) continue
    yield `gov: shares of ${toBech32(voter!)} at ${toBech32(operator!)} are copied for no tally`
  }
}
