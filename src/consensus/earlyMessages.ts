import { verifyPart } from '../chain/comet/partSet.ts'
import type { Proposal, RankedValidatorSet, Validator, Vote } from '../chain/comet/types.ts'
import { createProposerLookup } from '../chain/comet/validatorSet.ts'
import type { MessageInput } from './inputsAndEffects.ts'

/**
 * Number of rounds of the next height whose votes are retained. While this node is only a little
 * behind, later rounds have not begun.
 */
const EARLY_ROUNDS = 2

type ProposalInput = Extract<MessageInput, { readonly kind: 'proposal' }>
type PartInput = Extract<MessageInput, { readonly kind: 'part' }>
type VoteInput = Extract<MessageInput, { readonly kind: 'vote' }>

/**
 * Messages of the next height that came early; its validators are known already. Only votes and the
 * proposal with a valid signature are retained, and the parts of that proposal's block: at most 4
 * votes per validator, one proposal and one block.
 */
export class EarlyMessages {
  readonly height: number
  readonly validators: RankedValidatorSet
  readonly #proposerOf: (round: number) => Validator
  readonly #inputs: MessageInput[] = []
  readonly #votes = new Set<string>()
  readonly #parts = new Set<number>()
  #proposal: Proposal | undefined

  constructor(height: number, validators: RankedValidatorSet) {
    this.height = height
    this.validators = validators
    this.#proposerOf = createProposerLookup(validators)
  }

  proposerOf(round: number): Validator {
    return this.#proposerOf(round)
  }

  /** In the order in which they came. */
  get inputs(): readonly MessageInput[] {
    return this.#inputs
  }

  /** Whether a vote is retained if its signature is valid. */
  wantsVote(vote: Vote): boolean {
    return vote.round < EARLY_ROUNDS && !this.#votes.has(voteKey(vote))
  }

  addVote(input: VoteInput): void {
    this.#votes.add(voteKey(input.vote))
    this.#inputs.push(input)
  }

  wantsProposal({ round }: Proposal): boolean {
    return round === 0 && this.#proposal === undefined
  }

  addProposal(input: ProposalInput): void {
    this.#proposal = input.proposal
    this.#inputs.push(input)
  }

  /** Retains a part if it belongs to the proposal's block. */
  addPart(input: PartInput): void {
    const { round, part } = input
    if (this.#proposal === undefined || round !== 0 || this.#parts.has(part.index)) return
    if (!verifyPart(this.#proposal.blockId.partSetHeader, part)) return
    this.#parts.add(part.index)
    this.#inputs.push(input)
  }
}

function voteKey({ round, type, validatorIndex }: Vote): string {
  return `${round}/${type}/${validatorIndex}`
}
