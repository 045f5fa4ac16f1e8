import type { ConsensusBlock } from '../chain/comet/block.ts'
import {
  type BlockId,
  equalBlockId,
  type Proposal,
  type RankedValidatorSet,
  type Validator,
  type VoteType,
} from '../chain/comet/types.ts'
import { createProposerLookup, validatorIndexOf } from '../chain/comet/validatorSet.ts'
import { bytesKey, equalBytes } from '../primitives/bytes.ts'
import type { VerifySignature } from '../primitives/ed25519.ts'
import type { DecidedBlock } from './application.ts'
import { CandidateBlock } from './candidateBlock.ts'
import { type ConsensusState, checkBlock, type EngineChain } from './consensusState.ts'
import { EarlyMessages } from './earlyMessages.ts'
import { HeightVotes } from './heightVotes.ts'
import { type Effect, REPLAY } from './inputsAndEffects.ts'
import { type RoundStateView, STEPS, type Step } from './roundStateView.ts'
import type { Misbehaviour, PeerId } from './transport.ts'
import { VoteSet } from './voteSet.ts'

interface RoundStateOptions {
  readonly chain: EngineChain
  /** after the last decided block */
  readonly state: ConsensusState
  /** of this node's validator, 20 bytes, read when a height begins; undefined: the node follows without voting */
  readonly address: Uint8Array | undefined
  readonly verify: VerifySignature
}

/** A proposal of the current round, or of the next one. */
export interface ReceivedProposal {
  readonly proposal: Proposal
  /** wall clock at its arrival, milliseconds since the epoch */
  readonly receivedMs: number
  /** this node made it */
  readonly own: boolean
}

/** Number of blocks of failed rounds that are retained. */
const RECENT_BLOCKS = 2

/** Enough for about two heights of 50 validators with a few rounds each. */
const CACHED_SIGNATURES = 1024

/**
 * The variables of arXiv 1807.04938, algorithm 1, lines 1 to 9, and flags for the rules' "for the first time". Only the reducer
 * changes them.
 *
 * h_p is `height`, round_p `round`, step_p `step`, lockedValue and lockedRound `lockedBlockId` and `lockedRound`, validValue and
 * validRound `validBlock` and `validRound`; messages received are in `proposal`, `candidate` and `heightVotes`.
 */
export class RoundState implements RoundStateView {
  readonly chain: EngineChain
  readonly verify: VerifySignature
  readonly #options: Pick<RoundStateOptions, 'address'>
  /** of this node's validator at this height */
  address: Uint8Array | undefined

  /** after the last decided block */
  state: ConsensusState
  height: number
  round = 0
  step: Step = STEPS.newHeight
  /** of round `round`: the first one that came from its proposer */
  received: ReceivedProposal | undefined
  /** the block of this round: the proposed one, or another one that has the round's prevotes; in step commit the decided one */
  candidate: CandidateBlock | undefined
  /** proposal of round `round` + 1, if it came early */
  upcoming: { readonly received: ReceivedProposal; readonly candidate: CandidateBlock } | undefined
  /** the block that this node built for the round, while its proposal is being signed */
  built: CandidateBlock | undefined
  lockedRound = -1
  lockedBlockId: BlockId | undefined
  validRound = -1
  validBlock: CandidateBlock | undefined
  /** complete blocks of earlier rounds, newest last: one may be proposed again */
  recent: readonly CandidateBlock[] = []
  commitRound = -1
  /** the decided block while it is executed */
  decided: DecidedBlock | undefined
  heightVotes: HeightVotes
  lastPrecommits: VoteSet | undefined
  lastPrevotes: VoteSet | undefined
  early: EarlyMessages

  /** whether this round's timeoutPrevote was scheduled [L34] */
  prevoteTimeoutScheduled = false
  /** whether this round's timeoutPrecommit was scheduled [L47] */
  precommitTimeoutScheduled = false
  /** whether it was reported that others did not accept this round's proposal of this node */
  refusalReported = false
  halted = false

  /** position of this node's validator at this height; −1: none */
  ownIndex: number
  proposerOf: (round: number) => Validator
  #effects: Effect[] = []

  constructor(options: RoundStateOptions) {
    const { chain, state, address, verify } = options
    this.chain = chain
    this.#options = options
    this.address = address
    this.verify = cacheSignatures(verify, CACHED_SIGNATURES)
    this.state = state
    this.height = state.lastHeight + 1
    this.heightVotes = new HeightVotes(this.height, state.validators)
    this.early = new EarlyMessages(this.height + 1, state.nextValidators)
    this.ownIndex = address === undefined ? -1 : validatorIndexOf(state.validators, address)
    this.proposerOf = createProposerLookup(state.validators)
    this.lastPrecommits =
      state.lastHeight === 0 ? undefined : VoteSet.ofCommit(state.lastSeenCommit, state.lastValidators)
  }

  get validators(): RankedValidatorSet {
    return this.state.validators
  }

  get proposal(): Proposal | undefined {
    return this.received?.proposal
  }

  get parts(): CandidateBlock | undefined {
    return this.candidate
  }

  get validBlockId(): BlockId | undefined {
    return this.validBlock?.blockId
  }

