import { verifyCommit } from '../../src/chain/comet/commit.ts'
import type { Evidence, UnsignedVote, Vote } from '../../src/chain/comet/types.ts'
import type { DecidedBlock, FinalizeResult } from '../../src/consensus/application.ts'
import { type ConsensusState, checkBlock, stateFromInfo } from '../../src/consensus/consensusState.ts'
import { CopyWatch } from '../../src/consensus/copyWatch.ts'
import { DoubleSignGuard, DoubleSignMonitor } from '../../src/consensus/doubleSignGuard.ts'
import type { ConsensusSigner, ConsensusWal } from '../../src/consensus/environment.ts'
import { EvidencePool } from '../../src/consensus/evidencePool.ts'
import type { ConsensusMessage } from '../../src/consensus/messages.ts'
import { checkRecovery, Recovery } from '../../src/consensus/recovery.ts'
import { Signer } from '../../src/consensus/signer.ts'
import { ValidatorKeys } from '../../src/consensus/validatorKeys.ts'
import { forgeProposal, forgeVote } from './byzantine/forge.ts'
import { CatchUp } from './catchUp.ts'
import { shortHash } from './describeMessage.ts'
import type { EngineLike } from './engineLike.ts'
import { FollowerSync } from './followerSync.ts'
import { describeVote } from './monitor.ts'
import { consensusKeyOf } from './signatureScheme.ts'
import { createEnvironment } from './simEnvironment.ts'
import { SimLog } from './simLog.ts'
import type { SimNode } from './simNode.ts'
import { whenSigned } from './whenSigned.ts'

/**
 * One life of a node's process, composed as consensusService.ts composes it, but synchronous: log, signer, evidence pool, block
 * sync, and the engine, which may be off.
 */
export class SimProcess {
  readonly node: SimNode
  readonly log: SimLog
  /** appends to the log, and to the memory that a start of the engine is made from */
  readonly loggedLog: ConsensusWal
  engine: EngineLike | undefined
  isAlive = true
  readonly #recovery: Recovery
  readonly #pool: EvidencePool
  readonly #guard: DoubleSignGuard | undefined
  readonly #catchUp: CatchUp
  /** until a copy may sign */
  #copy: CopyWatch | undefined
  #follower: FollowerSync | undefined
  #signer: ConsensusSigner | undefined
  #memory: Signer | undefined
  readonly #keys: ValidatorKeys | undefined
  #watch: DoubleSignMonitor | undefined
  #closing: EngineLike | undefined
  #isByzantineStarted = false

  /**
   * Reads the log and executes the blocks in it that the application lacks.
   * @throws WalError, RecoveryError when a node must not start
   */
  constructor(node: SimNode) {
    this.node = node
    const { simulation, application, disk, random } = node
    const { chain, scheme, segmentBytes } = simulation
    const { genesisHash, genesisTimeMs } = chain
    this.#recovery = new Recovery(chain.chainId, application.height)
    let isLogNew = true
    this.log = new SimLog({ disk, genesisHash, random, segmentBytes }, (entry) => {
      isLogNew = false
      this.#recovery.add(entry)
    })
    this.loggedLog = this.#createLoggedLog()
    this.#catchUp = new CatchUp(this)
    const start = this.stateNow()
    const warn = (message: string, fields: Readonly<Record<string, unknown>>): void => this.#warn(message, fields)
    const [first, ...next] = node.keys.map(consensusKeyOf)
    const keys = first && new ValidatorKeys([node.remoteSigner?.keyFor(this) ?? first, ...next])
    this.#keys = keys
    if (keys !== undefined && node.isHonest) {
      checkRecovery({ recovery: this.#recovery, keys, verify: scheme.verify, warn }, start)
    }
    this.#guard = keys && new DoubleSignGuard(keys.addresses, this.#recovery, isLogNew && application.height > 0)
    this.#guard?.inspect(start.lastSeenCommit)
    if (keys !== undefined && node.copyMark !== undefined) {
      const mark = {
        height: node.copyMark,
        remove: () => {
          node.copyMark = undefined
        },
      }
      const signedHeight = this.#recovery.lastSigned?.height ?? 0
      this.#copy = new CopyWatch({ addresses: keys.addresses, mark, signedHeight })
    }
    this.#pool = new EvidencePool({
      genesisHash,
      genesisTimeMs,
      params: chain.evidence,
      ownAddresses: keys?.addresses ?? [],
      store: node.evidenceStore(),
      last: { height: start.lastHeight, timeMs: start.lastBlockTimeMs },
      warn,
    })
    this.#replayDecided()
  }

  /** Takes part in consensus, at once or when block sync says so. */
  begin(): void {
    if (this.node.simulation.followsSync) {
      this.#follower = new FollowerSync(this)
      this.#follower.start()
    } else this.startEngine()
  }

