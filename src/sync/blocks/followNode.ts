import type { DecidedBlock, DecidedRun } from '../../consensus/application.ts'
import type { ConsensusState } from '../../consensus/consensusState.ts'
import type { ConsensusMessage } from '../../consensus/messages.ts'
import type { PeerDescription, PeerId, Transport } from '../../consensus/transport.ts'
import { type CommitCheck, checkCommits } from './commitChecks.ts'
import { Follower, type FollowerEnvironment } from './follower.ts'
import type { SyncStatus } from './syncStatus.ts'

/** The part of the node's consensus that the follower uses. */
export interface FollowedConsensus {
  /** after the newest block */
  readonly state: ConsensusState
  startEngine(): void
  /** Resolves when no block is being decided or executed. */
  stopEngine(): Promise<void>
  /**
   * Has the application execute decided blocks. When it resolves, a first part of them has been
   * executed (see `state`). Only while the engine is stopped.
   */
  applyDecided(run: DecidedRun): Promise<void>
}

export interface FollowNodeOptions {
  readonly consensus: FollowedConsensus
  readonly transport: Pick<Transport, 'fetchBlocks' | 'punish'>
  /**
   * address of this node's validator key, 20 bytes, read each time; undefined when the node does
   * not have such a key
   */
  readonly ownAddress: Uint8Array | undefined
  /** Checks commits, in other threads if possible. Returns for each why it is invalid. */
  readonly verifyCommits: (checks: readonly CommitCheck[]) => Promise<readonly (string | undefined)[]>
  /** One commit, in this thread: where the others do not answer in time, because clients keep them busy. By default `checkCommits`. */
  readonly checkCommit?: (check: CommitCheck) => string | undefined
  /** Recovers senders in other threads; without it, and where these do not answer in time, the application does. */
  readonly recoverSenders?: RecoverSenders
  readonly nowMs: () => number
  readonly setTimer: FollowerEnvironment['setTimer']
  readonly log: FollowerEnvironment['log']
  /** Called for each change of the status, which is often during a sync. */
  readonly onStatus: (status: SyncStatus) => void
  /** Called when the node cannot continue. */
  readonly onHalt: (error: Error) => void
}

/** The follower's functions that other parts of the node call. */
interface NodeFollower {
  readonly status: SyncStatus
  start(): void
  peerJoined(peer: PeerDescription): void
  peerLeft(peer: PeerId): void
  /** Called with any consensus message; only status messages are used. */
  message(from: PeerId, message: ConsensusMessage): void
  /** Called when the engine has decided a block. */
  decided(): void
  onBehind(peerHeight: number): void
  /** Stops the sync. Resolves when no run of blocks is being applied any more. */
  stop(): Promise<void>
}

/** This node's chain is not the one of its peers. */
export class SyncError extends Error {
  override readonly name = 'SyncError'
}

/** How long block sync waits for other threads, which clients can keep busy. Idle ones take some milliseconds. */
const HELP_MS = 1_000

