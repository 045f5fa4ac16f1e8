import type { DecidedBlock } from '../consensus/application.ts'
import type { ConsensusState } from '../consensus/consensusState.ts'
import type { ConsensusMessage } from '../consensus/messages.ts'
import type { PeerDescription, PeerId, Transport } from '../consensus/transport.ts'
import type { CommitCheck } from './commitCheck.ts'
import type { FollowEnvironment } from './followEnvironment.ts'
import { Follower } from './follower.ts'
import { PreparedBlocks, type RecoverSenders } from './preparedBlocks.ts'
import type { SyncStatus } from './syncStatus.ts'

/** What the follower needs of the node's consensus. */
export interface FollowedConsensus {
  /** after the newest block */
  readonly state: ConsensusState
  startEngine(): void
  /** Resolves when nothing is in flight. */
  stopEngine(): Promise<void>
  /** Hands a decided block of the next height to the application; only while the engine is stopped. */
  applyDecided(decided: DecidedBlock): Promise<unknown>
}

export interface FollowNodeOptions {
  readonly consensus: FollowedConsensus
  readonly transport: Pick<Transport, 'fetchBlocks' | 'punish'>
  /** of this node's validator key, 20 bytes; undefined where it has none */
  readonly ownAddress: Uint8Array | undefined
  /** Checks commits, in other threads if it can: for each, why it is invalid. */
  readonly verifyCommits: (checks: readonly CommitCheck[]) => Promise<readonly (string | undefined)[]>
  /** Recovers senders in other threads; without it the application does. */
  readonly recoverSenders?: RecoverSenders
  readonly nowMs: () => number
  readonly setTimer: FollowEnvironment['setTimer']
  readonly log: FollowEnvironment['log']
  /** Each change of the status; often while blocks are synced. */
  readonly onStatus: (status: SyncStatus) => void
  /** The node cannot go on. */
  readonly onHalt: (error: Error) => void
}

/** The follower as a node's parts call it. */
export interface NodeFollower {
  readonly status: SyncStatus
  start(): void
  peerJoined(peer: PeerDescription): void
  peerLeft(peer: PeerId): void
  /** Any message of consensus: only status messages say something here. */
  message(from: PeerId, message: ConsensusMessage): void
  /** The engine decided a block. */
  decided(): void
  onBehind(peerHeight: number): void
  /** Ends syncing; resolves when no block is being applied any more. */
  stop(): Promise<void>
}

/** The chain on this node and on its peers is not the same. */
export class SyncError extends Error {
  override readonly name = 'SyncError'
}

/** Binds a {@link Follower} to consensus and network. */
export function followNode(options: FollowNodeOptions): NodeFollower {
  const { consensus, transport } = options
  const prepared = new PreparedBlocks(options.recoverSenders)
  let applying: Promise<void> = Promise.resolve()
  const fail = (error: unknown): void => {
    follower.stop()
    options.onHalt(error instanceof Error ? error : new Error(String(error)))
  }
  const apply = async (decided: DecidedBlock): Promise<void> => {
    try {
      await consensus.applyDecided(await prepared.take(decided))
      follower.applied(consensus.state, decided.block.txs.length)
    } catch (error) {
      fail(error)
    }
  }
  const environment: FollowEnvironment = {
    nowMs: options.nowMs,
    setTimer: options.setTimer,
    request: (id, peer, request) => {
      transport.fetchBlocks(peer, request).then(
        (answer) => follower.answered(id, answer),
        // Why a peer did not answer is the network's to log.
        () => follower.failed(id),
      )
    },
    verify: (id, checks) => {
      options.verifyCommits(checks).then((reasons) => follower.verified(id, reasons), fail)
    },
    prepare: (decided) => prepared.add(decided),
    apply: (decided) => {
      applying = apply(decided)
    },
    startEngine: () => {
      prepared.clear()
      consensus.startEngine()
    },
    stopEngine: () => {
      consensus.stopEngine().then(() => follower.engineStopped(consensus.state), fail)
    },
    punish: (peer, what, reason) => {
      options.log('warn', 'a peer misbehaved in block sync', { peer, what, reason })
      transport.punish(peer, what, reason)
    },
    publish: options.onStatus,
    halt: (reason) => options.onHalt(new SyncError(reason)),
    log: options.log,
  }
  const { state } = consensus
  const follower = new Follower({ environment, state, ownAddress: options.ownAddress })
  return {
    get status() {
      return follower.status
    },
    start: () => follower.start(),
    peerJoined: (peer) => follower.peerJoined(peer),
    peerLeft: (peer) => follower.peerLeft(peer),
    // A node at work on a height has decided the one before.
    message: (from, message) => {
      if (message.kind === 'status') follower.peerAt(from, message.height - 1)
    },
    decided: () => follower.decided(consensus.state),
    onBehind: (peerHeight) => follower.onBehind(peerHeight),
    stop: () => {
      follower.stop()
      return applying
    },
  }
}
