import type { ConsensusBlock } from '../chain/comet/block.ts'
import type { Evidence, Proposal, UnsignedProposal, UnsignedVote, Vote } from '../chain/comet/types.ts'
import type { DecidedBlock, FinalizeResult, ProposalRequest } from './application.ts'
import type { Clock } from './clock.ts'
import type { ConsensusMessage } from './messages.ts'
import type { RoundEventSink } from './roundEvents.ts'
import type { Step } from './roundStateView.ts'
import type { Misbehaviour, PeerId } from './transport.ts'
import type { WalEntry } from './walEntry.ts'

/** A message that a remote signer is to sign: the log has it, and its next sync makes the question durable. */
export interface AskedSignature<T> {
  /**
   * Sends the question; only after that sync.
   * @param done called once, or never, with a function that verifies the signature, logs it and returns the signed message; undefined
   * when it cannot be used. To be called while the message's height is open.
   */
  readonly send: (done: (complete: () => T | undefined) => void) => void
}

/** The validator's signer; see signer.ts. Signed messages must not leave the process before the log's next sync (outbox.ts). */
export interface ConsensusSigner {
  /** 20 bytes; another one from the height on where the validator's key changes */
  readonly address: Uint8Array
  /**
   * @returns undefined when it abstains, because it cannot know whether it has signed for this
   * step, or has no signer to ask
   * @throws DoubleSignError
   */
  stageProposal(proposal: UnsignedProposal): Proposal | AskedSignature<Proposal> | undefined
  /** Like {@link stageProposal}, for a vote. */
  stageVote(vote: UnsignedVote): Vote | AskedSignature<Vote> | undefined
}

/** The write-ahead log as the engine uses it; see wal.ts. */
export interface ConsensusWal {
  append(entry: WalEntry): void
  /** Calls `done` when everything appended so far is on stable storage, or with the error that means: halt. */
  sync(done: (error?: Error) => void): void
  /** The log may drop blocks up to `height`: the database has them on stable storage. */
  prune(height: number): void
}

/**
 * The engine's interface to its environment. No function blocks; answers come back through the
 * engine's functions. In production the environment is threads, files and sockets
 * (consensusService.ts), in the simulator a simulated network and disk.
 */
export interface ConsensusEnvironment extends Clock {
  readonly wal: ConsensusWal
  send(to: readonly PeerId[], message: ConsensusMessage): void
  /** Asks a peer for a decided block; answered by `engine.receiveDecided`, or not at all. */
  fetchDecided(from: PeerId, height: number): void
  /** Reports a peer that sent something that no honest peer sends. */
  punish(peer: PeerId, what: Misbehaviour, reason: string): void
  /** The engine is in another step (or round, or height) than before. */
  onStep?(height: number, round: number, step: Step): void
  /** Receives the events of rounds, after the log's sync like everything that leaves the node. */
  readonly roundEvents?: RoundEventSink
  /** Called when a round begins on this node: its proposer may build a block now. */
  onRoundBegan(): void
  /**
   * Called when more than a third of the power prevoted nil in a round in which this node proposed
   * a new block.
   */
  onRefused(height: number, round: number): void
  /** answered by `engine.built`, or by `engine.unanswered` */
  build(request: ProposalRequest, round: number): void
  /** answered by `engine.validated`, or by `engine.unchecked` */
  validate(block: ConsensusBlock): void
  /** answered by `engine.finalized` */
  finalize(decided: DecidedBlock): void
  /** Called when new evidence is pending and has to be sent to all peers. */
  publishEvidence(evidence: Evidence): void
  /**
   * Called when a valid vote with this node's key came that is not in its log: another process
   * signs with the key.
   */
  onUnknownSignature(vote: Vote): void
  /**
   * The proposal of a block that is decided now, new in its round and of another validator: the times of its block and of its arrival,
   * in milliseconds since the epoch.
   */
  onTimedProposal(timestampMs: number, receivedMs: number): void
  /** Called when a block was decided and executed. */
  onDecided(decided: DecidedBlock, result: FinalizeResult): void
  /** Peers are many heights ahead: the owner should stop the engine and sync blocks. Repeated as long as that is so. */
  onBehind(height: number, peerHeight: number): void
  /** Called when the engine has stopped for good and will sign nothing more. */
  onHalt(error: Error): void
  /** For the operator's log, at debug level. */
  log(message: string, fields: Readonly<Record<string, unknown>>): void
}