  votes(round: number, type: VoteType): VoteSet | undefined {
    return this.heightVotes.votes(round, type)
  }

  get isContested(): boolean {
    return this.prevoteTimeoutScheduled || this.precommitTimeoutScheduled
  }

  get isValidator(): boolean {
    return this.ownIndex >= 0
  }

  /** Whether this node is the only validator. */
  get isAlone(): boolean {
    return this.isValidator && this.validators.validators.length === 1
  }

  get isProposer(): boolean {
    return this.isValidator && this.proposerOf(this.round) === this.validators.validators[this.ownIndex]
  }

  /** Returns all blocks that this height knows, complete or not. */
  candidates(): CandidateBlock[] {
    const present = [this.candidate, this.validBlock, this.built, this.upcoming?.candidate]
    return [...present.filter((candidate) => candidate !== undefined), ...this.recent]
  }

  /**
   * Returns the block with this ID: a known one, the complete one first, or a new one without
   * parts.
   */
  candidateFor(blockId: BlockId): CandidateBlock {
    const known = this.candidates().filter((candidate) => equalBlockId(candidate.blockId, blockId))
    return known.find(({ isComplete }) => isComplete) ?? known[0] ?? new CandidateBlock(blockId)
  }

  /** Returns why this cannot be the height's block; undefined when it can. */
  checkBlock(block: ConsensusBlock): string | undefined {
    return checkBlock(this.state, block, this.verify)
  }

  /** Retains a complete block, which a later round may propose again. */
  remember(candidate: CandidateBlock): void {
    const others = this.recent.filter(({ blockId }) => !equalBlockId(blockId, candidate.blockId))
    this.recent = [...others, candidate].slice(-RECENT_BLOCKS)
  }

  emit(effect: Effect): void {
    this.#effects.push(effect)
  }

  /** Returns the effects since the last call. */
  takeEffects(): readonly Effect[] {
    const effects = this.#effects
    this.#effects = []
    return effects
  }

  /** Enters a step of a round; gossip announces it to the peers. */
  enter(round: number, step: Step): void {
    this.round = round
    this.step = step
    this.emit({ kind: 'entered', height: this.height, round, step })
  }

  /**
   * A peer sent a message that no honest peer sends: the engine asks the transport to punish it. This node's own messages and those of
   * its log are not reported.
   */
  reportMisbehaviour(peer: PeerId | undefined, what: Misbehaviour, reason: string): void {
    if (peer !== undefined && peer !== REPLAY) this.emit({ kind: 'misbehaviour', peer, what, reason })
  }

  /** Stops consensus permanently: nothing more is signed. */
  halt(reason: string): void {
    this.halted = true
    this.emit({ kind: 'halt', reason: `height ${this.height}, round ${this.round}: ${reason}` })
  }

  /** Explains to the operator, in the log, why a vote is nil or a round failed. */
  log(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.emit({ kind: 'log', message, fields: { height: this.height, round: this.round, ...fields } })
  }

  /** Begins the height after a decided block [L52, L53]. */
  advance(state: ConsensusState, lastPrecommits: VoteSet): EarlyMessages {
    const { early } = this
    this.state = state
    this.height = state.lastHeight + 1
    this.round = 0
    this.step = STEPS.newHeight
    this.lastPrevotes = this.heightVotes.prevotes(this.commitRound)
    this.clearRound()
    this.upcoming = undefined
    this.lockedRound = -1
    this.lockedBlockId = undefined
    this.validRound = -1
    this.validBlock = undefined
    this.commitRound = -1
    this.heightVotes = new HeightVotes(this.height, state.validators)
    this.lastPrecommits = lastPrecommits
    this.early = new EarlyMessages(this.height + 1, state.nextValidators)
    this.decided = undefined
    this.recent = []
    this.address = this.#options.address
    this.ownIndex = this.address === undefined ? -1 : validatorIndexOf(state.validators, this.address)
    this.proposerOf = createProposerLookup(state.validators)
    return early
  }

  /** Clears the state that belongs to one round only. */
  clearRound(): void {
    this.received = undefined
    this.candidate = undefined
    this.built = undefined
    this.prevoteTimeoutScheduled = false
    this.precommitTimeoutScheduled = false
    this.refusalReported = false
  }
}

interface Verified {
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
}

/**
 * Returns a verifier that caches the last `capacity` to 2 × `capacity` valid signatures. Each
 * precommit comes twice, as a vote and in the next block's last commit, and verification is the
 * most expensive part of consensus.
 */
export function cacheSignatures(verify: VerifySignature, capacity: number): VerifySignature {
  let recent = new Map<string, Verified>()
  let older = new Map<string, Verified>()
  return (publicKey, message, signature) => {
    const key = bytesKey(signature)
    const known = recent.get(key) ?? older.get(key)
    if (known !== undefined && equalBytes(known.publicKey, publicKey) && equalBytes(known.message, message)) return true
    if (!verify(publicKey, message, signature)) return false
    if (recent.size >= capacity) {
      older = recent
      recent = new Map()
    }
    recent.set(key, { publicKey, message })
    return true
  }
}
