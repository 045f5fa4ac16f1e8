import type { ConsensusBlock } from '../../src/chain/consensus/block.ts'
import { decodeBlock } from '../../src/chain/consensus/blockCodec.ts'
import { decodeCommit } from '../../src/chain/consensus/commitCodec.ts'
import { decodeEvidence, encodeEvidence } from '../../src/chain/consensus/evidenceCodec.ts'
import { headerHash } from '../../src/chain/consensus/headerCodec.ts'
import type { BlockId, Commit, Evidence, UnsignedProposal, UnsignedVote } from '../../src/chain/consensus/types.ts'
import { validatorIndexOf } from '../../src/chain/consensus/validatorPriorities.ts'
import { verifyCommit } from '../../src/chain/consensus/verifyCommit.ts'
import type { DecidedBlock, FinalizeResult } from '../../src/consensus/application.ts'
import { type ConsensusState, checkBlock, stateFromInfo } from '../../src/consensus/consensusState.ts'
import type { ConsensusEngine, EngineOptions } from '../../src/consensus/engine.ts'
import type { ConsensusEnvironment, ConsensusLog, ConsensusSigner } from '../../src/consensus/environment.ts'
import { EvidencePool, type EvidenceStore } from '../../src/consensus/evidencePool.ts'
import type { PeerId } from '../../src/consensus/input.ts'
import type { ConsensusMessage } from '../../src/consensus/message.ts'
import { decodeConsensusMessage, encodeConsensusMessage } from '../../src/consensus/messageCodec.ts'
import { Recovery } from '../../src/consensus/recovery.ts'
import { checkRecovery } from '../../src/consensus/recoveryReplay.ts'
import { Signer } from '../../src/consensus/signer.ts'
import { SigningGuard } from '../../src/consensus/signingGuard.ts'
import { SigningWatch } from '../../src/consensus/signingWatch.ts'
import { bytesToHex, equalBytes } from '../../src/primitives/bytes.ts'
import type { Random } from '../fuzz/random.ts'
import type { Byzantine } from './byzantine/byzantine.ts'
import { forgeProposal, forgeVote } from './byzantine/forge.ts'
import { CatchUp } from './catchUp.ts'
import { type EncodedBlock, encodeServed } from './encodedBlock.ts'
import { fingerprint } from './fingerprint.ts'
import { FollowerSync } from './followerSync.ts'
import { describeVote } from './monitor.ts'
import type { SimKey } from './signatureScheme.ts'
import { SimApplication } from './simApplication.ts'
import { type CrashKind, SimDisk } from './simDisk.ts'
import { SimLog } from './simLog.ts'
import type { Simulation } from './simulation.ts'

/** What a node needs of the engine: the real one, or one that a test has damaged. */
export type EngineLike = Pick<
  ConsensusEngine,
  | 'start'
  | 'stop'
  | 'receive'
  | 'peerJoined'
  | 'peerLeft'
  | 'receiveDecided'
  | 'fetchFailed'
  | 'built'
  | 'validated'
  | 'finalized'
  | 'isDeciding'
  | 'resumeSigning'
  | 'roundState'
  | 'state'
>

/** Without an answer by then a fetch has failed. */
const FETCH_TIMEOUT_MS = 3_000

export interface SimNodeOptions {
  readonly index: number
  readonly simulation: Simulation
  /** undefined: a full node */
  readonly key: SimKey | undefined
  readonly random: Random
  readonly byzantine: Byzantine | undefined
}

/** Virtual durations of the application's work, milliseconds. */
export interface WorkTimes {
  buildMs: number
  validateMs: number
  finalizeMs: number
}

/** A node's data directory. */
export interface Backup {
  readonly disk: SimDisk
  readonly application: SimApplication
  readonly evidenceTexts: ReadonlyMap<string, string>
}

