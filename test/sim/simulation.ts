import type { RankedValidatorSet, Validator, Vote } from '../../src/chain/comet/types.ts'
import { createRankedSet, proposerAt } from '../../src/chain/comet/validatorSet.ts'
import type { ConsensusTiming, EvidenceParams } from '../../src/chain/genesis/chainConfig.ts'
import type { ValidatorUpdate } from '../../src/consensus/application.ts'
import { ConsensusEngine, type EngineOptions } from '../../src/consensus/engine.ts'
import type { ConsensusMessage } from '../../src/consensus/messages.ts'
import type { PeerId } from '../../src/consensus/transport.ts'
import { bytesKey } from '../../src/primitives/bytes.ts'
import { createRandom, type Random } from '../fuzz/random.ts'
import type { Byzantine } from './byzantine/byzantine.ts'
import type { EngineLike } from './engineLike.ts'
import { EventQueue } from './eventQueue.ts'
import { describeVote, Monitor, type Violation } from './monitor.ts'
import { ed25519Scheme, keyedHashScheme, type SignatureScheme, type SimKey } from './signatureScheme.ts'
import { DEFAULT_TIMING, type SimChain } from './simChain.ts'
import { SimNetwork } from './simNetwork.ts'
import { SimNode } from './simNode.ts'

export interface SimulationOptions {
  readonly seed: number
  /** nodes with a key of the first validator set, or of a later one */
  readonly validators: number
  /** nodes without a key that follow; they come after the validators */
  readonly fullNodes?: number
  /** by index; 0: not in the first set; default 10 each */
  readonly powers?: readonly number[]
  /** by index of the node */
  readonly byzantine?: ReadonlyMap<number, Byzantine>
  /** ed25519 in place of the keyed hash */
  readonly realKeys?: boolean
  readonly timing?: Partial<ConsensusTiming>
  readonly evidence?: Partial<EvidenceParams>
  readonly intervalMs?: number
  readonly maxBlockBytes?: number
  readonly segmentBytes?: number
  readonly durableEvery?: number
  readonly updatesAt?: (
    height: number,
    keys: readonly SimKey[],
    nextKeys: readonly SimKey[],
  ) => readonly ValidatorUpdate[]
  /** each validator has a second key, to which `updatesAt` may let it rotate */
  readonly rotates?: boolean
  /** a validator that evidence is about is removed from the set */
  readonly jails?: boolean
  readonly makeTxs?: (height: number, random: Random) => readonly Uint8Array[]
  /** node `index` runs with the key of node `twins.get(index)` */
  readonly twins?: ReadonlyMap<number, number>
  /** keys of honest validators are in remote signers */
  readonly remoteSigners?: boolean
  /** block sync is production's, in place of a plain stand-in */
  readonly followsSync?: boolean
  /** an engine that a test has damaged, for all honest nodes */
  readonly createEngine?: (options: EngineOptions, node: SimNode) => EngineLike
  readonly trace?: (line: string) => void
  /** whether a node may refuse to go on: a failing disk, a damaged log */
  readonly expectsHalt?: (node: SimNode, error: Error) => boolean
}

const GENESIS_TIME_MS = 1_800_000_000_000
const CHAIN_ID = 'sim_76287-1'

const DEFAULT_EVIDENCE: EvidenceParams = { maxAgeBlocks: 100_000, maxAgeMs: 172_800_000, maxBytes: 65_536 }

/** A world of nodes whose every event depends on the seed alone. */
export class Simulation {
  readonly options: SimulationOptions
  readonly queue = new EventQueue()
  readonly random: Random
  readonly scheme: SignatureScheme
  readonly chain: SimChain
  readonly network: SimNetwork
  readonly monitor: Monitor
  readonly nodes: readonly SimNode[]
  readonly keys: readonly SimKey[]
  /** by index of the first key; empty where nobody rotates */
  readonly nextKeys: readonly SimKey[]
  readonly segmentBytes: number
  readonly durableEvery: number
  readonly jails: boolean
  readonly followsSync: boolean
  readonly updatesAt: (height: number) => readonly ValidatorUpdate[]
  readonly makeTxs: (height: number, random: Random) => readonly Uint8Array[]
  /** heights by node and virtual time, for measurements of intervals */
  readonly decisions: {
    readonly node: number
    readonly height: number
    readonly atMs: number
    readonly round: number
  }[] = []
  readonly equivocations: { readonly node: number; readonly vote: Vote }[] = []
  readonly #faulty = new Set<number>()
  /** of byzantine nodes, and of keys that run twice */
  readonly #byzantineKeys = new Set<string>()

