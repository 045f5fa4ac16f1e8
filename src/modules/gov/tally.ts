import { type Address, parseAddress } from '../../primitives/address.ts'
import { bytesKey, compareBytes, EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, divide, multiply, parseDecimal, truncate } from '../../primitives/decimal.ts'
import { WORK_GAS } from '../../state/workMeter.ts'
import type { NativeStore } from '../../state/world.ts'
import { type Budget, isSpent } from '../budget.ts'
import type { ModuleContext, ReadContext } from '../context.ts'
import { delegationsOf, getDelegation } from '../staking/delegations.ts'
import { getValidator, lastPowers } from '../staking/validators.ts'
import { ratio } from './params.ts'
import {
  type CopiedShares,
  copiedShares,
  countedSoFar,
  deleteCopiedShares,
  deleteVote,
  getProposalRecord,
  hasCopiedShares,
  hasVote,
  type ProposalRecord,
  proposalTimeMs,
  putCopiedShares,
  runningTally,
  type Tally,
  type TallyPosition,
  type TallyValidator,
  votesOf,
} from './state.ts'
import { type Params, type TallyResult, VOTE_OPTIONS, VOTING_PERIOD, type WeightedVoteOption } from './types.ts'

/*
 * Tallies. A tally takes as many blocks as its votes and delegations need, and counts them as of
 * the block in which it began. One tally runs at a time, so that a change of a delegation has to
 * copy old shares for one tally at most. Neither votes nor deposits of other proposals whose voting
 * is over change while they wait; their tallies count the stake of the block in which they begin.
 */

/** Gas of work outside the native store: to decode a vote and its voter's address. */
const VOTE_GAS = 1_000
/** A delegation's power, and its part for each option. */
const DELEGATION_GAS = 150
/** A validator's record in a tally, which is decoded and encoded in each block. */
const VALIDATOR_GAS = 500

export interface TallyOutcome {
  readonly passes: boolean
  readonly burnsDeposits: boolean
  readonly result: TallyResult
}

/** A tally between two steps. */
export interface TallyState {
  readonly position: TallyPosition
  readonly tally: Tally
}

/** A tally in the form in which votes are added to it. */
interface Counting {
  readonly bondedTokens: bigint
  readonly validators: Map<string, TallyValidator>
  readonly byOption: Map<number, Decimal>
  totalPower: Decimal
}

/** Whether a proposal takes votes and deposits in a block of this time: its voting has begun and is not over. */
export function isVotedOn(native: Pick<NativeStore, 'get'>, proposal: ProposalRecord, timeMs: number): boolean {
  if (proposal.status !== VOTING_PERIOD || proposalTimeMs(proposal.votingEndTime) < timeMs) return false
  return runningTally(native)?.proposalId !== proposal.id
}

/** Returns the state of a proposal's tally: where it is if it runs, else without votes. */
export function tallyOf(native: Pick<NativeStore, 'get' | 'range' | 'work'>, id: bigint): TallyState {
  const position = runningTally(native)
  if (position?.proposalId !== id) return beginTally(native, id)
  const tally = countedSoFar(native)
  native.work.add(tally.validators.length * VALIDATOR_GAS)
  return { position, tally }
}

/**
 * Returns a tally without votes, over the validators that are bonded now
 * (IterateBondedValidatorsByPower).
 */
function beginTally(native: Pick<NativeStore, 'get' | 'range' | 'work'>, proposalId: bigint): TallyState {
  const counted: TallyValidator[] = []
  let bondedTokens = 0n
  // Bonded validators are those with a power. There may be many more validators, which this does not read.
  for (const { operator } of lastPowers(native)) {
    native.work.add(VALIDATOR_GAS)
    const validator = getValidator(native, operator)
    if (validator === undefined) continue
    const { jailed, tokens, delegatorShares } = validator
    bondedTokens += tokens
    // A validator jailed in this block stays bonded until its end, but has left the SDK's index of powers.
    if (jailed || delegatorShares === 0n) continue
    counted.push({ operator, tokens, delegatorShares, deductions: 0n, vote: [] })
  }
  return {
    position: { proposalId, voter: EMPTY_BYTES, operator: EMPTY_BYTES },
    tally: { validators: counted, yes: 0n, abstain: 0n, no: 0n, noWithVeto: 0n, totalPower: 0n, bondedTokens },
  }
}

/**
 * Counts votes and removes them, until there are no more or the budget is spent (the walk over votes of Tally, x/gov/keeper/tally.go).
 * It counts at least one delegation or voter, so that each tally ends.
 */
