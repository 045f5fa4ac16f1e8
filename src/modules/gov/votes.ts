import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import {
  type Decimal,
  decimalOf,
  divide,
  formatDecimal,
  multiply,
  ONE,
  parseDecimal,
  truncate,
} from '../../primitives/decimal.ts'
import { event, type ModuleContext, type ReadContext } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { delegationsOf } from '../staking/delegations.ts'
import { getValidator, lastPowers } from '../staking/validators.ts'
import { govError } from './errors.ts'
import { checkMetadata } from './metadata.ts'
import { ratio } from './params.ts'
import {
  deleteVote,
  getProposal,
  getTally,
  getVote,
  putTally,
  putVote,
  type Tally,
  type TallyValidator,
  tallies,
  votesOf,
} from './state.ts'
import {
  type Params,
  type TallyResult,
  VOTE_OPTIONS,
  VOTING_PERIOD,
  type Vote,
  type WeightedVoteOption,
} from './types.ts'

interface VoteInput {
  readonly proposalId: bigint
  readonly voter: Address
  readonly metadata: string
}

/** Casts a vote for one option (MsgVote); it replaces the voter's earlier vote. */
export function vote(context: ModuleContext, input: VoteInput & { readonly option: number }): SdkError | undefined {
  return (
    checkVoteOption(input.option) ?? addVote(context, input, [{ option: input.option, weight: formatDecimal(ONE) }])
  )
}

/** Casts a vote for several options with weights that sum to 1 (MsgVoteWeighted). */
export function voteWeighted(
  context: ModuleContext,
  input: VoteInput & { readonly options: readonly WeightedVoteOption[] },
): SdkError | undefined {
  return checkWeightedOptions(input.options) ?? addVote(context, input, input.options)
}

export function checkVoteOption(option: number): SdkError | undefined {
  return isVoteOption(option) ? undefined : govError('invalidVote', optionName(option))
}

/** The checks of MsgVoteWeighted (x/gov/keeper/msg_server.go, WeightedVoteOption.IsValid). */
export function checkWeightedOptions(options: readonly WeightedVoteOption[]): SdkError | undefined {
  if (options.length === 0) return sdkError('invalidRequest', '[]')
  let total = 0n
  const used = new Set<number>()
  for (const { option, weight } of options) {
    const value = parseDecimal(weight)
    if (value === undefined || value <= 0n || value > ONE || !isVoteOption(option)) {
      return govError('invalidVote', `option:${optionName(option)} weight:"${weight}"`)
    }
    if (used.has(option)) return govError('invalidVote', 'duplicated vote option')
    used.add(option)
    total += value
  }
  if (total > ONE) return govError('invalidVote', 'total weight overflow 1.00')
  return total < ONE ? govError('invalidVote', 'total weight lower than 1.00') : undefined
}

/** AddVote of x/gov/keeper/vote.go. */
function addVote(
  { world }: ModuleContext,
  { proposalId, voter, metadata }: VoteInput,
  options: readonly WeightedVoteOption[],
): SdkError | undefined {
  const { native } = world
  const proposal = getProposal(native, proposalId)
  const isVotedOn = proposal?.status === VOTING_PERIOD && getTally(native, proposalId) === undefined
  if (!isVotedOn) return govError('inactiveProposal', proposalId.toString())
  const tooLong = checkMetadata(metadata)
  if (tooLong !== undefined) return tooLong
  const voterText = toBech32(voter)
  putVote(native, { proposalId, voter: voterText, options, metadata })
  world.emitEvent(
    event('proposal_vote', {
      voter: voterText,
      option: JSON.stringify(options.map(({ option, weight }) => ({ option, weight }))),
      proposal_id: proposalId.toString(),
    }),
  )
  return undefined
}

function isVoteOption(option: number): boolean {
  return option >= VOTE_OPTIONS.VOTE_OPTION_YES && option <= VOTE_OPTIONS.VOTE_OPTION_NO_WITH_VETO
}

