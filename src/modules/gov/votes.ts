import { type Address, toBech32 } from '../../primitives/address.ts'
import { formatDecimal, ONE, parseDecimal } from '../../primitives/decimal.ts'
import type { ModuleContext, ReadContext } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { govError } from './errors.ts'
import { emitVote } from './events.ts'
import { voteKey, votesKey } from './keys.ts'
import { checkMetadata } from './metadata.ts'
import { getProposal } from './proposals.ts'
import { getTally } from './tallyState.ts'
import { VOTE_OPTIONS, VOTING_PERIOD, Vote, type WeightedVoteOption } from './types.ts'

type Native = ReadContext['world']['native']

export interface VoteInput {
  readonly proposalId: bigint
  readonly voter: Address
  readonly metadata: string
}

/** A vote for one option (MsgVote); it replaces the voter's vote before. */
export function vote(context: ModuleContext, input: VoteInput & { readonly option: number }): SdkError | undefined {
  return (
    checkVoteOption(input.option) ?? addVote(context, input, [{ option: input.option, weight: formatDecimal(ONE) }])
  )
}

/** A vote for several options with weights that sum to 1 (MsgVoteWeighted). */
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

export function getVote(native: Pick<Native, 'get'>, id: bigint, voter: Address): Vote | undefined {
  const value = native.get(voteKey(id, voter))
  return value && Vote.decode(value)
}

/** Votes on a proposal in order of voters; they are there until they are counted. `start`: the first voter. */
export function* votesOf(
  native: Pick<Native, 'range'>,
  id: bigint,
  options: { readonly start?: Address; readonly reverse?: boolean } = {},
): IterableIterator<Vote> {
  const { start, reverse = false } = options
  const range = { reverse, ...(start && { start: voteKey(id, start) }) }
  for (const [, value] of native.range(votesKey(id), range)) yield Vote.decode(value)
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
  native.set(voteKey(proposalId, voter), Vote.encode({ proposalId, voter: toBech32(voter), options, metadata }))
  emitVote(world, proposalId, voter, options)
  return undefined
}

function isVoteOption(option: number): boolean {
  return option >= VOTE_OPTIONS.VOTE_OPTION_YES && option <= VOTE_OPTIONS.VOTE_OPTION_NO_WITH_VETO
}

function optionName(option: number): string {
  return Object.entries(VOTE_OPTIONS).find(([, number]) => number === option)?.[0] ?? option.toString()
}