/** A machine with a node on it: its disk and application outlive the process, its engine does not. */
export class SimNode {
  readonly index: number
  readonly id: string
  readonly key: SimKey | undefined
  readonly simulation: Simulation
  readonly random: Random
  disk: SimDisk
  application: SimApplication
  readonly byzantine: Byzantine | undefined
  readonly work: WorkTimes = { buildMs: 3, validateMs: 2, finalizeMs: 5 }
  /** wall clock minus virtual time since the genesis */
  clockOffsetMs = 0
  /** counts the processes: what an earlier one asked for is not answered */
  incarnation = 0
  isUp = false
  /** why the node will not go on by itself */
  halted: Error | undefined
  log: SimLog | undefined
  engine: EngineLike | undefined
  /** texts of the evidence pool, which survive the process */
  readonly evidenceTexts = new Map<string, string>()
  readonly #catchUp: CatchUp
  #expected: string | undefined
  /** calls of the environment so far, and at which the process is killed */
  calls = 0
  crashAt: { readonly call: number; readonly kind: CrashKind } | undefined
  /** heights at which it has decided since it last started */
  decidedSinceStart = 0
  syncs = 0

  constructor({ index, simulation, key, random, byzantine }: SimNodeOptions) {
    this.index = index
    this.id = simulation.peerId(index)
    this.key = key
    this.simulation = simulation
    this.random = random
    this.byzantine = byzantine
    this.disk = new SimDisk(simulation.queue, random)
    const { chain, scheme, updatesAt, makeTxs, durableEvery, jails } = simulation
    this.application = new SimApplication({
      chain,
      verify: scheme.verify,
      updatesAt,
      makeTxs,
      random,
      durableEvery,
      jails,
    })
    this.#catchUp = new CatchUp(this)
  }

  get isHonest(): boolean {
    return this.byzantine === undefined
  }

  get isSyncing(): boolean {
    return this.#catchUp.isRunning || this.#follower?.isRunning === true
  }

  nowMs(): number {
    const { chain, queue } = this.simulation
    return Math.floor(chain.genesisTimeMs + queue.nowMs + this.clockOffsetMs)
  }

  /** Calls `run` later, unless the process has ended by then. */
  later(delayMs: number, run: () => void): () => void {
    const { incarnation } = this
    return this.simulation.queue.after(delayMs, () => {
      if (this.incarnation === incarnation && this.isUp) this.guard(run)
    })
  }

