import { type Address, toBech32 } from '../../primitives/address.ts'
import { formatDecimal, ONE, parseDecimal } from '../../primitives/decimal.ts'
import { event, type ModuleContext } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { govError } from './errors.ts'
import { checkMetadata } from './metadata.ts'
import { getProposalRecord, putVote } from './state.ts'
import { isVotedOn } from './tally.ts'
import { VOTE_OPTIONS, type WeightedVoteOption } from './types.ts'

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
  { world, block }: ModuleContext,
  { proposalId, voter, metadata }: VoteInput,
  options: readonly WeightedVoteOption[],
): SdkError | undefined {
  const { native } = world
  const proposal = getProposalRecord(native, proposalId)
  if (proposal === undefined || !isVotedOn(native, proposal, block.timeMs)) {
    return govError('inactiveProposal', proposalId.toString())
  }
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
