import type { DecidedBlock, DecidedRun } from '../../consensus/application.ts'
import type { ConsensusState } from '../../consensus/consensusState.ts'
import { exceedsThird, isQuorum } from '../../consensus/quorum.ts'
import type { BlockRequest, FetchedBlocks, Misbehaviour, PeerDescription, PeerId } from '../../consensus/transport.ts'
import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import type { VerifySignature } from '../../primitives/ed25519.ts'
import { SmoothedRate, secondsLeft } from '../../telemetry/progress.ts'
import { BlockSync, type KnownHeights, type SyncEffect } from './blockSync.ts'
import type { CommitCheck } from './commitChecks.ts'
import { LagSearch, PROOF_DISTANCE, type ProofPeer } from './lagSearch.ts'
import { misbehaviourIn } from './misbehaviourIn.ts'
import { SYNC_LIMITS, type SyncLimits } from './syncLimits.ts'
import type { SyncMode, SyncStatus } from './syncStatus.ts'

/** The follower's interface to the rest of the node. Answers come back through its functions, at once or later. */
export interface FollowerEnvironment {
  /** milliseconds, monotonic */
  nowMs(): number
  /** @returns a function that cancels it */
  setTimer(delayMs: number, run: () => void): () => void
  /** answered by `answered` or `failed` */
  request(id: number, peer: PeerId, request: BlockRequest): void
  /** answered by `verified` */
  verify(id: number, checks: readonly CommitCheck[]): void
  /** called with a block that was decided and will be applied soon: its senders can be recovered now */
  prepare(decided: DecidedBlock): void
  /** answered by `applied` */
  apply(run: DecidedRun): void
  /** Starts consensus after the newest block; from now on the node votes. */
  startEngine(): void
  /** answered by `engineStopped` */
  stopEngine(): void
  punish(peer: PeerId, what: Misbehaviour, reason: string): void
  publish(status: SyncStatus): void
  /** Stops the node, which cannot continue. */
  halt(reason: string): void
  log(level: 'info' | 'warn', message: string, fields: Readonly<Record<string, unknown>>): void
}

interface FollowerOptions {
  readonly environment: FollowerEnvironment
  /** after the newest block */
  readonly state: ConsensusState
  /** of this node's validator key, 20 bytes; read each time, as the key may change */
  readonly ownAddress: Uint8Array | undefined
  readonly verify?: VerifySignature
  readonly limits?: SyncLimits
}

/** `consensus`: the engine advances the chain; `syncing`: block sync does; `stopping`: the engine stops, then sync begins. */
type Phase = 'idle' | 'waiting' | 'syncing' | 'consensus' | 'stopping' | 'stopped'

interface KnownPeer {
  readonly base: number
  readonly height: number
  /** that it has proved to be */
  readonly validatorAddress: Uint8Array | undefined
}

const TICK_MS = 100
/** Peers that are not in consensus send no status, so they are asked for their height. */
const POLL_MS = 2_000
/** How long to wait after the first peer for others, which may be further ahead. */
const MORE_PEERS_MS = 500
/** A node without any peer starts consensus after this time, so that it can serve peers that connect later. */
const NO_PEER_MS = 30_000
/** Time between attempts to prove that the node is behind. It doubles after each sync that got no block. */
const RETRY_MS = 2_000
const MAX_RETRY_MS = 300_000
/** How many peers are remembered that were asked for a proof. */
const MAX_SEARCHED = 1_024

/**
 * Decides whether this node takes part in consensus or syncs blocks, and runs the sync ({@link BlockSync}).
 * - At the start it waits for a first peer, and syncs if that peer is ahead. A validator with more than two thirds of the power does
 *   not wait, because no block can have been decided without it.
 * - A node leaves consensus only with a proof that it is behind, which no peer can invent (lagSearch.ts): otherwise lying peers could
 *   keep validators from voting.
 * - It returns to consensus when {@link BlockSync.isDone}: what more than a third of the power claims, or a proof has shown, decides on
 *   that, where it is known, and not what strangers claim. Peers that lied are ignored until they connect again.
 */
