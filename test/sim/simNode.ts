import { decodeEvidence, encodeEvidence } from '../../src/chain/comet/evidence.ts'
import type { Evidence, Vote } from '../../src/chain/comet/types.ts'
import { validatorIndexOf } from '../../src/chain/comet/validatorSet.ts'
import { createClockWatch } from '../../src/consensus/clockWatch.ts'
import type { EvidenceStore } from '../../src/consensus/evidenceStore.ts'
import { type ConsensusMessage, decodeConsensusMessage, encodeConsensusMessage } from '../../src/consensus/messages.ts'
import { equalBytes } from '../../src/primitives/bytes.ts'
import type { Random } from '../fuzz/random.ts'
import type { Byzantine } from './byzantine/byzantine.ts'
import { type EncodedBlock, encodeServed } from './encodedBlock.ts'
import type { EngineLike } from './engineLike.ts'
import { fingerprint } from './fingerprint.ts'
import { SimRemoteSigner } from './remoteSigner.ts'
import type { SimKey } from './signatureScheme.ts'
import { SimApplication } from './simApplication.ts'
import { type CrashKind, SimDisk } from './simDisk.ts'
import { SimProcess } from './simProcess.ts'
import type { Simulation } from './simulation.ts'

interface SimNodeOptions {
  readonly index: number
  readonly simulation: Simulation
  /** undefined: a full node */
  readonly key: SimKey | undefined
  /** to which its validator rotates, in order */
  readonly nextKeys?: readonly SimKey[]
  readonly random: Random
  readonly byzantine: Byzantine | undefined
}

/** Virtual durations of the application's work, milliseconds. */
interface WorkTimes {
  buildMs: number
  validateMs: number
  finalizeMs: number
}

/** A node's data directory. */
interface Backup {
  readonly disk: SimDisk
  readonly application: SimApplication
  readonly evidenceTexts: ReadonlyMap<string, string>
}

/** Networks of more nodes decode a message once for all who get it. */
const MOST_DECODERS = 8

/** A machine with a node on it: its disk and application outlive the process. */
export class SimNode {
  readonly index: number
  readonly id: string
  readonly key: SimKey | undefined
  /** all its keys, the first one included */
  readonly keys: readonly SimKey[]
  readonly simulation: Simulation
  readonly random: Random
  readonly byzantine: Byzantine | undefined
  disk: SimDisk
  application: SimApplication
  process: SimProcess | undefined
  readonly work: WorkTimes = { buildMs: 3, validateMs: 2, finalizeMs: 5 }
  /** wall clock minus virtual time since the genesis */
  clockOffsetMs = 0
  isUp = false
  /** counts starts and ends, so that work of an earlier process can be recognized */
  incarnation = 0
  /** why the node will not go on by itself */
  halted: Error | undefined
  /** calls of the environment so far, and at which the process is killed */
  calls = 0
  crashAt: { readonly call: number; readonly kind: CrashKind } | undefined
  /** how often it left consensus to sync */
  syncs = 0
  /** votes of its own key that its log does not know */
  unknownSignatures = 0
  /** what its log says about its clock */
  readonly clockLines: string[] = []
  readonly watchClock: ReturnType<typeof createClockWatch>
  /** its directory is a copy, and this the height of the mark in it */
  copyMark: number | undefined
  /** undefined: its key is in its process */
  readonly remoteSigner: SimRemoteSigner | undefined
  /** votes that its processes have signed */
  readonly signedVotes: Vote[] = []
  /** an older data directory was put in place of its own */
  isRestored = false
  /** texts of the evidence pool */
  readonly #evidenceTexts = new Map<string, string>()
  /** what the process that starts next has to remember */
  #expected: string | undefined

