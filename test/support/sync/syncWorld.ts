import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { type ConsensusState, checkBlock } from '../../../src/consensus/consensusState.ts'
import type { BlockRequest, FetchedBlocks } from '../../../src/consensus/transport.ts'
import { checkCommits } from '../../../src/sync/blocks/commitChecks.ts'
import { Follower, type FollowerEnvironment } from '../../../src/sync/blocks/follower.ts'
import { SYNC_LIMITS, type SyncLimits } from '../../../src/sync/blocks/syncLimits.ts'
import type { SyncStatus } from '../../../src/sync/blocks/syncStatus.ts'
import { type ServedChain, verifyFake } from './servedChain.ts'

/** What a peer does with a request: answers after a time, fails after a time, or lets it run out. */
export type Reaction =
  | { readonly afterMs: number; readonly answer: FetchedBlocks }
  | { readonly afterMs: number; readonly answer: undefined }
  | undefined

export interface FakePeer {
  readonly id: string
  /** what it says when it connects */
  readonly base?: number
  /** of the validator that it has proved to be */
  readonly validatorAddress?: Uint8Array
  readonly height: () => number
  readonly react: (request: BlockRequest, nowMs: number) => Reaction
}

/** The executor ends a run after this time. */
const RUN_MS = 200

interface Timed {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

interface SyncWorldOptions {
  readonly chain: ServedChain
  readonly state?: ConsensusState
  readonly ownAddress?: Uint8Array
  readonly limits?: Partial<SyncLimits>
  readonly verifyMs?: () => number
  readonly applyMs?: () => number
  /** the engine of this node: called when it starts */
  readonly onEngineStarted?: (world: SyncWorld) => void
}

/** A follower in a world with a virtual clock, a fake engine and fake peers. */
export class SyncWorld {
  readonly follower: Follower
  readonly applied: number[] = []
  /** blocks of each run */
  readonly runs: number[] = []
  readonly prepared: number[] = []
  readonly punished: [peer: string, what: string, reason: string][] = []
  readonly logs: [level: string, message: string, fields: Readonly<Record<string, unknown>>][] = []
  readonly statuses: SyncStatus[] = []
  readonly requests: (BlockRequest & { readonly peer: string; readonly atMs: number })[] = []
  readonly halts: string[] = []
  /** [time, 'start' | 'stop'] of the engine */
  readonly engine: [atMs: number, what: 'start' | 'stop'][] = []
  state: ConsensusState
  nowMs = 0
  openRequests = 0
  mostOpenRequests = 0
  readonly #chain: ServedChain
  readonly #peers = new Map<string, FakePeer>()
  readonly #queue: Timed[] = []
  #order = 0

