import { commitSigOf, commitVote } from '../chain/comet/commit.ts'
import {
  ABSENT_COMMIT_SIG,
  type BlockId,
  type Commit,
  equalBlockId,
  isNilBlockId,
  SIGNED_MESSAGE_TYPES,
  type ValidatorSet,
  type Vote,
  type VoteType,
} from '../chain/comet/types.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { type BitSet, createBitSet } from './bitSet.ts'
import { isQuorum } from './quorum.ts'
import type { VoteSetView } from './roundStateView.ts'

/** Votes for one block, or for nil. */
interface Tally {
  readonly blockId: BlockId
  readonly votes: Map<number, Vote>
  power: bigint
}

/** The changes made by adding a vote. */
export interface AddedVote {
  /** whether it counts for its block */
  readonly counted: boolean
  /** an earlier vote of this validator for another block or nil; reported once per validator */
  readonly contradicts: Vote | undefined
}

/**
 * Votes of one height, round and type. A validator's first vote always counts. A second vote of a validator, for another block, counts
 * for that block only if some other validator's first vote was for it. So a validator that votes twice can neither prevent a majority
 * nor fill the memory. (CometBFT types/vote_set.go; there a peer has to claim a majority for the block instead.)
 */
export class VoteSet implements VoteSetView {
  readonly height: number
  readonly round: number
  readonly type: VoteType
  readonly #validators: ValidatorSet
  readonly #first: (Vote | undefined)[]
  readonly #tallies = new Map<string, Tally>()
  readonly #equivocators = new Set<number>()
  #power = 0n
  #majority: Tally | undefined

  constructor(height: number, round: number, type: VoteType, validators: ValidatorSet) {
    this.height = height
    this.round = round
    this.type = type
    this.#validators = validators
    this.#first = new Array(validators.validators.length).fill(undefined)
  }

  /** Returns the precommits of a commit that is known to be valid. */
  static ofCommit(commit: Commit, validators: ValidatorSet): VoteSet {
    const set = new VoteSet(commit.height, commit.round, SIGNED_MESSAGE_TYPES.precommit, validators)
    for (const index of commit.signatures.keys()) {
      const vote = commitVote(commit, index)
      if (vote !== undefined) set.add(vote)
    }
    return set
  }

  /** Whether a vote would change anything, so that its signature is worth checking. Its index and address must belong together. */
  isNew({ validatorIndex: index, blockId }: Vote): boolean {
    if (this.#first[index] === undefined) return true
    const tally = this.#tallies.get(blockKey(blockId))
    if (tally !== undefined) return !tally.votes.has(index)
    return !this.#equivocators.has(index)
  }

  /** Adds a vote that was checked, signature included, and that {@link isNew}. */
  add(vote: Vote): AddedVote {
    const { validatorIndex: index, blockId } = vote
    const { power } = this.#validators.validators[index]!
    const key = blockKey(blockId)
    let tally = this.#tallies.get(key)
    const first = this.#first[index]
    let contradicts: Vote | undefined
    if (first === undefined) {
      this.#first[index] = vote
      this.#power += power
      if (tally === undefined) {
        tally = { blockId, votes: new Map(), power: 0n }
        this.#tallies.set(key, tally)
      }
    } else if (!this.#equivocators.has(index)) {
      this.#equivocators.add(index)
      contradicts = first
    }
    if (tally === undefined) return { counted: false, contradicts }
    tally.votes.set(index, vote)
    tally.power += power
    if (isQuorum(tally.power, this.#validators)) this.#majority ??= tally
    return { counted: true, contradicts }
  }

  bits(): BitSet {
    const indices: number[] = []
    for (const [index, vote] of this.#first.entries()) if (vote !== undefined) indices.push(index)
    return createBitSet(this.#first.length, indices)
  }

  bitsFor(blockId: BlockId): BitSet {
    return createBitSet(this.#first.length, this.#tallies.get(blockKey(blockId))?.votes.keys())
  }

  has(index: number): boolean {
    return this.#first[index] !== undefined
  }

  vote(index: number): Vote | undefined {
    return this.#majority?.votes.get(index) ?? this.#first[index]
  }

  voteFor(index: number, blockId: BlockId): Vote | undefined {
    return this.#tallies.get(blockKey(blockId))?.votes.get(index)
  }

  majority(): BlockId | undefined {
    return this.#majority?.blockId
  }

  /** Returns the voting power of the votes for a block, or for nil. */
  powerFor(blockId: BlockId): bigint {
    return this.#tallies.get(blockKey(blockId))?.power ?? 0n
  }

  /** Returns the block, not nil, that has the majority. */
  majorityBlock(): BlockId | undefined {
    const blockId = this.majority()
    return blockId === undefined || isNilBlockId(blockId) ? undefined : blockId
  }

  hasMajorityFor(blockId: BlockId): boolean {
    const majority = this.majority()
    return majority !== undefined && equalBlockId(majority, blockId)
  }

  hasNilMajority(): boolean {
    const majority = this.majority()
    return majority !== undefined && isNilBlockId(majority)
  }

  power(): bigint {
    return this.#power
  }

  /** Whether 2f + 1 have voted, for the same or for different blocks. */
  hasQuorumOfAny(): boolean {
    return isQuorum(this.#power, this.#validators)
  }

  /** False when no block, nor nil, can reach a majority with the missing votes. */
  majorityIsPossible(): boolean {
    const outstanding = this.#validators.totalPower - this.#power
    if (isQuorum(outstanding, this.#validators)) return true
    for (const { power } of this.#tallies.values()) if (isQuorum(power + outstanding, this.#validators)) return true
    return false
  }

  /** Whether any vote is for a block, not nil. */
  namesBlock(): boolean {
    for (const { blockId } of this.#tallies.values()) if (!isNilBlockId(blockId)) return true
    return false
  }

  /**
   * Returns the commit of these precommits. A validator that precommitted another block counts as
   * absent.
   * @throws Error when they decide no block
   */
  commit(): Commit {
    const majority = this.#majority
    if (majority === undefined || isNilBlockId(majority.blockId)) throw new Error('these precommits decide no block')
    const signatures = this.#first.map((first, index) => {
      const vote = majority.votes.get(index) ?? first
      if (vote === undefined) return ABSENT_COMMIT_SIG
      return isNilBlockId(vote.blockId) || vote === majority.votes.get(index) ? commitSigOf(vote) : ABSENT_COMMIT_SIG
    })
    return { height: this.height, round: this.round, blockId: majority.blockId, signatures }
  }
}

function blockKey({ hash, partSetHeader }: BlockId): string {
  return `${bytesKey(hash)}/${partSetHeader.total}/${bytesKey(partSetHeader.hash)}`
}