  /** Whatever the engine throws is a fault of the engine. */
  guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      if (!this.isHonest) return
      this.simulation.monitor.report('threw', `node ${this.index}: ${(error as Error).stack ?? String(error)}`)
      this.stopEngine()
    }
  }

  isRestored = false
  #pool: EvidencePool | undefined
  #follower: FollowerSync | undefined
  #guard: SigningGuard | undefined
  #signer: ConsensusSigner | undefined
  #memory: Signer | undefined
  #processLog: ConsensusLog | undefined
  #watch: SigningWatch | undefined
  /** votes of its own key that its log does not know */
  unknownSignatures = 0
  #recovery: Recovery | undefined
  #closing: EngineLike | undefined
  #startedByzantine = 0

  /** Starts the process: reads the log, executes decided blocks that the application lacks, replays the open height. */
  start(): void {
    if (this.isUp) return
    const { simulation } = this
    this.isUp = true
    this.halted = undefined
    this.incarnation++
    this.decidedSinceStart = 0
    simulation.trace(this.index, 'starts')
    try {
      this.#recover()
      if (simulation.followsSync) {
        this.#follower = new FollowerSync(this)
        this.#follower.start()
      } else this.startEngine()
    } catch (error) {
      this.halted = error as Error
      simulation.trace(this.index, `cannot start: ${(error as Error).message}`)
      if (this.isHonest && !simulation.expectsRefusal(this, error as Error)) {
        simulation.monitor.report('cannot start', `node ${this.index}: ${(error as Error).stack}`)
      }
    }
  }

  /** A process that died with all its log written must find itself where it was. */
  #checkReplay(): void {
    const expected = this.#expected
    this.#expected = undefined
    if (expected === undefined || this.halted !== undefined) return
    const found = fingerprint(this.engine!.roundState)
    const isSameHeight = found.slice(0, found.indexOf('/')) === expected.slice(0, expected.indexOf('/'))
    // Blocks may have been synced before.
    if (found === expected || (this.simulation.followsSync && !isSameHeight)) return
    this.simulation.monitor.report('replay', `node ${this.index}:\n  before ${expected}\n  after  ${found}`)
  }

  /** Reads the log and executes the blocks in it that the application lacks. */
  #recover(): void {
    const { simulation, application } = this
    const { chain, scheme, segmentBytes } = simulation
    const recovery = new Recovery(chain.chainId, application.height)
    const { genesisHash } = chain
    let isLogNew = true
    this.log = new SimLog({ disk: this.disk, genesisHash, random: this.random, segmentBytes }, (entry) => {
      isLogNew = false
      recovery.add(entry)
    })
    this.#recovery = recovery
    this.#processLog = this.#loggedLog(this.log, recovery)
    const start = this.stateNow()
    if (this.key !== undefined && this.isHonest) {
      const { publicKey } = this.key
      checkRecovery({ recovery, publicKey, verify: scheme.verify, warn: () => undefined }, start)
    }
    this.#guard = this.key && new SigningGuard(this.key.address, recovery, isLogNew && application.height > 0)
    this.#guard?.see(start.lastSeenCommit)
    this.#pool = new EvidencePool({
      genesisHash,
      genesisTimeMs: chain.genesisTimeMs,
      params: chain.evidence,
      ownAddress: this.key?.address,
      store: this.#evidenceStore(),
      last: { height: start.lastHeight, timeMs: start.lastBlockTimeMs },
      warn: (message, fields) => this.#warn(message, fields),
    })
    this.#signer = undefined
    this.#memory = undefined
    this.#watch = undefined
    for (;;) {
      const height = application.height + 1
      const decided = recovery.hasEnded(height) ? recovery.decided(height, chain.params.maxBytes) : undefined
      if (decided === undefined) return
      const { blockId, seenCommit, block } = decided
      const state = this.stateNow()
      const target = { chainId: chain.chainId, height, blockId, validators: state.validators }
      const reason = checkBlock(state, block, scheme.verify)
      if (reason !== undefined || !verifyCommit(target, seenCommit, scheme.verify).valid) {
        throw new Error(`block ${height} of the log does not fit: ${reason}`)
      }
      this.execute(decided)
    }
  }

  #warn(message: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.simulation.traces) this.simulation.trace(this.index, `warns: ${message} ${JSON.stringify(fields)}`)
  }

  #evidenceStore(): EvidenceStore {
    const { evidenceTexts: texts } = this
    return {
      read: () => [...texts].map(([name, text]) => ({ name, text })),
      write: (name, text) => void texts.set(name, text),
      remove: (name) => void texts.delete(name),
    }
  }

  /** The process ends, without warning. */
  crash(kind: CrashKind, options: { readonly writes?: boolean } = {}): void {
    if (!this.isUp) return
    this.simulation.trace(this.index, `crashes (${kind})`)
    // When all that it logged is on disk, a new process must find itself where this one was.
    if (options.writes === true && kind === 'process' && this.disk.faults.failure === undefined)
      this.log?.writePending()
    const isComplete = this.log?.isComplete === true && kind === 'process' && this.engine !== undefined
    this.#expected = isComplete && this.isHonest && this.halted === undefined ? this.#fingerprintNow() : undefined
    this.#catchUp.stop()
    this.#follower?.stop()
    this.#follower = undefined
    this.stopEngine()
    this.log?.close()
    this.log = undefined
    this.isUp = false
    this.incarnation++
    this.#closing = undefined
    this.#pool = undefined
    this.disk.crash(kind)
    if (kind === 'power') this.application.loseUnsynced()
    this.simulation.processEnded(this)
  }

  /** A copy of log, database and evidence, as an operator makes one. */
  backUp(): Backup {
    return {
      disk: this.disk.copy(),
      application: this.application.copy(),
      evidenceTexts: new Map(this.evidenceTexts),
    }
  }

  /** Puts a copy in the place of what there is; the process must be down. */
  restore({ disk, application, evidenceTexts }: Backup): void {
    this.#expected = undefined
    this.isRestored = true
    this.disk = disk.copy()
    this.application = application.copy()
    this.evidenceTexts.clear()
    for (const [name, text] of evidenceTexts) this.evidenceTexts.set(name, text)
  }

  /** What a restart has to come back to; undefined: it will be elsewhere. */
  #fingerprintNow(): string | undefined {
    const { roundState } = this.engine!
    // A decided block is executed at the restart, which then is at the next height.
    const isOpen = roundState.commitRound < 0 && roundState.height === this.application.height + 1
    // Who has no vote logs nothing but decisions.
    const votes = this.key !== undefined && validatorIndexOf(roundState.validators, this.key.address) >= 0
    return isOpen && votes ? fingerprint(roundState) : undefined
  }

  stopEngine(): void {
    const { engine } = this
    if (engine === undefined) return
    this.#watch?.pause()
    engine.stop()
    if (engine.isDeciding) this.#closing = engine
    this.engine = undefined
  }

  /** A stopped engine has a decision in the log that is not executed yet. */
  get isClosing(): boolean {
    return this.#closing?.isDeciding ?? false
  }

  joined(peer: number): void {
    if (!this.isUp) return
    const node = this.simulation.nodes[peer]!
    this.guard(() => {
      this.engine?.peerJoined(node.id, node.key?.address)
      this.#follower?.joined(peer)
    })
  }

  left(peer: number): void {
    if (!this.isUp) return
    this.guard(() => {
      this.engine?.peerLeft(this.simulation.peerId(peer))
      this.#follower?.left(peer)
    })
  }

  /** Takes a message as it comes from the wire. */
  deliver(from: number, message: ConsensusMessage): void {
    if (!this.isUp) return
    const peer = this.simulation.peerId(from)
    this.byzantine?.onReceive?.(this, from, message)
    this.guard(() => {
      this.#follower?.message(from, message)
      this.engine?.receive(peer, message)
    })
  }

  /** Sends without looking: for the engine's messages go through {@link #send}. */
  transmit(to: readonly number[], message: ConsensusMessage): void {
    const { network, nodes } = this.simulation
    const bytes = encodeConsensusMessage(message)
    let decoded: ConsensusMessage | undefined
    const shares = nodes.length > 8
    const { rule } = this.simulation
    for (const peer of to) {
      const delayMs = rule?.(this.index, peer, message)
      if (delayMs === 'drop') continue
      network.send(
        this.index,
        peer,
        bytes.length,
        () => {
          if (!shares || decoded === undefined) {
            try {
              decoded = decodeConsensusMessage(bytes)
            } catch (error) {
              if (this.isHonest) this.simulation.monitor.report('codec', `node ${this.index}: ${String(error)}`)
              return
            }
          }
          nodes[peer]!.deliver(this.index, decoded)
        },
        delayMs,
      )
    }
  }

  /** The state that the next block builds on. */
  stateNow(): ConsensusState {
    return stateFromInfo(this.simulation.chain, this.application.info())
  }

  /** Executes a block that the log or a peer had, while no engine runs. */
  execute(decided: DecidedBlock): void {
    const result = this.application.finalizeBlock(decided)
    this.#guard?.see(decided.block.lastCommit)
    this.#guard?.see(decided.seenCommit)
    const { height, timeMs } = decided.block.header
    for (const evidence of this.#pool!.decided({ height, timeMs }, decided.block.evidence)) this.#publish(evidence)
    this.#advanced(height)
    this.#decided(decided, result)
  }

  #advanced(height: number): void {
    this.#recovery?.finished(height)
    this.#memory?.decided(height)
    this.#watch?.decided(height)
  }

  startEngine(): void {
    const { simulation, key } = this
    const { chain, scheme } = simulation
    const state = this.stateNow()
    if (key !== undefined) this.#signer ??= this.#createSigner(key, state)
    this.#watch?.begin(state, () => this.engine?.resumeSigning())
    const options: EngineOptions = {
      chain,
      state,
      signer: this.#signer,
      verify: scheme.verify,
      replay: this.#recovery!.openEntries(state.lastHeight + 1),
      evidence: this.#pool!,
      environment: this.#environment(),
    }
    const engine = simulation.createEngine(options, this)
    this.engine = engine
    engine.start()
    this.#checkReplay()
    for (const peer of simulation.network.peersOf(this.index)) {
      const { id, key: peerKey } = simulation.nodes[peer]!
      engine.peerJoined(id, peerKey?.address)
    }
    if (this.byzantine !== undefined && this.#startedByzantine !== this.incarnation) {
      this.#startedByzantine = this.incarnation
      this.byzantine.onStart?.(this)
    }
  }

  #createSigner(key: SimKey, state: ConsensusState): ConsensusSigner {
    const { simulation } = this
    if (!this.isHonest) {
      return {
        address: key.address,
        stageProposal: (proposal) => forgeProposal(this, proposal),
        stageVote: (vote) => forgeVote(this, vote),
      }
    }
    const memory = new Signer({
      key,
      chainId: simulation.chain.chainId,
      log: this.#processLog!,
      lastSigned: this.#recovery!.lastSigned,
      decidedHeight: state.lastHeight,
    })
    this.#memory = memory
    const clock = {
      monotonicMs: () => simulation.queue.nowMs,
      setTimer: (delayMs: number, run: () => void) => this.later(delayMs, run),
    }
    this.#watch = new SigningWatch(this.#guard!, memory, clock, (message, fields) => this.#warn(message, fields))
    const stageVote = (vote: UnsignedVote) => {
      const signed = memory.stageVote(vote)
      if (signed !== undefined) simulation.voteSigned(signed)
      return signed
    }
    const stageProposal = (proposal: UnsignedProposal) => memory.stageProposal(proposal)
    return { address: key.address, stageProposal, stageVote }
  }

  /** The log, and with it the memory that a restart within this process is made from. */
  #loggedLog(log: SimLog, recovery: Recovery): ConsensusLog {
    const { incarnation } = this
    return {
      append: (entry) => {
        if (this.#dies(incarnation)) return
        log.append(entry)
        recovery.add(entry)
      },
      sync: (done) => {
        if (this.#dies(incarnation)) return
        log.sync((error) => {
          if (this.incarnation === incarnation && this.isUp) this.guard(() => done(error))
        })
      },
      prune: (height) => {
        if (!this.#dies(incarnation)) log.prune(height)
      },
    }
  }

  /** Every function of the environment is a moment at which the process may be killed, and does nothing after that. */
  #environment(): ConsensusEnvironment {
    const { incarnation } = this
    const environment = this.#livingEnvironment()
    const guarded = Object.fromEntries(
      Object.entries(environment).map(([name, run]) => {
        if (typeof run !== 'function' || name === 'nowMs' || name === 'monotonicMs') return [name, run]
        return [
          name,
          (...args: never[]) => {
            if (this.#dies(incarnation)) return () => undefined
            return (run as (...args: never[]) => unknown)(...args)
          },
        ]
      }),
    )
    return guarded as unknown as ConsensusEnvironment
  }

  /** Whether the process has been killed; at the chosen call it is. */
  #dies(incarnation: number): boolean {
    if (this.incarnation !== incarnation || !this.isUp) return true
    this.calls++
    const { crashAt } = this
    if (crashAt === undefined || this.calls !== crashAt.call) return false
    this.crashAt = undefined
    this.crash(crashAt.kind)
    // In the middle of an input the log is behind the memory.
    this.#expected = undefined
    return true
  }

  #livingEnvironment(): ConsensusEnvironment {
    const { simulation, work } = this
    const engineOf = (run: (engine: EngineLike) => void) => () => {
      if (this.engine !== undefined) run(this.engine)
    }
    return {
      log: this.#processLog!,
      nowMs: () => this.nowMs(),
      monotonicMs: () => simulation.queue.nowMs,
      setTimer: (delayMs, run) => this.later(delayMs, run),
      send: (to, message) => this.#send(to, message),
      fetchDecided: (from, height) => this.#fetchDecided(from, height),
      punish: (peer, what, reason) => simulation.punished(this, peer, what, reason),
      build: (request, round) => {
        const data = this.application.prepareProposal(request)
        this.later(
          work.buildMs,
          engineOf((engine) => engine.built(request.height, round, data)),
        )
      },
      validate: (block) => {
        const reason = this.application.processProposal(block)
        const hash = headerHash(block.header)
        this.later(
          work.validateMs,
          engineOf((engine) => engine.validated(block.header.height, hash, reason)),
        )
      },
      finalize: (decided) => this.#finalize(decided),
      publishEvidence: (evidence) => this.#publish(evidence),
      onUnknownSignature: (vote) => {
        if (this.#memory === undefined || this.#memory.knows(vote)) return
        simulation.trace(this.index, `unknown signature of its own key: ${describeVote(vote)}`)
        this.unknownSignatures++
        if (this.#watch?.isObserving === true) this.#memory.observe(vote)
        else simulation.unknownSignature(this, vote)
      },
      onDecided: () => {
        this.decidedSinceStart++
      },
      onBehind: (height, peerHeight) => {
        simulation.trace(this.index, `is at ${height}, behind ${peerHeight}`)
        if (this.#follower !== undefined) {
          this.#follower.onBehind(peerHeight)
          return
        }
        this.syncs++
        this.later(0, () => this.#catchUp.start())
      },
      onHalt: (error) => this.halt(error),
      note: (message, fields) => {
        if (simulation.traces) simulation.trace(this.index, `note: ${message} ${JSON.stringify(fields)}`)
        simulation.options.onNote?.(this, message, fields)
      },
    }
  }

  halt(error: Error): void {
    const { simulation } = this
    this.halted = error
    simulation.trace(this.index, `halts: ${error.message}`)
    if (this.isHonest && !simulation.expectsHalt(this, error)) {
      simulation.monitor.report('halt', `node ${this.index}: ${error.stack ?? error.message}`)
    }
  }

  #finalize(decided: DecidedBlock): void {
    // Its precommits and its end are in the log by now; other engines may know of the decision from here on.
    this.later(this.work.finalizeMs, () => {
      const { height } = decided.block.header
      // An engine that was stopped meanwhile has left the decision to the log, from which the next one takes it.
      if (height <= this.application.height) return
      const result = this.application.finalizeBlock(decided)
      this.#advanced(height)
      this.#decided(decided, result)
      const engine = this.engine ?? this.#closing
      // As the service does: own messages of the next height in the log come back by a replay only.
      const isReplayed = this.isHonest && this.#recovery?.lastSigned?.height === height + 1 && engine === this.engine
      if (isReplayed) this.stopEngine()
      engine?.finalized(height, result)
      if (isReplayed) this.startEngine()
      this.#follower?.decided()
    })
  }

  #decided(decided: DecidedBlock, result: FinalizeResult): void {
    const { simulation, application } = this
    const { height } = decided.block.header
    if (simulation.traces) {
      simulation.trace(this.index, `DECIDED ${height} round ${decided.seenCommit.round} ${shortHash(decided.blockId)}`)
    }
    if (!this.isHonest || simulation.isFaulty(this.index)) return
    simulation.recordDecision(this, height, decided.seenCommit.round)
    simulation.monitor.decided(this.index, { ...decided, result }, application.validatorsAt(height)!)
  }

  #send(to: readonly PeerId[], message: ConsensusMessage): void {
    const { simulation } = this
    const peers = to.map((peer) => simulation.peerIndex(peer))
    if (simulation.traces) simulation.trace(this.index, `-> ${to.join(',')} ${describeMessage(message)}`)
    if (this.byzantine === undefined) this.#checkSent(message)
    else if (this.byzantine.send !== undefined) {
      this.byzantine.send(this, peers, message)
      return
    }
    this.transmit(peers, message)
  }

  /** What this node signed may leave it only when it cannot be forgotten. */
  #checkSent(message: ConsensusMessage): void {
    const { simulation, key, log } = this
    const { monitor } = simulation
    // Twins sign against each other, and pass on what the other one signed.
    if (key === undefined || simulation.isTwin(this.index) || (message.kind !== 'vote' && message.kind !== 'proposal'))
      return
    const signed = message.kind === 'vote' ? message.vote : message.proposal
    const { height, round, signature } = signed
    const validators = this.application.validatorsAt(height)
    if (validators === undefined) return
    if (message.kind === 'vote') {
      const { vote } = message
      if (!equalBytes(vote.validatorAddress, key.address)) return
      // What was sent once, it had from its own log or from the last commit that the application keeps.
      const known = monitor.emittedVote(key.address, height, round, vote.type)
      const isOld = known !== undefined && equalBytes(known.signature, signature)
      if (!isOld && !log!.isDurable(height, signature)) {
        monitor.report('sent before it was durable', describeVote(vote))
      }
      monitor.voteEmitted(vote, validators)
      return
    }
    const { proposal } = message
    if (!equalBytes(simulation.proposerOf(validators, round).address, key.address)) return
    if (!log!.isDurable(height, signature)) {
      monitor.report('sent before it was durable', `proposal ${height}/${round} of node ${this.index}`)
    }
    monitor.proposalEmitted(proposal, key.address, validators)
  }

  #fetchDecided(from: PeerId, height: number): void {
    const peer = this.simulation.peerIndex(from)
    if (this.simulation.traces) this.simulation.trace(this.index, `asks ${from} for block ${height}`)
    let answered = false
    const fail = (): void => {
      if (answered) return
      answered = true
      this.engine?.fetchFailed(from, height)
    }
    this.later(FETCH_TIMEOUT_MS, fail)
    this.request(peer, height, (served) => {
      if (answered) return
      if (served === undefined) {
        fail()
        return
      }
      answered = true
      let block: ConsensusBlock
      let commit: Commit
      try {
        block = decodeBlock(served.block)
        commit = decodeCommit(served.commit)
      } catch {
        this.engine?.fetchFailed(from, height)
        return
      }
      this.engine?.receiveDecided(from, block, commit)
    })
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
    const { incarnation } = this
    network.send(this.index, peer, 40, () => {
      if (!nodes[peer]!.isUp) return
      const served = serve()
      if (served === undefined) return
      network.send(peer, this.index, served.bytes, () => {
        if (this.incarnation === incarnation && this.isUp) this.guard(() => answered(served.answer))
      })
    })
  }

  /** New evidence is told to all, who tell it on. */
  #publish(evidence: Evidence): void {
    const { simulation } = this
    simulation.trace(this.index, `publishes evidence against ${describeVote(evidence.voteA)}`)
    if (this.isHonest && simulation.isHonestKey(evidence.voteA.validatorAddress)) {
      simulation.monitor.report('evidence against an honest validator', describeVote(evidence.voteA))
    }
    this.#gossip(evidence)
  }

  #gossip(evidence: Evidence): void {
    const { network, nodes } = this.simulation
    const bytes = encodeEvidence(evidence)
    for (const peer of network.peersOf(this.index)) {
      network.send(this.index, peer, bytes.length, () => nodes[peer]!.takeEvidence(decodeEvidence(bytes)))
    }
  }

  takeEvidence(evidence: Evidence): void {
    if (!this.isUp || this.#pool === undefined) return
    if (this.application.checkEvidence(evidence).verdict !== 'valid') return
    this.guard(() => {
      if (this.#pool!.addFromPeer(evidence)) this.#gossip(evidence)
    })
  }
}

function shortHash({ hash }: BlockId): string {
  return hash.length === 0 ? 'nil' : bytesToHex(hash).slice(2, 8)
}

export function describeMessage(message: ConsensusMessage): string {
  switch (message.kind) {
    case 'vote':
      return describeVote(message.vote)
    case 'proposal': {
      const { height, round, polRound, blockId } = message.proposal
      return `proposal ${height}/${round} pol ${polRound} ${shortHash(blockId)}`
    }
    case 'part':
      return `part ${message.height}/${message.round} ${message.part.index}`
    case 'status':
      return `status ${message.height}/${message.round}/${message.step}`
  }
}
