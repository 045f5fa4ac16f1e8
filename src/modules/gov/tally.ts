import { type Address, parseAddress } from '../../primitives/address.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, divide, multiply, parseDecimal, truncate } from '../../primitives/decimal.ts'
import type { ModuleContext } from '../context.ts'
import { delegationsOf } from '../staking/delegations.ts'
import { getValidator, lastPowers } from '../staking/validators.ts'
import { voteKey } from './keys.ts'
import { ratio } from './params.ts'
import type { Tally, TallyValidator } from './tallyState.ts'
import { type Params, type TallyResult, VOTE_OPTIONS, type Vote, type WeightedVoteOption } from './types.ts'
import { votesOf } from './votes.ts'

type Native = ModuleContext['world']['native']

/** Work that is left for a block; a vote, a delegation or a deposit is one. */
export interface Budget {
  left: number
}

export interface TallyOutcome {
  readonly passes: boolean
  readonly burnsDeposits: boolean
  readonly result: TallyResult
}

interface Counting {
  readonly bondedTokens: bigint
  readonly validators: Map<string, TallyValidator>
  readonly byOption: Map<number, Decimal>
  totalPower: Decimal
}

/** A tally of nothing yet, over the validators that are bonded now (IterateBondedValidatorsByPower). */
export function beginTally(native: Pick<Native, 'get' | 'range'>): Tally {
  const counted: TallyValidator[] = []
  let bondedTokens = 0n
  // The bonded ones are those with a power: a few of as many validators as anybody cares to create.
  for (const { operator } of lastPowers(native)) {
    const { jailed, tokens, delegatorShares } = getValidator(native, operator)!
    bondedTokens += tokens
    // As the SDK's index of powers: whoever was jailed in this block is bonded until its end, perhaps without shares.
    if (jailed || delegatorShares === 0n) continue
    counted.push({ operator, tokens, delegatorShares, deductions: 0n, vote: [] })
  }
  return { validators: counted, yes: 0n, abstain: 0n, no: 0n, noWithVeto: 0n, totalPower: 0n, bondedTokens }
}

/**
 * Counts votes and removes them, until none is left or the budget is used up
 * (the walk over votes of Tally, x/gov/keeper/tally.go).
 */
export function countVotes(
  native: Native,
  id: bigint,
  tally: Tally,
  budget: Budget,
): { readonly tally: Tally; readonly isComplete: boolean } {
  const counting = open(tally)
  const counted: Uint8Array[] = []
  let isComplete = true
  for (const vote of votesOf(native, id)) {
    if (budget.left <= 0) {
      isComplete = false
      break
    }
    const voter = parseAddress(vote.voter)
    budget.left--
    count(native, counting, voter, vote, (units) => {
      budget.left -= units
      return true
    })
    counted.push(voteKey(id, voter))
  }
  for (const key of counted) native.delete(key)
  return { tally: close(counting), isComplete }
}

/** Counts one vote, which stays where it is. */
export function countVote(native: Pick<Native, 'range'>, tally: Tally, voter: Address, vote: Vote): Tally {
  const counting = open(tally)
  count(native, counting, voter, vote)
  return close(counting)
}

/**
 * Counts all votes, which stay where they are.
 * @param charge asked before each voter and each of its delegations; undefined is the result when it refuses
 */
export function countAll(
  native: Pick<Native, 'range'>,
  id: bigint,
  tally: Tally,
  charge: (units: number) => boolean,
): Tally | undefined {
  const counting = open(tally)
  for (const vote of votesOf(native, id)) {
    if (!charge(1)) return undefined
    if (count(native, counting, parseAddress(vote.voter), vote, charge) === undefined) return undefined
  }
  return close(counting)
}

/** Adds the validators' votes for delegators who did not vote, and judges (the rest of Tally). */
export function judge(counted: Tally, params: Params, isExpedited: boolean): TallyOutcome {
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

/** What the votes of a complete tally sum to, those of validators included. */
export function tallyResult(counted: Tally): TallyResult {
  return resultOf(withValidators(counted))
}

function withValidators(counted: Tally): Tally {
  const counting = open(counted)
  for (const { tokens, delegatorShares, deductions, vote } of counted.validators) {
    if (vote.length === 0) continue
    addPower(counting, vote, divide((delegatorShares - deductions) * tokens, delegatorShares))
  }
  return close(counting)
}

function resultOf({ yes, abstain, no, noWithVeto }: Tally): TallyResult {
  return {
    yesCount: truncate(yes).toString(),
    abstainCount: truncate(abstain).toString(),
    noCount: truncate(no).toString(),
    noWithVetoCount: truncate(noWithVeto).toString(),
  }
}

function open({ validators: bonded, yes, abstain, no, noWithVeto, totalPower, bondedTokens }: Tally): Counting {
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

function close({ validators: bonded, byOption, totalPower, bondedTokens }: Counting): Tally {
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

/**
 * Adds a voter's power to what it voted for.
 * @param charge asked before each delegation
 * @returns undefined when that refused
 */
function count(
  native: Pick<Native, 'range'>,
  counting: Counting,
  voter: Address,
  { options }: Vote,
  charge: (units: number) => boolean = () => true,
): true | undefined {
  const own = counting.validators.get(bytesKey(voter))
  if (own !== undefined) counting.validators.set(bytesKey(voter), { ...own, vote: options })
  for (const { operator, shares } of delegationsOf(native, voter)) {
    if (!charge(1)) return undefined
    const validator = counting.validators.get(bytesKey(operator))
    if (validator === undefined) continue
    counting.validators.set(bytesKey(operator), { ...validator, deductions: validator.deductions + shares })
    addPower(counting, options, divide(shares * validator.tokens, validator.delegatorShares))
  }
  return true
}

function addPower(counting: Counting, options: readonly WeightedVoteOption[], power: Decimal): void {
  for (const { option, weight } of options) {
    // Weights were checked when the vote was cast.
    counting.byOption.set(option, counting.byOption.get(option)! + multiply(power, parseDecimal(weight)!))
  }
  counting.totalPower += power
}