/** Connects a {@link Follower} with consensus and network. */
export function followNode(options: FollowNodeOptions): NodeFollower {
  const { consensus, transport, setTimer, checkCommit = (check) => checkCommits([check])[0] } = options
  const prepared = new SenderPreparation(options.recoverSenders, setTimer)
  /** Checks one after the other, so that this thread can do other work in between. */
  const checkHere = async (checks: readonly CommitCheck[]): Promise<readonly (string | undefined)[]> => {
    const reasons: (string | undefined)[] = []
    for (const check of checks) {
      reasons.push(checkCommit(check))
      await new Promise<void>((resolve) => void setTimer(0, resolve))
    }
    return reasons
  }
  const verifyCommits = async (checks: readonly CommitCheck[]): Promise<readonly (string | undefined)[]> =>
    (await inTime(options.verifyCommits(checks), setTimer)) ?? checkHere(checks)
  let applying: Promise<void> = Promise.resolve()
  const fail = (error: unknown): void => {
    follower.stop()
    options.onHalt(error instanceof Error ? error : new Error(String(error)))
  }
  const apply = async ({ blocks, maxGas }: DecidedRun): Promise<void> => {
    try {
      await consensus.applyDecided({ blocks: await prepared.take(blocks), maxGas })
      const { state } = consensus
      const executed = blocks.filter(({ block }) => block.header.height <= state.lastHeight)
      follower.applied(
        state,
        executed.reduce((sum, { block }) => sum + block.txs.length, 0),
      )
    } catch (error) {
      fail(error)
    }
  }
  const environment: FollowerEnvironment = {
    nowMs: options.nowMs,
    setTimer,
    request: (id, peer, request) => {
      transport
        .fetchBlocks(peer, request)
        .then(
          (answer) => follower.answered(id, answer),
          // The network has logged why the peer did not answer.
          () => follower.failed(id),
        )
        .catch(fail)
    },
    verify: (id, checks) => {
      verifyCommits(checks).then((reasons) => follower.verified(id, reasons), fail)
    },
    prepare: (decided) => prepared.add(decided),
    apply: (run) => {
      applying = apply(run)
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
  const follower = new Follower({
    environment,
    state,
    get ownAddress() {
      return options.ownAddress
    },
  })
  return {
    get status() {
      return follower.status
    },
    start: () => follower.start(),
    peerJoined: (peer) => follower.peerJoined(peer),
    peerLeft: (peer) => follower.peerLeft(peer),
    // A node at a height has decided the previous one.
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

/** Returns the promise's value, or undefined after {@link HELP_MS}; a later result is ignored. */
function inTime<T>(work: Promise<T>, setTimer: FollowerEnvironment['setTimer']): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = setTimer(HELP_MS, () => resolve(undefined))
    work.then(resolve, reject).finally(cancel)
  })
}

/**
 * Recovers the senders of a block's transactions, in another thread; by position, undefined where
 * no sender can be recovered.
 */
type RecoverSenders = (txs: readonly Uint8Array[]) => Promise<readonly (Uint8Array | undefined)[]>

/**
 * How many blocks after those of a run are prepared: enough to use the other threads, but few enough to leave them time for requests of
 * clients.
 */
const AHEAD = 16

/** Starts to recover the senders of decided blocks a little before the blocks are executed, so that execution takes less time. */
class SenderPreparation {
  readonly #recover: RecoverSenders | undefined
  readonly #setTimer: FollowerEnvironment['setTimer']
  readonly #waiting = new Map<number, DecidedBlock>()
  readonly #begun = new Map<number, ReturnType<RecoverSenders>>()

  /** @param recover undefined: blocks are executed as they are */
  constructor(recover: RecoverSenders | undefined, setTimer: FollowerEnvironment['setTimer']) {
    this.#recover = recover
    this.#setTimer = setTimer
  }

  /** Adds a block that will be executed later. Blocks may come in any order. */
  add(decided: DecidedBlock): void {
    const { header, txs } = decided.block
    if (this.#recover === undefined || txs.length === 0) return
    this.#waiting.set(header.height, decided)
  }

  /** Starts to recover the senders of the following blocks. @returns the blocks of a run with their senders, to be executed now */
  async take(blocks: readonly DecidedBlock[]): Promise<readonly DecidedBlock[]> {
    const first = blocks[0]!.block.header.height
    // A run may end early: its other blocks come again.
    for (const height of this.#begun.keys()) if (height < first) this.#begun.delete(height)
    for (let next = first; next < first + blocks.length + AHEAD; next++) {
      const waiting = this.#waiting.get(next)
      if (waiting === undefined || this.#recover === undefined) continue
      this.#waiting.delete(next)
      const begun = this.#recover(waiting.block.txs)
      // The error is thrown when the block's turn comes.
      begun.catch(() => undefined)
      this.#begun.set(next, begun)
    }
    return Promise.all(
      blocks.map(async (decided) => {
        const own = this.#begun.get(decided.block.header.height)
        const senders = own && (await inTime(own, this.#setTimer))
        return senders === undefined ? decided : { ...decided, senders }
      }),
    )
  }

  clear(): void {
    this.#waiting.clear()
    this.#begun.clear()
  }
}