  constructor({ index, simulation, key, nextKeys = [], random, byzantine }: SimNodeOptions) {
    this.index = index
    this.id = simulation.peerId(index)
    this.key = key
    this.keys = key === undefined ? [] : [key, ...nextKeys]
    this.simulation = simulation
    this.random = random
    this.byzantine = byzantine
    this.remoteSigner =
      simulation.options.remoteSigners === true && key !== undefined ? new SimRemoteSigner(this) : undefined
    this.disk = new SimDisk(simulation.queue, random)
    const { chain, scheme, updatesAt, makeTxs, durableEvery, jails } = simulation
    const { verify } = scheme
    const note = (level: string) => (_fields: object, message: string) => {
      simulation.trace(index, `${level}: ${message}`)
      this.clockLines.push(`${level}: ${message}`)
    }
    this.watchClock = createClockWatch({
      timing: chain.timing,
      clock: { monotonicMs: () => simulation.queue.nowMs },
      log: { info: note('info'), warn: note('warn') },
      onOffset: () => undefined,
    })
    this.application = new SimApplication({ chain, verify, updatesAt, makeTxs, random, durableEvery, jails })
  }

  get isHonest(): boolean {
    return this.byzantine === undefined
  }

  get engine(): EngineLike | undefined {
    return this.process?.engine
  }

  get isSyncing(): boolean {
    return this.process?.isSyncing ?? false
  }

  /** Wall clock, whole milliseconds since the epoch. */
  nowMs(): number {
    const { chain, queue } = this.simulation
    return Math.floor(chain.genesisTimeMs + queue.nowMs + this.clockOffsetMs)
  }

  /** Calls `run` later, unless the process has ended by then. */
  later(delayMs: number, run: () => void): void {
    this.process?.later(delayMs, run)
  }

  // Its life

  /** Starts the process: reads the log, executes decided blocks that the application lacks, replays the open height. */
  start(): void {
    if (this.isUp) return
    this.isUp = true
    this.halted = undefined
    this.incarnation++
    this.simulation.trace(this.index, 'starts')
    try {
      this.process = new SimProcess(this)
      this.process.begin()
    } catch (error) {
      this.halt(error as Error)
    }
  }

  /** It cannot go on, at its start or later. */
  halt(error: Error): void {
    const { simulation } = this
    this.halted = error
    simulation.trace(this.index, `halts: ${error.message}`)
    if (this.isHonest && !simulation.expectsHalt(this, error)) {
      simulation.monitor.report('halt', `node ${this.index}: ${error.stack ?? error.message}`)
    }
  }

  /**
   * The process ends, without warning.
   * @param options writes: what it has logged is on disk
   */
  crash(kind: CrashKind, options: { readonly writes?: boolean } = {}): void {
    if (!this.isUp) return
    this.simulation.trace(this.index, `crashes (${kind})`)
    const log = this.process?.log
    if (options.writes === true && kind === 'process' && this.disk.faults.failure === undefined) log?.writePending()
    this.#expected = kind === 'process' && log?.isComplete === true ? this.#memory() : undefined
    this.process?.end()
    this.process = undefined
    this.isUp = false
    this.incarnation++
    this.disk.crash(kind)
    if (kind === 'power') this.application.loseUnsynced()
    this.simulation.processEnded(this)
  }