  #mayConnect: (a: number, b: number) => boolean = () => true
  /** what a scenario does to single messages: 'drop', or milliseconds that one is held up; undefined: nothing */
  rule: ((from: number, to: number, message: ConsensusMessage) => number | 'drop' | undefined) | undefined
  /** no more faults */
  isCalm = false

  constructor(options: SimulationOptions) {
    this.options = options
    const { seed, validators, fullNodes = 0, byzantine = new Map(), twins } = options
    this.random = createRandom(seed, 0)
    this.scheme = options.realKeys === true ? ed25519Scheme() : keyedHashScheme()
    const keyRandom = createRandom(seed, 1)
    this.keys = Array.from({ length: validators }, () => this.scheme.createKey(keyRandom))
    this.chain = this.#makeChain()
    this.segmentBytes = options.segmentBytes ?? 64 << 10
    this.durableEvery = options.durableEvery ?? 3
    const nextKeyRandom = createRandom(seed, 5)
    this.nextKeys = Array.from({ length: options.rotates === true ? validators : 0 }, () =>
      this.scheme.createKey(nextKeyRandom),
    )
    const { updatesAt, makeTxs } = options
    this.updatesAt = (height) => updatesAt?.(height, this.keys, this.nextKeys) ?? []
    this.jails = options.jails ?? false
    this.followsSync = options.followsSync ?? false
    this.makeTxs = makeTxs ?? ((_height, random) => [random.bytes(1 + random.below(60)).fill(7, 0, 1)])
    const size = validators + fullNodes
    this.network = new SimNetwork(this.queue, createRandom(seed, 2), size)
    for (const index of byzantine.keys()) {
      const key = this.keys[twins?.get(index) ?? index]
      if (key !== undefined) this.#byzantineKeys.add(bytesKey(key.address))
    }
    for (const [twin, original] of twins ?? []) {
      for (const index of [twin, original]) this.#byzantineKeys.add(bytesKey(this.keys[index % validators]!.address))
    }
    this.monitor = new Monitor({
      chain: this.chain,
      verify: this.scheme.verify,
      nowMs: () => this.queue.nowMs,
      isHonest: (address) => !this.#byzantineKeys.has(bytesKey(address)),
    })
    this.nodes = Array.from({ length: size }, (_, index) => {
      const key = this.keys[twins?.get(index) ?? index]
      return new SimNode({
        index,
        simulation: this,
        key,
        nextKeys: byzantine.has(index) ? [] : this.nextKeys.slice(index, index + 1),
        random: createRandom(seed, 10 + index),
        byzantine: byzantine.get(index),
      })
    })
    this.network.attach(this.nodes)
  }