  /** Nothing that the process has asked for is answered any more. */
  end(): void {
    this.#catchUp.stop()
    this.#follower?.stop()
    this.stopEngine()
    this.log.close()
    this.isAlive = false
  }

  get isSyncing(): boolean {
    return this.#catchUp.isRunning || this.#follower?.isRunning === true
  }

  /** A stopped engine has a decision in the log that is not executed yet. */
  get isClosing(): boolean {
    return this.#closing?.isDeciding ?? false
  }

  /** Calls `run` later, unless the process has ended by then. */
  later(delayMs: number, run: () => void): () => void {
    return this.node.simulation.queue.after(delayMs, () => this.guard(run))
  }

  /** Runs `run` if the process lives. Whatever the engine throws is a fault of the engine. */
  guard(run: () => void): void {
    if (!this.isAlive) return
    try {
      run()
    } catch (error) {
      const { isHonest, index, simulation } = this.node
      if (!isHonest) return
      simulation.monitor.report('threw', `node ${index}: ${(error as Error).stack ?? String(error)}`)
      this.stopEngine()
    }
  }

  /** Whether the process has been killed; at the call that a test has chosen it is. */
  dies(): boolean {
    return !this.isAlive || this.node.diesAtThisCall()
  }

  /** The state that the next block builds on. */
  stateNow(): ConsensusState {
    const { simulation, application } = this.node
    return stateFromInfo(simulation.chain, application.info())
  }

  /** Of its validator's key at the present height. */
  get ownAddress(): Uint8Array | undefined {
    return this.#keys?.address
  }

  // The engine