export function countVotes(
  native: NativeStore,
  { position, tally }: TallyState,
  budget: Budget,
): TallyState & { readonly isComplete: boolean } {
  const counting = toCounting(tally)
  const { voters, used, next } = walkVotes(native, position, counting, budget)
  for (const voter of voters) deleteVote(native, position.proposalId, voter)
  for (const copy of used) deleteCopiedShares(native, position.proposalId, copy)
  return { tally: toTally(counting), position: next ?? position, isComplete: next === undefined }
}

/**
 * To be called before a delegation of `delegator` changes: while a tally runs that has not counted it, its shares are copied as they were
 * when the tally began. That takes a fixed number of look-ups, whatever else the delegator has.
 */
export function beforeStakeChanges({ world: { native } }: ModuleContext, delegator: Address, operator: Address): void {
  const position = runningTally(native)
  if (position === undefined || !hasVote(native, position.proposalId, delegator)) return
  const isCounted = equalBytes(delegator, position.voter) && compareBytes(operator, position.operator) < 0
  if (isCounted || hasCopiedShares(native, position.proposalId, delegator, operator)) return
  const shares = getDelegation(native, delegator, operator)?.shares ?? 0n
  putCopiedShares(native, position.proposalId, { voter: delegator, operator, shares })
}

/**
 * Returns the outcome of a complete tally (the rest of Tally): validators' votes count for
 * delegators who did not vote.
 */
export function tallyOutcome(counted: Tally, params: Params, isExpedited: boolean): TallyOutcome {
  const tally = withValidators(counted)
  const { yes, abstain, noWithVeto, totalPower, bondedTokens } = tally
  const result = resultOf(tally)
  const rejected = (burnsDeposits: boolean): TallyOutcome => ({ passes: false, burnsDeposits, result })
  if (bondedTokens === 0n) return rejected(false)
  if (divide(totalPower, decimalOf(bondedTokens)) < ratio(params.quorum)) return rejected(params.burnVoteQuorum)
  if (totalPower === abstain) return rejected(false)
  if (divide(noWithVeto, totalPower) > ratio(params.vetoThreshold)) return rejected(params.burnVoteVeto)
  const threshold = ratio(isExpedited ? params.expeditedThreshold : params.threshold)
  if (divide(yes, totalPower - abstain) > threshold) return { passes: true, burnsDeposits: false, result }
  return rejected(false)
}

const NO_VOTES: TallyResult = { yesCount: '0', abstainCount: '0', noCount: '0', noWithVetoCount: '0' }

/**
 * Returns the current result of a proposal's vote (TallyResult of x/gov/keeper/grpc_query.go):
 * zeros before the voting period, a count as of now during it, and the final result afterwards.
 * Changes nothing. Its work is counted as it is done, and has no other bound.
 * @returns undefined when there is no such proposal
 */
export function currentTally({ world: { native } }: ReadContext, id: bigint): TallyResult | undefined {
  const proposal = getProposalRecord(native, id)
  if (proposal === undefined) return undefined
  if (proposal.status !== VOTING_PERIOD) return proposal.finalTallyResult ?? NO_VOTES
  const { position, tally } = tallyOf(native, id)
  const counting = toCounting(tally)
  walkVotes(native, position, counting)
  return resultOf(withValidators(toTally(counting)))
}

/** The result of a walk over votes. */
interface WalkedVotes {
  /** who is counted completely */
  readonly voters: readonly Address[]
  /** copies that were counted */
  readonly used: readonly CopiedShares[]
  /** where the walk stopped; undefined after the last vote */
  readonly next: TallyPosition | undefined
}

/**
 * Adds votes to a tally from a position on, without a change of the state.
 * @param budget the walk stops when it is spent, including the deletes still to do; without it
 * there is no bound
 */
function walkVotes(
  native: Pick<NativeStore, 'get' | 'range' | 'work'>,
  position: TallyPosition,
  counting: Counting,
  budget?: Budget,
): WalkedVotes {
  const { proposalId } = position
  const voters: Address[] = []
  const used: CopiedShares[] = []
  const copies =
    runningTally(native)?.proposalId === proposalId ? peekable(copiedShares(native, proposalId)) : undefined
  let steps = 0
  const mustStop = (): boolean => {
    if (budget === undefined || steps++ === 0) return false
    return isSpent(native, budget, (voters.length + used.length) * WORK_GAS.write)
  }
  for (const { voter: voterText, options } of votesOf(native, proposalId)) {
    native.work.add(VOTE_GAS)
    const voter = parseAddress(voterText)
    const isResumed = equalBytes(voter, position.voter)
    if (!isResumed && mustStop())
      return { voters, used, next: { proposalId, voter: EMPTY_BYTES, operator: EMPTY_BYTES } }
    const own = counting.validators.get(bytesKey(voter))
    if (own !== undefined) counting.validators.set(bytesKey(voter), { ...own, vote: options })
    for (const stake of sharesAtBegin(native, voter, isResumed ? position.operator : undefined, copies)) {
      native.work.add(DELEGATION_GAS)
      if (mustStop()) return { voters, used, next: { proposalId, voter, operator: stake.operator } }
      if (stake.isCopy) used.push(stake)
      addDelegation(counting, options, stake)
    }
    voters.push(voter)
  }
  return { voters, used, next: undefined }
}