  #makeChain(): SimChain {
    const { options, keys, random } = this
    const entries = keys.map(({ publicKey }, index) => ({ publicKey, power: BigInt(options.powers?.[index] ?? 10) }))
    return {
      chainId: CHAIN_ID,
      genesisHash: random.bytes(32),
      genesisTimeMs: GENESIS_TIME_MS,
      genesisAppHash: random.bytes(32),
      appVersion: 1,
      params: { maxBytes: options.maxBlockBytes ?? 2_000_000, maxGas: 30_000_000 },
      timing: { ...DEFAULT_TIMING, ...options.timing },
      evidence: { ...DEFAULT_EVIDENCE, ...options.evidence },
      intervalMs: options.intervalMs ?? 400,
      validators: createRankedSet(entries.filter(({ power }) => power > 0n)),
    }
  }

  peerId(index: number): PeerId {
    return `n${index}`
  }

  peerIndex(peer: PeerId): number {
    return Number(peer.slice(1))
  }

  get honest(): readonly SimNode[] {
    return this.nodes.filter(({ isHonest }) => isHonest)
  }

  get violations(): readonly Violation[] {
    return this.monitor.violations
  }

  isHonestKey(address: Uint8Array): boolean {
    return !this.#byzantineKeys.has(bytesKey(address))
  }

  /** Nodes that never connect directly; `which` says who does. */
  limitConnections(which: (a: number, b: number) => boolean): void {
    this.#mayConnect = which
  }

  mayConnect(a: number, b: number): boolean {
    return this.#mayConnect(Math.max(a, b), Math.min(a, b))
  }

  /** Leaves each node about so many peers, so that all honest ones still reach each other without byzantine help. */
  thinOut(random: Random, peers: number): void {
    const size = this.nodes.length
    const kept = new Set<number>()
    const keep = (a: number, b: number) => kept.add(Math.max(a, b) * size + Math.min(a, b))
    const honest = this.honest.map(({ index }) => index)
    for (const [position, index] of honest.entries()) keep(index, honest[(position + 1) % honest.length]!)
    for (let a = 0; a < size; a++) {
      for (let i = 0; i < peers / 2; i++) keep(a, random.below(size))
    }
    this.limitConnections((a, b) => kept.has(a * size + b))
  }

  /** Connects everybody with everybody that it may connect to. */
  connectAll(): void {
    for (let a = 0; a < this.nodes.length; a++) {
      for (let b = 0; b < a; b++) if (this.mayConnect(a, b)) this.network.connect(a, b)
    }
  }

  startAll(): void {
    for (const node of this.nodes) node.start()
  }

  createEngine(options: EngineOptions, node: SimNode): EngineLike {
    const { createEngine } = this.options
    return createEngine === undefined || !node.isHonest ? new ConsensusEngine(options) : createEngine(options, node)
  }

  expectsHalt(node: SimNode, error: Error): boolean {
    return this.options.expectsHalt?.(node, error) ?? false
  }

  isTwin(index: number): boolean {
    const { twins } = this.options
    return twins !== undefined && (twins.has(index) || [...twins.values()].includes(index))
  }

  proposerOf(set: RankedValidatorSet, round: number): Validator {
    return proposerAt(set, round)
  }

  /** A byzantine validator has signed against a vote of its own, and sends it. */
  equivocated(node: SimNode, vote: Vote): void {
    this.equivocations.push({ node: node.index, vote })
  }

  /** Votes with a node's key turn up that its log does not know. */
  unknownSignature(node: SimNode, vote: Vote): void {
    if (node.isHonest && !node.isRestored && this.isHonestKey(vote.validatorAddress)) {
      this.monitor.report('forgot a signature', `node ${node.index}: ${describeVote(vote)}`)
    }
  }

  /** The node's own computations are wrong on purpose: what it decides and whom it punishes is not checked. */
  toleratesFault(index: number): void {
    this.#faulty.add(index)
  }

  isFaulty(index: number): boolean {
    return this.#faulty.has(index)
  }

  punished(node: SimNode, peer: PeerId, what: string, reason: string): void {
    this.trace(node.index, `punishes ${peer}: ${what}, ${reason}`)
    const index = this.peerIndex(peer)
    if (what === 'unresponsive' || this.isFaulty(index) || this.isFaulty(node.index)) return
    if (node.isHonest && this.nodes[index]?.isHonest === true) {
      this.monitor.report('honest peer punished', `node ${node.index} punishes ${index}: ${what}, ${reason}`)
    }
  }

  /** A process has ended: its peers lose the connections. */
  processEnded(node: SimNode): void {
    for (const peer of this.network.peersOf(node.index)) this.network.disconnect(node.index, peer)
  }

  recordDecision(node: SimNode, height: number, round: number): void {
    this.decisions.push({ node: node.index, height, round, atMs: this.queue.nowMs })
  }

  trace(node: number, text: string): void {
    this.options.trace?.(`${this.queue.nowMs.toFixed(1).padStart(10)} n${node} ${text}`)
  }

  get traces(): boolean {
    return this.options.trace !== undefined
  }

  voteSigned(vote: Vote): void {
    this.monitor.voteSigned(vote)
  }

  /**
   * Runs until `isDone`, a violation, or the end of the time.
   * @returns whether `isDone` was reached
   */
  run(untilMs: number, isDone: () => boolean = () => false): boolean {
    const { violations } = this.monitor
    while (violations.length === 0) {
      if (isDone()) return true
      if (!this.queue.step(untilMs)) return isDone()
    }
    return false
  }

  /** Lowest height that all these nodes have executed. */
  lowestHeight(nodes: readonly SimNode[] = this.honest): number {
    return Math.min(...nodes.map(({ application }) => application.height))
  }

  /** Runs until all honest nodes have executed block `height`. */
  runToHeight(height: number, limitMs: number, nodes: readonly SimNode[] = this.honest): boolean {
    return this.run(this.queue.nowMs + limitMs, () => nodes.every(({ application }) => application.height >= height))
  }
}