  startEngine(): void {
    const { node } = this
    const { simulation, key } = node
    const state = this.stateNow()
    this.#keys?.begin(state.lastHeight + 1, state.validators)
    if (key !== undefined) this.#signer ??= this.#createSigner(state)
    if (this.#copy === undefined) this.#watch?.begin(state, () => this.engine?.resumeSigning())
    const engine = simulation.createEngine(
      {
        chain: simulation.chain,
        state,
        signer: this.#signer,
        verify: simulation.scheme.verify,
        replay: this.#recovery.openEntries(state.lastHeight + 1),
        evidence: this.#pool,
        environment: createEnvironment(this),
      },
      node,
    )
    this.engine = engine
    engine.start()
    node.checkReplay(engine)
    for (const peer of simulation.network.peersOf(node.index)) this.#notifyJoined(peer)
    if (this.#isByzantineStarted) return
    this.#isByzantineStarted = true
    node.byzantine?.onStart?.(node)
  }

  stopEngine(): void {
    const { engine } = this
    if (engine === undefined) return
    this.#watch?.pause()
    engine.stop()
    if (engine.isDeciding) this.#closing = engine
    this.engine = undefined
  }

  joined(peer: number): void {
    this.guard(() => {
      this.#notifyJoined(peer)
      this.#follower?.joined(peer)
    })
  }

  #notifyJoined(peer: number): void {
    const { id, key } = this.node.simulation.nodes[peer]!
    this.engine?.peerJoined(id, key?.address)
  }

  left(peer: number): void {
    this.guard(() => {
      this.engine?.peerLeft(this.node.simulation.peerId(peer))
      this.#follower?.left(peer)
    })
  }

  receive(from: number, message: ConsensusMessage): void {
    this.guard(() => {
      this.#follower?.message(from, message)
      this.engine?.receive(this.node.simulation.peerId(from), message)
    })
  }

  onBehind(peerHeight: number): void {
    if (this.#follower !== undefined) {
      this.#follower.onBehind(peerHeight)
      return
    }
    this.node.syncs++
    this.later(0, () => this.#catchUp.start())
  }

  // Decisions

  /** Executes a block that the log or a peer had, while no engine runs. */
  execute(decided: DecidedBlock): void {
    const result = this.node.application.finalizeBlock(decided)
    this.#guard?.inspect(decided.block.lastCommit)
    this.#guard?.inspect(decided.seenCommit)
    this.#copy?.inspect(decided.block.lastCommit)
    this.#copy?.inspect(decided.seenCommit)
    this.#copy?.synced()
    const { height, timeMs } = decided.block.header
    for (const evidence of this.#pool.decided({ height, timeMs }, decided.block.evidence)) this.publish(evidence)
    this.#decided(decided, result)
  }

  /** Executes what the engine has decided, and lets it go on. */
  finalize(decided: DecidedBlock): void {
    const { node } = this
    this.later(node.work.finalizeMs, () => {
      const { height } = decided.block.header
      // An engine that was stopped meanwhile has left the decision to the log, from which the next one takes it.
      if (height <= node.application.height) return
      this.#decided(decided, node.application.finalizeBlock(decided))
      this.#watchCopy(decided)
      const engine = this.engine ?? this.#closing
      // Own messages of the next height in the log come back by a replay only.
      const isAhead = node.isHonest && this.#recovery.lastSigned?.height === height + 1 && engine === this.engine
      if (isAhead) this.stopEngine()
      engine?.finalized(height, result(node, height))
      if (isAhead) this.startEngine()
      this.#follower?.decided()
    })
  }

  #decided(decided: DecidedBlock, executed: FinalizeResult): void {
    const { simulation, application, index, isHonest } = this.node
    const { height } = decided.block.header
    this.#recovery.finished(height)
    this.#keys?.begin(height + 1, application.validatorsAt(height + 1)!)
    this.#memory?.decided(height)
    this.#watch?.decided(height)
    const { round } = decided.seenCommit
    if (simulation.traces) simulation.trace(index, `DECIDED ${height} round ${round} ${shortHash(decided.blockId)}`)
    if (!isHonest || simulation.isFaulty(index)) return
    simulation.recordDecision(this.node, height, round)
    simulation.monitor.decided(index, { ...decided, result: executed }, application.validatorsAt(height)!)
  }

  #watchCopy({ block, seenCommit }: DecidedBlock): void {
    if (this.#copy === undefined) return
    this.#copy.inspect(block.lastCommit)
    this.#copy.inspect(seenCommit)
    if (!this.#copy.decided(block.header, this.stateNow().lastValidators, this.node.nowMs())) return
    this.#copy = undefined
    this.#memory?.mute(false)
  }

  #replayDecided(): void {
    const { application, simulation } = this.node
    const { chain, scheme } = simulation
    for (;;) {
      const height = application.height + 1
      const recovery = this.#recovery
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

  // Signing

  #createSigner(state: ConsensusState): ConsensusSigner {
    const { node } = this
    const { simulation, isHonest } = node
    const key = node.key!
    if (!isHonest) {
      return {
        address: key.address,
        stageProposal: (proposal) => forgeProposal(node, proposal),
        stageVote: (vote) => forgeVote(node, vote),
      }
    }
    const memory = new Signer({
      key: this.#keys!,
      verify: simulation.scheme.verify,
      chainId: simulation.chain.chainId,
      wal: this.loggedLog,
      lastSigned: this.#recovery.lastSigned,
      decidedHeight: state.lastHeight,
    })
    this.#memory = memory
    memory.mute(this.#copy !== undefined)
    const clock = {
      monotonicMs: () => simulation.queue.nowMs,
      setTimer: (delayMs: number, run: () => void) => this.later(delayMs, run),
    }
    this.#watch = new DoubleSignMonitor(this.#guard!, memory, clock, (message, fields) => this.#warn(message, fields))
    const stageVote = (vote: UnsignedVote) =>
      whenSigned(memory.stageVote(vote), (signed) => {
        simulation.voteSigned(signed)
        node.signed(signed)
      })
    return {
      get address() {
        return memory.address
      },
      stageProposal: (proposal) => memory.stageProposal(proposal),
      stageVote,
    }
  }

  /** A vote with this node's key that its log does not know. */
  onUnknownSignature(vote: Vote): void {
    const { node } = this
    if (this.#memory === undefined || this.#memory.knows(vote)) return
    node.simulation.trace(node.index, `unknown signature of its own key: ${describeVote(vote)}`)
    node.unknownSignatures++
    this.#copy?.sawSignature(vote.height)
    if (this.#watch?.isObserving === true || this.#copy !== undefined) this.#memory.observe(vote)
    else node.simulation.unknownSignature(node, vote)
  }

  #createLoggedLog(): ConsensusWal {
    const { log } = this
    return {
      append: (entry) => {
        if (this.dies()) return
        log.append(entry)
        this.#recovery.add(entry)
      },
      sync: (done) => {
        if (!this.dies()) log.sync((error) => this.guard(() => done(error)))
      },
      prune: (height) => {
        if (!this.dies()) log.prune(height)
      },
    }
  }

  #warn(message: string, fields: Readonly<Record<string, unknown>>): void {
    const { simulation, index } = this.node
    if (simulation.traces) simulation.trace(index, `warns: ${message} ${JSON.stringify(fields)}`)
  }

  // Evidence

  /** New evidence is told to all, who tell it on. */
  publish(evidence: Evidence): void {
    const { simulation, index, isHonest } = this.node
    simulation.trace(index, `publishes evidence against ${describeVote(evidence.voteA)}`)
    if (isHonest && simulation.isHonestKey(evidence.voteA.validatorAddress)) {
      simulation.monitor.report('evidence against an honest validator', describeVote(evidence.voteA))
    }
    this.node.gossipEvidence(evidence)
  }

  takeEvidence(evidence: Evidence): void {
    if (this.node.application.checkEvidence(evidence).verdict !== 'valid') return
    this.guard(() => {
      if (this.#pool.addFromPeer(evidence)) this.node.gossipEvidence(evidence)
    })
  }
}

function result(node: SimNode, height: number): FinalizeResult {
  return node.application.block(height)!.result
}