  /** The memory that a process with its whole log on disk must restore; undefined: it will be in another state. */
  #memory(): string | undefined {
    const view = this.engine?.roundState
    if (view === undefined || !this.isHonest || this.halted !== undefined) return undefined
    // A decided block is executed at the restart, which then is at the next height.
    const isOpen = view.commitRound < 0 && view.height === this.application.height + 1
    // A node without a vote logs only decisions.
    const votes = this.keys.some(({ address }) => validatorIndexOf(view.validators, address) >= 0)
    return isOpen && votes ? fingerprint(view) : undefined
  }

  /** An engine has replayed its log: it must be where the process before it was. */
  checkReplay(engine: EngineLike): void {
    const expected = this.#expected
    this.#expected = undefined
    if (expected === undefined) return
    const found = fingerprint(engine.roundState)
    const isSameHeight = found.slice(0, found.indexOf('/')) === expected.slice(0, expected.indexOf('/'))
    // Blocks may have been synced before.
    if (found === expected || (this.simulation.followsSync && !isSameHeight)) return
    this.simulation.monitor.report('replay', `node ${this.index}:\n  before ${expected}\n  after  ${found}`)
  }

  /** Counts the calls of the environment; at the chosen one the process dies. */
  diesAtThisCall(): boolean {
    this.calls++
    const { crashAt } = this
    if (crashAt === undefined || this.calls !== crashAt.call) return false
    this.crashAt = undefined
    this.crash(crashAt.kind)
    // In the middle of an input, the log does not have everything that the memory has.
    this.#expected = undefined
    return true
  }

  /** A copy of log, database and evidence, as an operator makes one. */
  backUp(): Backup {
    const { disk, application } = this
    return { disk: disk.copy(), application: application.copy(), evidenceTexts: new Map(this.#evidenceTexts) }
  }

  /** Puts a copy in the place of what there is; the process must be down. */
  restore({ disk, application, evidenceTexts }: Backup): void {
    this.#expected = undefined
    this.isRestored = true
    this.disk = disk.copy()
    this.application = application.copy()
    this.#evidenceTexts.clear()
    for (const [name, text] of evidenceTexts) this.#evidenceTexts.set(name, text)
  }

  /** Its process has signed a vote: at one height it uses one key, whatever happens to it. */
  signed(vote: Vote): void {
    const other = this.signedVotes.findLast(({ height }) => height === vote.height)
    if (other !== undefined && !equalBytes(other.validatorAddress, vote.validatorAddress)) {
      this.simulation.monitor.report('two keys at one height', `node ${this.index} height ${vote.height}`)
    }
    this.signedVotes.push(vote)
  }

  evidenceStore(): EvidenceStore {
    const texts = this.#evidenceTexts
    return {
      read: () => [...texts].map(([name, text]) => ({ name, text })),
      write: (name, text) => void texts.set(name, text),
      remove: (name) => void texts.delete(name),
    }
  }

  // The network

  joined(peer: number): void {
    this.process?.joined(peer)
  }

  left(peer: number): void {
    this.process?.left(peer)
  }

  /** Takes a message as it comes from the wire. */
  deliver(from: number, message: ConsensusMessage): void {
    if (this.process === undefined) return
    this.byzantine?.onReceive?.(this, from, message)
    this.process.receive(from, message)
  }

  /** Sends, without a look at what it is. */
  transmit(to: readonly number[], message: ConsensusMessage): void {
    const { network, nodes, rule, monitor } = this.simulation
    const bytes = encodeConsensusMessage(message)
    const isShared = nodes.length > MOST_DECODERS
    let decoded: ConsensusMessage | undefined
    const arrive = (peer: number): void => {
      if (!isShared || decoded === undefined) {
        try {
          decoded = decodeConsensusMessage(bytes)
        } catch (error) {
          if (this.isHonest) monitor.report('codec', `node ${this.index}: ${String(error)}`)
          return
        }
      }
      nodes[peer]!.deliver(this.index, decoded)
    }
    for (const peer of to) {
      const delayMs = rule?.(this.index, peer, message)
      if (delayMs !== 'drop') network.send(this.index, peer, bytes.length, () => arrive(peer), delayMs)
    }
  }

  /** Asks a peer for a decided block; `answer` is called with undefined when it has none, or never. */
  request(peer: number, height: number, answer: (served: EncodedBlock | undefined) => void): void {
    const serve = () => {
      const node = this.simulation.nodes[peer]!
      const lie = node.byzantine?.serve?.(node, this.index, height)
      if (lie === 'silent') return undefined
      const known = node.application.block(height)
      const served = lie ?? (known === undefined ? undefined : { block: known.block, commit: known.seenCommit })
      if (served === undefined) return { answer: undefined, bytes: 20 }
      const encoded = encodeServed(served)
      return { answer: encoded, bytes: encoded.block.length + encoded.commit.length }
    }
    this.ask(peer, serve, answer)
  }

  /** Sends a request that `serve` answers at the peer (undefined: it does not); the answer may never come. */
  ask<T>(peer: number, serve: () => { answer: T; bytes: number } | undefined, answered: (answer: T) => void): void {
    const { network, nodes } = this.simulation
    const { process } = this
    network.send(this.index, peer, 40, () => {
      const served = nodes[peer]!.isUp ? serve() : undefined
      if (served === undefined) return
      network.send(peer, this.index, served.bytes, () => process?.guard(() => answered(served.answer)))
    })
  }

  gossipEvidence(evidence: Evidence): void {
    const { network, nodes } = this.simulation
    const bytes = encodeEvidence(evidence)
    for (const peer of network.peersOf(this.index)) {
      network.send(this.index, peer, bytes.length, () => nodes[peer]!.process?.takeEvidence(decodeEvidence(bytes)))
    }
  }
}