/**
 * Yields a voter's delegations as they were when the tally began, in order of operators: the copies
 * of those that changed since, and the others.
 * @param start the first operator
 * @param copies those of the tally, from this voter on; undefined for a tally that begins now
 */
function* sharesAtBegin(
  native: Pick<NativeStore, 'range'>,
  voter: Address,
  start: Address | undefined,
  copies: Peekable<CopiedShares> | undefined,
): IterableIterator<CopiedShares & { readonly isCopy: boolean }> {
  const nextCopy = (): CopiedShares | undefined => {
    const copy = copies?.peek()
    return copy !== undefined && equalBytes(copy.voter, voter) ? copy : undefined
  }
  for (const { operator, shares } of delegationsOf(native, voter, start && { start })) {
    let copy = nextCopy()
    for (; copy !== undefined && compareBytes(copy.operator, operator) < 0; copy = nextCopy()) {
      copies!.take()
      yield { ...copy, isCopy: true }
    }
    if (copy !== undefined && equalBytes(copy.operator, operator)) {
      copies!.take()
      yield { ...copy, isCopy: true }
    } else yield { voter, operator, shares, isCopy: false }
  }
  for (let copy = nextCopy(); copy !== undefined; copy = nextCopy()) {
    copies!.take()
    yield { ...copy, isCopy: true }
  }
}

interface Peekable<T> {
  /** the next value, which stays the next one */
  peek(): T | undefined
  take(): void
}

function peekable<T>(values: Iterator<T>): Peekable<T> {
  let next = values.next()
  return {
    peek: () => (next.done === true ? undefined : next.value),
    take: () => {
      next = values.next()
    },
  }
}

function addDelegation(
  counting: Counting,
  options: readonly WeightedVoteOption[],
  { operator, shares }: Pick<CopiedShares, 'operator' | 'shares'>,
): void {
  const validator = counting.validators.get(bytesKey(operator))
  if (validator === undefined) return
  counting.validators.set(bytesKey(operator), { ...validator, deductions: validator.deductions + shares })
  addPower(counting, options, divide(shares * validator.tokens, validator.delegatorShares))
}

function addPower(counting: Counting, options: readonly WeightedVoteOption[], power: Decimal): void {
  for (const { option, weight } of options) {
    // Weights were checked when the vote was cast.
    counting.byOption.set(option, counting.byOption.get(option)! + multiply(power, parseDecimal(weight)!))
  }
  counting.totalPower += power
}

function withValidators(counted: Tally): Tally {
  const counting = toCounting(counted)
  for (const { tokens, delegatorShares, deductions, vote } of counted.validators) {
    if (vote.length === 0) continue
    addPower(counting, vote, divide((delegatorShares - deductions) * tokens, delegatorShares))
  }
  return toTally(counting)
}

function resultOf({ yes, abstain, no, noWithVeto }: Tally): TallyResult {
  return {
    yesCount: truncate(yes).toString(),
    abstainCount: truncate(abstain).toString(),
    noCount: truncate(no).toString(),
    noWithVetoCount: truncate(noWithVeto).toString(),
  }
}

function toCounting({ validators: bonded, yes, abstain, no, noWithVeto, totalPower, bondedTokens }: Tally): Counting {
  return {
    bondedTokens,
    validators: new Map(bonded.map((validator) => [bytesKey(validator.operator), validator])),
    byOption: new Map([
      [VOTE_OPTIONS.VOTE_OPTION_YES, yes],
      [VOTE_OPTIONS.VOTE_OPTION_ABSTAIN, abstain],
      [VOTE_OPTIONS.VOTE_OPTION_NO, no],
      [VOTE_OPTIONS.VOTE_OPTION_NO_WITH_VETO, noWithVeto],
    ]),
    totalPower,
  }
}

function toTally({ validators: bonded, byOption, totalPower, bondedTokens }: Counting): Tally {
  return {
    bondedTokens,
    validators: [...bonded.values()],
    yes: byOption.get(VOTE_OPTIONS.VOTE_OPTION_YES)!,
    abstain: byOption.get(VOTE_OPTIONS.VOTE_OPTION_ABSTAIN)!,
    no: byOption.get(VOTE_OPTIONS.VOTE_OPTION_NO)!,
    noWithVeto: byOption.get(VOTE_OPTIONS.VOTE_OPTION_NO_WITH_VETO)!,
    totalPower,
  }
}