function optionName(option: number): string {
  return Object.entries(VOTE_OPTIONS).find(([, number]) => number === option)?.[0] ?? option.toString()
}

type Native = ModuleContext['world']['native']

/** How many votes, delegations and deposits the block may still read. */
export interface Budget {
  left: number
}

export interface TallyOutcome {
  readonly passes: boolean
  readonly burnsDeposits: boolean
  readonly result: TallyResult
}

/** A tally in the form in which votes are added to it. */
interface Counting {
  readonly bondedTokens: bigint
  readonly validators: Map<string, TallyValidator>
  readonly byOption: Map<number, Decimal>
  totalPower: Decimal
}

/** A tally without votes, over the validators that are bonded now (IterateBondedValidatorsByPower). */
export function beginTally(native: Pick<Native, 'get' | 'range'>): Tally {
  const counted: TallyValidator[] = []
  let bondedTokens = 0n
  // Bonded validators are those with a power. There may be many more validators, which this does not read.
  for (const { operator } of lastPowers(native)) {
    const { jailed, tokens, delegatorShares } = getValidator(native, operator)!
    bondedTokens += tokens
    // A validator jailed in this block stays bonded until its end, but has left the SDK's index of powers.
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
  const counting = toCounting(tally)
  const counted: Address[] = []
  let isComplete = true
  for (const vote of votesOf(native, id)) {
    if (budget.left <= 0) {
      isComplete = false
      break
    }
    const voter = parseAddress(vote.voter)
    budget.left--
    countVoter(native, counting, voter, vote, (units) => {
      budget.left -= units
      return true
    })
    counted.push(voter)
  }
  for (const voter of counted) deleteVote(native, id, voter)
  return { tally: toTally(counting), isComplete }
}

/**
 * To be called before delegations of `delegator` change: tallies that go on over several blocks count its vote now, with
 * the stake that it had when they began. Costs one look-up while there is no such tally.
 */
export function beforeStakeChanges({ world: { native } }: ModuleContext, delegator: Address): void {
  for (const { id, tally } of tallies(native)) {
    const vote = getVote(native, id, delegator)
    if (vote === undefined) continue
    const counting = toCounting(tally)
    countVoter(native, counting, delegator, vote)
    putTally(native, id, toTally(counting))
    deleteVote(native, id, delegator)
  }
}

/** The outcome of a complete tally (the rest of Tally): validators' votes count for delegators who did not vote. */
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
 * How the votes on a proposal stand (TallyResult of x/gov/keeper/grpc_query.go): zeros before the voting period, what the
 * votes would count now during it, and the final result afterwards. Changes nothing.
 * @param charge asked before each vote and each delegation of a voter is read; without it there is no bound
 * @returns undefined when there is no such proposal, or when `charge` refused
 */
export function runningTally(
  { world: { native } }: ReadContext,
  id: bigint,
  charge: (units: number) => boolean = () => true,
): TallyResult | undefined {
  const proposal = getProposal(native, id)
  if (proposal === undefined) return undefined
  if (proposal.status !== VOTING_PERIOD) return proposal.finalTallyResult ?? NO_VOTES
  const counting = toCounting(getTally(native, id) ?? beginTally(native))
  for (const vote of votesOf(native, id)) {
    if (!charge(1) || !countVoter(native, counting, parseAddress(vote.voter), vote, charge)) return undefined
  }
  return resultOf(withValidators(toTally(counting)))
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

/**
 * Adds a voter's power to the options that it voted for.
 * @param charge asked before each delegation
 * @returns whether `charge` never refused
 */
function countVoter(
  native: Pick<Native, 'range'>,
  counting: Counting,
  voter: Address,
  { options }: Vote,
  charge: (units: number) => boolean = () => true,
): boolean {
  const own = counting.validators.get(bytesKey(voter))
  if (own !== undefined) counting.validators.set(bytesKey(voter), { ...own, vote: options })
  for (const { operator, shares } of delegationsOf(native, voter)) {
    if (!charge(1)) return false
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