  constructor(options: SyncWorldOptions) {
    const { chain, ownAddress, verifyMs = () => 1, applyMs = () => 1 } = options
    this.#chain = chain
    this.state = options.state ?? chain.states[0]!
    const environment: FollowerEnvironment = {
      nowMs: () => this.nowMs,
      setTimer: (delayMs, run) => this.at(delayMs, run),
      request: (id, peer, request) => this.#request(id, peer, request),
      verify: (id, checks) => {
        this.at(verifyMs(), () => this.follower.verified(id, checkCommits(checks, verifyFake)))
      },
      prepare: ({ block }) => this.prepared.push(block.header.height),
      apply: (run) => {
        const ms = applyMs()
        const blocks = run.blocks.slice(0, Math.max(1, Math.ceil(RUN_MS / ms)))
        this.runs.push(blocks.length)
        this.at(ms * blocks.length, () => this.#apply(blocks))
      },
      startEngine: () => {
        this.engine.push([this.nowMs, 'start'])
        options.onEngineStarted?.(this)
      },
      stopEngine: () => {
        this.engine.push([this.nowMs, 'stop'])
        this.at(5, () => this.follower.engineStopped(this.state))
      },
      punish: (peer, what, reason) => {
        this.punished.push([peer, what, reason])
        // The network disconnects it, except for a light penalty.
        if (what !== 'unresponsive') this.at(1, () => this.disconnect(peer))
      },
      publish: (status) => this.statuses.push(status),
      halt: (reason) => this.halts.push(reason),
      log: (level, message, fields) => this.logs.push([level, message, fields]),
    }
    this.follower = new Follower({
      environment,
      state: this.state,
      ownAddress,
      verify: verifyFake,
      limits: { ...SYNC_LIMITS, ...options.limits },
    })
  }

  connect(peer: FakePeer): void {
    this.#peers.set(peer.id, peer)
    const { id, base = 1, validatorAddress } = peer
    this.follower.peerJoined({ id, base, height: peer.height(), validatorAddress })
  }

  disconnect(id: string): void {
    if (this.#peers.delete(id)) this.follower.peerLeft(id)
  }

  /** The engine of this node decides the next block. */
  decide(): void {
    const decided = this.#chain.decided[this.state.lastHeight]!
    this.state = this.#chain.advance(this.state, decided)
    this.follower.decided(this.state)
  }

  at(delayMs: number, run: () => void): () => void {
    let isCancelled = false
    const entry = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, run: () => isCancelled || run() }
    this.#queue.push(entry)
    return () => {
      isCancelled = true
    }
  }

  /** Runs until `done`, or for so long. @returns whether it was done */
  run(limitMs: number, done: () => boolean = () => false): boolean {
    const endMs = this.nowMs + limitMs
    while (!done()) {
      let next = 0
      for (const [index, entry] of this.#queue.entries()) {
        const first = this.#queue[next]!
        if (entry.atMs < first.atMs || (entry.atMs === first.atMs && entry.order < first.order)) next = index
      }
      const entry = this.#queue[next]
      if (entry === undefined || entry.atMs > endMs) {
        this.nowMs = endMs
        return done()
      }
      this.#queue.splice(next, 1)
      this.nowMs = entry.atMs
      entry.run()
    }
    return true
  }

  /** Until the engine runs. */
  runToConsensus(limitMs = 600_000): void {
    if (!this.run(limitMs, () => this.follower.status.mode === 'consensus')) {
      throw new Error(`still ${this.follower.status.mode} at height ${this.state.lastHeight} after ${limitMs} ms`)
    }
  }

  #request(id: number, peer: string, request: BlockRequest): void {
    if (request.count > 0) this.requests.push({ ...request, peer, atMs: this.nowMs })
    const reaction = this.#peers.get(peer)?.react(request, this.nowMs)
    this.openRequests++
    this.mostOpenRequests = Math.max(this.mostOpenRequests, this.openRequests)
    const close = (run: () => void) => () => {
      this.openRequests--
      run()
    }
    if (!this.#peers.has(peer))
      this.at(
        0,
        close(() => this.follower.failed(id)),
      )
    else if (reaction === undefined)
      this.at(
        15_000,
        close(() => this.follower.failed(id)),
      )
    else if (reaction.answer === undefined)
      this.at(
        reaction.afterMs,
        close(() => this.follower.failed(id)),
      )
    else {
      const { answer } = reaction
      this.at(
        reaction.afterMs,
        close(() => this.follower.answered(id, answer)),
      )
    }
  }

  /** Executes the blocks of the run that can follow. */
  #apply(blocks: readonly DecidedBlock[]): void {
    let transactions = 0
    for (const [index, decided] of blocks.entries()) {
      const { header, txs } = decided.block
      if (header.height !== this.state.lastHeight + 1) {
        throw new Error(`block ${header.height} after ${this.state.lastHeight}`)
      }
      if (index > 0 && checkBlock(this.state, decided.block, 'verified') !== undefined) break
      this.applied.push(header.height)
      this.state = this.#chain.advance(this.state, decided)
      transactions += txs.length
    }
    this.follower.applied(this.state, transactions)
  }
}

/** An honest peer with the whole chain, or its first `head` blocks. */
export function honestPeer(id: string, chain: ServedChain, head: () => number, latencyMs = 20, base = 1): FakePeer {
  return {
    id,
    base,
    height: head,
    react: (request) => ({ afterMs: latencyMs, answer: chain.serve(request, head(), base) }),
  }
}
