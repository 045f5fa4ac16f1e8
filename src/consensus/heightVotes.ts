import { SIGNED_MESSAGE_TYPES, type ValidatorSet, type Vote, type VoteType } from '../chain/comet/types.ts'
import { REPLAY } from './inputsAndEffects.ts'
import { exceedsThird } from './quorum.ts'
import type { PeerId } from './transport.ts'
import { type AddedVote, VoteSet } from './voteSet.ts'

/** How many rounds after the next one the votes of one peer may open: a limit on memory, because a peer can invent rounds. */
export const FUTURE_ROUNDS_PER_PEER = 2

/** The limit for all peers together. When there are more such rounds, the one with the least voting power is dropped. */
export const MAX_FUTURE_ROUNDS = 64

/**
 * The highest valid round; no height of a real chain reaches it. It is limited because finding a round's proposer takes a step for
 * each earlier round.
 */
export const MAX_ROUND = 1_000_000

/** When a round begins, rounds before the last 64 are dropped, unless they may still prove a lock or decide a block. */
const RETAINED_ROUNDS = 64

interface Round {
  readonly prevotes: VoteSet
  readonly precommits: VoteSet
  /** of the validators that have voted in this round, each counted once */
  senderPower: bigint
}

/**
 * The votes of a height: of every round up to the one after the current round, and of a few later
 * ones.
 */
export class HeightVotes {
  readonly #height: number
  readonly #validators: ValidatorSet
  readonly #rounds = new Map<number, Round>()
  readonly #futureRounds = new Map<PeerId, Set<number>>()
  #round = 0

  constructor(height: number, validators: ValidatorSet) {
    this.#height = height
    this.#validators = validators
    this.#open(0)
    this.#open(1)
  }

  /** Begins a round: its votes and those of the next round are accepted from every peer. */
  setRound(round: number): void {
    this.#round = round
    for (let open = round; open <= round + 1; open++) this.#open(open)
    for (const rounds of this.#futureRounds.values()) {
      for (const old of rounds) if (old <= round + 1) rounds.delete(old)
    }
    this.#forget(round)
  }

  /** Undefined for a round without known votes. */
  votes(round: number, type: VoteType): VoteSet | undefined {
    const votes = this.#rounds.get(round)
    return type === SIGNED_MESSAGE_TYPES.prevote ? votes?.prevotes : votes?.precommits
  }

  prevotes(round: number): VoteSet | undefined {
    return this.#rounds.get(round)?.prevotes
  }

  precommits(round: number): VoteSet | undefined {
    return this.#rounds.get(round)?.precommits
  }

  /** Ascending. */
  rounds(): number[] {
    return [...this.#rounds.keys()].sort((a, b) => a - b)
  }

  /**
   * Whether a peer's vote is accepted: its round is known, or the peer may open it. Past and skipped rounds are always accepted,
   * because they may prove a lock or decide a block.
   */
  follows({ round }: Vote, from: PeerId | undefined): boolean {
    if (round < 0 || round > MAX_ROUND) return false
    if (round <= this.#round + 1 || this.#rounds.has(round)) return true
    if (from === undefined || from === REPLAY) return true
    return (this.#futureRounds.get(from)?.size ?? 0) < FUTURE_ROUNDS_PER_PEER
  }

  /** Whether a vote would change anything. Its index and address must belong together. */
  isNew(vote: Vote): boolean {
    return this.votes(vote.round, vote.type)?.isNew(vote) ?? true
  }

  /** Adds a vote that was checked, signature included. Without `from` (an own vote, a commit) it may open any round. */
  add(vote: Vote, from: PeerId | undefined): AddedVote {
    const { round, validatorIndex: index } = vote
    if (round > this.#round + 1 && !this.#rounds.has(round) && from !== undefined) this.#openFutureRound(round, from)
    const votes = this.#open(round)
    if (!votes.prevotes.has(index) && !votes.precommits.has(index)) {
      votes.senderPower += this.#validators.validators[index]!.power
    }
    return (vote.type === SIGNED_MESSAGE_TYPES.prevote ? votes.prevotes : votes.precommits).add(vote)
  }

  /**
   * Returns the highest round above `round` with votes of f + 1, prevotes and precommits together
   * [L55].
   */
  roundOfThird(round: number): number | undefined {
    let highest: number | undefined
    for (const [candidate, { senderPower }] of this.#rounds) {
      if (candidate <= round || (highest !== undefined && candidate < highest)) continue
      if (exceedsThird(senderPower, this.#validators)) highest = candidate
    }
    return highest
  }

  /** Precommits of all rounds that decide a block, the lowest round first [L49]. */
  decisions(): VoteSet[] {
    const decisions: VoteSet[] = []
    for (const { precommits } of this.#rounds.values()) {
      if (precommits.majorityBlock() !== undefined) decisions.push(precommits)
    }
    return decisions.sort((a, b) => a.round - b.round)
  }

  #open(round: number): Round {
    let votes = this.#rounds.get(round)
    if (votes === undefined) {
      votes = {
        prevotes: new VoteSet(this.#height, round, SIGNED_MESSAGE_TYPES.prevote, this.#validators),
        precommits: new VoteSet(this.#height, round, SIGNED_MESSAGE_TYPES.precommit, this.#validators),
        senderPower: 0n,
      }
      this.#rounds.set(round, votes)
    }
    return votes
  }

  #openFutureRound(round: number, from: PeerId): void {
    const rounds = this.#futureRounds.get(from) ?? new Set()
    this.#futureRounds.set(from, rounds.add(round))
    const open = [...this.#rounds.keys()].filter((other) => other > this.#round + 1)
    if (open.length < MAX_FUTURE_ROUNDS) return
    const weakest = open.reduce((a, b) => (this.#weight(b) < this.#weight(a) ? b : a))
    this.#rounds.delete(weakest)
  }

  #weight(round: number): bigint {
    return this.#rounds.get(round)!.senderPower
  }

  #forget(round: number): void {
    for (const [old, { prevotes, precommits }] of this.#rounds) {
      if (old >= round - RETAINED_ROUNDS || precommits.namesBlock() || prevotes.majorityBlock() !== undefined) continue
      this.#rounds.delete(old)
    }
  }
}
