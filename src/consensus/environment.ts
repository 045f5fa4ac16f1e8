import type { ConsensusBlock } from '../chain/consensus/block.ts'
import type { Evidence, Proposal, UnsignedProposal, UnsignedVote, Vote } from '../chain/consensus/types.ts'
import type { DecidedBlock, FinalizeResult, ProposalRequest } from './application.ts'
import type { ConsensusMessage } from './messages.ts'
import type { Misbehaviour, PeerId } from './transport.ts'
import type { WalEntry } from './walEntry.ts'

/** The validator's signer; see signer.ts. What it stages must not leave the process before the log's next sync. */
export interface ConsensusSigner {
  /** 20 bytes */
  readonly address: Uint8Array
  /**
   * @returns undefined when it abstains, because it cannot know whether it has signed for this step
   * @throws DoubleSignError
   */
  stageProposal(proposal: UnsignedProposal): Proposal | undefined
  /** As {@link stageProposal}, for a vote. */
  stageVote(vote: UnsignedVote): Vote | undefined
}

/** The write-ahead log as the engine uses it. */
export interface ConsensusWal {
  append(entry: WalEntry): void
  /** Calls `done` when everything appended so far is on stable storage, or with the error that means: halt. */
  sync(done: (error?: Error) => void): void
  /** blocks up to `height` are durable elsewhere */
  prune(height: number): void
}

/**
 * Everything that the engine does outside of itself. No function blocks; answers come back through the engine's own
 * functions. Production binds threads, files and sockets to it, the simulator a virtual world.
 */
export interface ConsensusEnvironment {
  readonly wal: ConsensusWal
  /** wall clock, whole milliseconds since the epoch; may jump */
  nowMs(): number
  /** never goes back */
  monotonicMs(): number
  /** @returns how to cancel it */
  setTimer(delayMs: number, run: () => void): () => void
  send(to: readonly PeerId[], message: ConsensusMessage): void
  /** Asks a peer for a decided block; answered by `engine.receiveDecided`, or not at all. */
  fetchDecided(from: PeerId, height: number): void
  /** A peer broke the rules. */
  punish(peer: PeerId, what: Misbehaviour, reason: string): void
  /** answered by `engine.built` */
  build(request: ProposalRequest, round: number): void
  /** answered by `engine.validated` */
  validate(block: ConsensusBlock): void
  /** answered by `engine.finalized` */
  finalize(decided: DecidedBlock): void
  /** New evidence is pending: tell everybody. */
  publishEvidence(evidence: Evidence): void
  /** A valid vote came that has our key's signature and that our log does not know: another process signs with the key. */
  onUnknownSignature(vote: Vote): void
  /** A block was decided and executed. */
  onDecided(decided: DecidedBlock, result: FinalizeResult): void
  /** Peers are `heights` or more ahead: consensus cannot catch up by single blocks. The owner stops the engine and syncs. */
  onBehind(height: number, peerHeight: number): void
  /** The engine has stopped for good and will sign nothing more. */
  onHalt(error: Error): void
  log(message: string, fields: Readonly<Record<string, unknown>>): void
}