export class Follower {
  readonly #environment: FollowerEnvironment
  readonly #options: FollowerOptions
  readonly #limits: SyncLimits
  readonly #peers = new Map<PeerId, KnownPeer>()
  /** peers that have lied since they connected */
  readonly #liars = new Set<PeerId>()
  /** the peer that was asked for its height, and its claim then */
  readonly #polls = new Map<number, { readonly peer: PeerId; readonly claimedHeight: number }>()
  /**
   * when a validator, or a peer that is not a validator, was last asked for a proof that this node
   * is behind; the longest ago first
   */
  readonly #searchedMs = new Map<string, number>()
  readonly #queue: SyncEffect[] = []
  #state: ConsensusState
  #phase: Phase = 'idle'
  #startingHeight: number
  #sync: BlockSync | undefined
  #progress: SyncProgress | undefined
  #search: LagSearch | undefined
  #isDraining = false
  #lastId = 0
  #cancelTick: (() => void) | undefined
  #beganMs: number
  #firstPeerMs: number | undefined
  #polledMs = Number.NEGATIVE_INFINITY
  #decidedMs: number
  #notBeforeMs = 0
  /** that the last proof has shown */
  #provenHeight = 0
  #retryMs = RETRY_MS

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#environment = options.environment
    this.#limits = options.limits ?? SYNC_LIMITS
    this.#state = options.state
    this.#startingHeight = options.state.lastHeight
    this.#beganMs = this.#environment.nowMs()
    this.#decidedMs = this.#beganMs
  }

  get status(): SyncStatus {
    const currentHeight = this.#state.lastHeight
    const modes: Readonly<Record<Phase, SyncMode>> = {
      idle: 'waiting',
      waiting: 'waiting',
      syncing: 'syncing',
      consensus: 'consensus',
      stopping: 'syncing',
      stopped: 'waiting',
    }
    let highestHeight = currentHeight
    // In consensus, the peers' claims are not checked.
    if (this.#phase !== 'consensus') {
      const { agreed } = this.#knownHeights()
      highestHeight = Math.max(highestHeight, agreed ?? this.#sync?.bestHeight ?? this.#bestClaim())
    }
    return { mode: modes[this.#phase], startingHeight: this.#startingHeight, currentHeight, highestHeight }
  }

  /** Starts. Before that, peers are only recorded. */
  start(): void {
    this.#phase = 'waiting'
    this.#beganMs = this.#environment.nowMs()
    const { validators } = this.#state
    const { ownAddress } = this.#options
    const own = validators.validators.find(({ address }) => ownAddress !== undefined && equalBytes(address, ownAddress))
    // Any other validator first asks peers for their height, because its directory may be an old copy.
    if (own !== undefined && isQuorum(own.power, validators)) {
      this.#enterConsensus()
      return
    }
    this.#environment.log('info', 'waiting for a first peer', { height: this.#state.lastHeight })
    this.#publish()
    if (this.#bestClaim() > this.#state.lastHeight + 1) this.#beginSync()
    else this.#tick()
  }

  /** Stops. Later calls do nothing. The caller stops the engine. */
  stop(): void {
    this.#phase = 'stopped'
    this.#cancelTick?.()
    this.#cancelTick = undefined
    this.#sync = undefined
    this.#search = undefined
    this.#queue.length = 0
  }

  // What peers do

  peerJoined({ id, base, height, validatorAddress }: PeerDescription): void {
    this.#liars.delete(id)
    this.#peers.set(id, { base, height, validatorAddress })
    this.#firstPeerMs ??= this.#environment.nowMs()
    this.#onClaim(id)
  }

  peerLeft(id: PeerId): void {
    this.#peers.delete(id)
    this.#liars.delete(id)
    for (const [poll, { peer }] of this.#polls) if (peer === id) this.#polls.delete(poll)
    if (this.#sync !== undefined) this.#carryOut(this.#sync.onPeerGone(id, this.#environment.nowMs()))
  }

  /** Called when a peer announces that it has decided `height`. */
  peerAt(id: PeerId, height: number): void {
    const peer = this.#peers.get(id)
    if (peer === undefined || height <= peer.height) return
    this.#peers.set(id, { ...peer, height })
    this.#onClaim(id)
  }

  answered(id: number, answer: FetchedBlocks): void {
    const polled = this.#polls.get(id)
    if (polled !== undefined) {
      this.#polls.delete(id)
      this.#onPoll(polled, answer)
      return
    }
    if (this.#search?.isOpen(id) === true) {
      const finding = this.#search.answered(id, answer, this.#state)
      if (finding?.kind === 'ahead') this.#leaveConsensus(finding.height, answer.height)
      else if (finding !== undefined) this.#punish(finding.peer, finding.what, finding.reason)
    } else if (this.#sync !== undefined) this.#carryOut(this.#sync.answered(id, answer, this.#environment.nowMs()))
  }

  failed(id: number): void {
    if (this.#polls.delete(id)) return
    const peer = this.#search?.failed(id)
    if (peer !== undefined) this.#environment.punish(peer, 'unresponsive', 'a request for a proof ran out')
    else if (this.#sync !== undefined) this.#carryOut(this.#sync.failed(id, this.#environment.nowMs()))
  }

  // What this node does

  verified(id: number, reasons: readonly (string | undefined)[]): void {
    if (this.#sync !== undefined) this.#carryOut(this.#sync.verified(id, reasons, this.#environment.nowMs()))
  }

  /**
   * @param state after the applied blocks
   * @param transactions number of transactions in them, for the log
   */
  applied(state: ConsensusState, transactions: number): void {
    if (this.#sync === undefined) return
    const nowMs = this.#environment.nowMs()
    this.#state = state
    this.#progress?.count(transactions)
    this.#carryOut(this.#sync.applied(state, nowMs))
    this.#publish()
    this.#endSync(nowMs)
  }

  /** Called when the engine has decided a block. */
  decided(state: ConsensusState): void {
    if (this.#phase !== 'consensus' && this.#phase !== 'stopping') return
    this.#state = state
    this.#decidedMs = this.#environment.nowMs()
    this.#publish()
  }

  /** Called repeatedly while the engine reports that peers are far ahead. */
  onBehind(peerHeight: number): void {
    const nowMs = this.#environment.nowMs()
    if (this.#phase !== 'consensus' || this.#search?.isOver === false || nowMs < this.#notBeforeMs) return
    this.#notBeforeMs = nowMs + RETRY_MS
    const search = new LagSearch(this.#state, nowMs - this.#decidedMs, this.#options.verify)
    this.#search = search
    const fields = { height: this.#state.lastHeight, peerHeight }
    this.#environment.log('info', 'peers say that they are far ahead: asking for proof', fields)
    const requests = search.begin(this.#proofPeers(), () => ++this.#lastId)
    for (const { id, peer, height } of requests) {
      this.#setSearched(peer, nowMs)
      this.#environment.request(id, peer, { from: height, count: 1, maxBytes: this.#limits.requestBytes })
    }
  }

  /**
   * Returns the peers to ask for a proof: one node of each validator first, since strangers may
   * only pretend to be ahead and connect again as new peers. Of equal ones those come first that
   * were not asked for the longest time.
   */
  #proofPeers(): readonly ProofPeer[] {
    const nodes = new Map<string, ProofPeer & { readonly isValidator: boolean; readonly searchedMs: number }>()
    for (const [id, peer] of this.#peers) {
      if (this.#liars.has(id)) continue
      const { key, isValidator } = this.#claimantOf(id)
      if ((nodes.get(key)?.height ?? -1) >= peer.height) continue
      nodes.set(key, { ...peer, id, isValidator, searchedMs: this.#searchedMs.get(key) ?? Number.NEGATIVE_INFINITY })
    }
    return [...nodes.values()].sort((a, b) =>
      a.isValidator === b.isValidator ? (a.searchedMs < b.searchedMs ? -1 : 1) : a.isValidator ? -1 : 1,
    )
  }

  #setSearched(peer: PeerId, nowMs: number): void {
    const { key } = this.#claimantOf(peer)
    this.#searchedMs.delete(key)
    this.#searchedMs.set(key, nowMs)
    if (this.#searchedMs.size > MAX_SEARCHED) this.#searchedMs.delete(this.#searchedMs.keys().next().value!)
  }

  /** Returns the claimant that a peer speaks for: the validator that it has proved to be, or itself. */
  #claimantOf(id: PeerId): { readonly key: string; readonly isValidator: boolean } {
    const address = this.#peers.get(id)?.validatorAddress
    const isValidator =
      address !== undefined && this.#state.validators.validators.some((other) => equalBytes(other.address, address))
    return { key: isValidator ? bytesKey(address) : id, isValidator }
  }

  engineStopped(state: ConsensusState): void {
    if (this.#phase !== 'stopping') return
    this.#state = state
    this.#beginSync()
  }

  // Modes

  #enterConsensus(): void {
    this.#phase = 'consensus'
    this.#search = undefined
    this.#startingHeight = this.#state.lastHeight
    this.#decidedMs = this.#environment.nowMs()
    this.#cancelTick?.()
    this.#cancelTick = undefined
    this.#polls.clear()
    this.#environment.log('info', 'taking part in consensus', { height: this.#state.lastHeight })
    this.#environment.startEngine()
    this.#publish()
  }

  #leaveConsensus(provenHeight: number, peerHeight: number): void {
    this.#provenHeight = provenHeight
    this.#search = undefined
    this.#phase = 'stopping'
    const { lastHeight } = this.#state
    this.#environment.log('warn', 'behind the network: leaving consensus to sync', { height: lastHeight, peerHeight })
    this.#publish()
    this.#environment.stopEngine()
  }

  #beginSync(): void {
    const nowMs = this.#environment.nowMs()
    this.#phase = 'syncing'
    this.#startingHeight = this.#state.lastHeight
    this.#progress = new SyncProgress(this.#state.lastHeight, nowMs)
    const sync = new BlockSync(this.#state, this.#limits, nowMs, () => ++this.#lastId, this.#provenHeight)
    this.#sync = sync
    this.#environment.log('info', 'syncing blocks', { height: this.#state.lastHeight, best: this.#bestClaim() })
    for (const [id, { base, height }] of this.#peers) {
      if (!this.#liars.has(id)) this.#carryOut(sync.onPeer(id, base, height, nowMs))
    }
    this.#publish()
    this.#tick()
  }

  #endSync(nowMs: number): void {
    const sync = this.#sync
    const known = this.#knownHeights()
    if (sync === undefined || this.#isDraining || !sync.isDone(nowMs, known)) return
    const blocks = this.#state.lastHeight - this.#startingHeight
    this.#retryMs = blocks > 0 ? RETRY_MS : Math.min(this.#retryMs * 2, MAX_RETRY_MS)
    this.#notBeforeMs = nowMs + this.#retryMs
    const fields = { height: this.#state.lastHeight, blocks, ...this.#progress?.total(this.#state.lastHeight, nowMs) }
    if (sync.isStalled(nowMs, known.isValidator)) {
      this.#environment.log('warn', 'no peer serves a next block in time: sync ends', {
        ...fields,
        claimed: sync.bestHeight,
        ...sync.countPeers(),
      })
    } else {
      this.#environment.log('info', 'synced', fields)
    }
    this.#sync = undefined
    this.#progress = undefined
    this.#enterConsensus()
  }

  #tick(): void {
    this.#cancelTick?.()
    this.#cancelTick = this.#environment.setTimer(TICK_MS, () => this.#tick())
    const nowMs = this.#environment.nowMs()
    this.#poll(nowMs)
    if (this.#phase === 'waiting') this.#endWaiting(nowMs)
    if (this.#sync === undefined) return
    this.#carryOut(this.#sync.tick(nowMs))
    this.#logProgress(nowMs)
    this.#endSync(nowMs)
  }

  #endWaiting(nowMs: number): void {
    const isAlone = this.#peers.size === 0
    if (isAlone ? nowMs - this.#beganMs < NO_PEER_MS : nowMs - this.#firstPeerMs! < MORE_PEERS_MS) return
    if (isAlone) this.#environment.log('warn', 'no peer yet: starting without', { waitedMs: NO_PEER_MS })
    this.#enterConsensus()
  }

  #logProgress(nowMs: number): void {
    const report = this.#progress?.report(this.#state.lastHeight, this.status.highestHeight, nowMs)
    if (report === undefined || this.#sync === undefined) return
    if (this.#sync.isStranded()) {
      const lowest = this.#sync.lowestServed()
      this.#environment.log('warn', 'no peer has the next block any more: a peer with older blocks is needed', {
        next: this.#state.lastHeight + 1,
        lowest,
      })
    } else {
      this.#environment.log('info', 'syncing blocks', report)
    }
  }

  // Peers' heights

  /** Heights that outweigh a stranger's claim: see {@link KnownHeights}. */
  #knownHeights(): KnownHeights {
    const { validators } = this.#state
    const { ownAddress } = this.#options
    const isOwn = (address: Uint8Array) => ownAddress !== undefined && equalBytes(address, ownAddress)
    if (!validators.validators.some(({ address }) => isOwn(address))) return { isValidator: false, agreed: undefined }
    const heights = new Map<string, number>()
    for (const { validatorAddress, height } of this.#peers.values()) {
      if (validatorAddress === undefined || isOwn(validatorAddress)) continue
      const key = bytesKey(validatorAddress)
      heights.set(key, Math.max(heights.get(key) ?? 0, height))
    }
    const claims = validators.validators.flatMap(({ address, power }) => {
      const height = heights.get(bytesKey(address))
      return height === undefined ? [] : [{ height, power }]
    })
    let power = 0n
    for (const claim of claims.sort((a, b) => b.height - a.height)) {
      power += claim.power
      if (exceedsThird(power, validators)) return { isValidator: true, agreed: claim.height }
    }
    return { isValidator: true, agreed: undefined }
  }

  #bestClaim(): number {
    let best = 0
    for (const [id, { height }] of this.#peers) if (!this.#liars.has(id)) best = Math.max(best, height)
    return best
  }

  #onClaim(id: PeerId): void {
    if (this.#liars.has(id)) return
    const { base, height } = this.#peers.get(id)!
    if (this.#phase === 'waiting') {
      if (height > this.#state.lastHeight + 1) this.#beginSync()
    } else if (this.#phase === 'consensus') {
      if (height > this.#state.lastHeight + 2 * PROOF_DISTANCE) this.onBehind(height)
    } else if (this.#sync !== undefined) {
      this.#carryOut(this.#sync.onPeer(id, base, height, this.#environment.nowMs()))
    }
  }

  #poll(nowMs: number): void {
    if (nowMs - this.#polledMs < POLL_MS) return
    this.#polledMs = nowMs
    const waiting = new Set([...this.#polls.values()].map(({ peer }) => peer))
    for (const [peer, { height: claimedHeight }] of this.#peers) {
      if (waiting.has(peer) || this.#sync?.isAsked(peer) === true) continue
      const id = ++this.#lastId
      this.#polls.set(id, { peer, claimedHeight })
      this.#environment.request(id, peer, { from: 0, count: 0, maxBytes: 0 })
    }
  }

  #onPoll(
    { peer: id, claimedHeight }: { readonly peer: PeerId; readonly claimedHeight: number },
    answer: FetchedBlocks,
  ): void {
    const known = this.#peers.get(id)
    if (known === undefined) return
    const found = misbehaviourIn({ from: 0, count: 0, claimedHeight }, answer)
    if (found !== undefined) {
      this.#punish(id, found[0], found[1])
      return
    }
    const { base, height } = answer
    this.#peers.set(id, { ...known, base, height: Math.max(height, known.height) })
    this.#onClaim(id)
  }

  // Effects

  /** Carries effects out in their order, also when an answer comes meanwhile. */
  #carryOut(effects: readonly SyncEffect[]): void {
    this.#queue.push(...effects)
    if (this.#isDraining) return
    this.#isDraining = true
    try {
      for (let effect = this.#queue.shift(); effect !== undefined; effect = this.#queue.shift()) this.#perform(effect)
    } finally {
      this.#isDraining = false
    }
  }

  #perform(effect: SyncEffect): void {
    switch (effect.kind) {
      case 'request':
        this.#environment.request(effect.id, effect.peer, effect.request)
        break
      case 'verify':
        this.#environment.verify(effect.id, effect.checks)
        break
      case 'prepare':
        this.#environment.prepare(effect.decided)
        break
      case 'apply':
        this.#environment.apply(effect.run)
        break
      case 'punish':
        this.#punish(effect.peer, effect.what, effect.reason)
        break
      case 'halt':
        this.stop()
        this.#environment.halt(effect.reason)
        break
    }
  }

  #punish(peer: PeerId, what: Misbehaviour, reason: string): void {
    // An unresponsive peer may only be slow; it has not lied.
    if (what !== 'unresponsive') this.#liars.add(peer)
    this.#environment.punish(peer, what, reason)
  }

  #publish(): void {
    this.#environment.publish(this.status)
  }
}

const REPORT_MS = 10_000

/** Counts blocks and transactions of a sync, for the log. */
class SyncProgress {
  readonly #beganMs: number
  readonly #beganHeight: number
  readonly #blockRate: SmoothedRate
  readonly #transactionRate: SmoothedRate
  #transactions = 0
  #reportedMs: number

  constructor(height: number, nowMs: number) {
    this.#beganMs = nowMs
    this.#beganHeight = height
    this.#blockRate = new SmoothedRate(nowMs)
    this.#transactionRate = new SmoothedRate(nowMs)
    this.#reportedMs = nowMs
    this.#measure(height, nowMs)
  }

  /** Called when blocks with this many transactions were applied. */
  count(transactions: number): void {
    this.#transactions += transactions
  }

  /** Called often. @returns fields of a log line, every ten seconds; undefined in between */
  report(height: number, target: number, nowMs: number): Readonly<Record<string, number | undefined>> | undefined {
    this.#measure(height, nowMs)
    if (nowMs - this.#reportedMs < REPORT_MS) return undefined
    this.#reportedMs = nowMs
    const blocksPerSecond = this.#blockRate.perSecond()
    return {
      height,
      target,
      remaining: Math.max(0, target - height),
      secondsLeft: secondsLeft(height, target, blocksPerSecond),
      blocksPerSecond: Math.round(blocksPerSecond),
      transactionsPerSecond: Math.round(this.#transactionRate.perSecond()),
    }
  }

  #measure(height: number, nowMs: number): void {
    this.#blockRate.measure(height, nowMs)
    this.#transactionRate.measure(this.#transactions, nowMs)
  }

  /** Fields with the averages of the whole sync. */
  total(height: number, nowMs: number): Readonly<Record<string, number>> {
    const elapsedMs = nowMs - this.#beganMs
    return {
      seconds: Math.round(elapsedMs / 100) / 10,
      transactions: this.#transactions,
      blocksPerSecond: perSecond(height - this.#beganHeight, elapsedMs),
      transactionsPerSecond: perSecond(this.#transactions, elapsedMs),
    }
  }
}

function perSecond(count: number, elapsedMs: number): number {
  return elapsedMs <= 0 ? 0 : Math.round((count * 1000) / elapsedMs)
}
