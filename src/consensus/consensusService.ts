import { type ConsensusBlock, decodeBlock, headerHash } from '../chain/comet/block.ts'
import { contradictions, decodeCommit } from '../chain/comet/commit.ts'
import type { Evidence, Vote } from '../chain/comet/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { verifyEd25519 } from '../primitives/ed25519.ts'
import type {
  Application,
  DecidedBlock,
  DecidedRun,
  FinalizeResult,
  ProposalRequest,
  RunResult,
} from './application.ts'
import { BuildBudget } from './buildBudget.ts'
import type { Clock } from './clock.ts'
import { advanceState, type ConsensusState, type EngineChain, stateFromInfo } from './consensusState.ts'
import { type CopyMark, CopyWatch, QUIET_BLOCKS } from './copyWatch.ts'
import { claimedResult, runsOf } from './decidedRun.ts'
import { DoubleSignGuard, DoubleSignMonitor } from './doubleSignGuard.ts'
import { ConsensusEngine } from './engine.ts'
import type { ConsensusEnvironment } from './environment.ts'
import { EvidencePool } from './evidencePool.ts'
import type { EvidenceStore } from './evidenceStore.ts'
import { checkRecovery, Recovery, replayDecided } from './recovery.ts'
import type { RoundEventSink } from './roundEvents.ts'
import { STEPS, type Step } from './roundStateView.ts'
import { Signer } from './signer.ts'
import { timeoutMs } from './timing.ts'
import type { PeerDescription, PeerId, Transport, TransportEvents } from './transport.ts'
import type { ValidatorKeys } from './validatorKeys.ts'
import { openWal, type Wal, type WalOptions } from './wal.ts'

/** A block that was decided and executed. */
export interface DecidedEvent {
  readonly decided: DecidedBlock
  readonly result: FinalizeResult
  /** `log`: taken from the write-ahead log at the start; `sync`: from peers, while consensus was off */
  readonly source: 'consensus' | 'log' | 'sync'
  /**
   * durations in milliseconds; for a block that was not decided by this node's engine, only that of the execution is set: in a sync it
   * is the average of the blocks that were executed together
   */
  readonly timings: {
    /** 0 when another node built the block */
    readonly buildMs: number
    /** time until the decision was on stable storage */
    readonly logMs: number
    readonly finalizeMs: number
  }
}

interface ConsensusServiceOptions {
  readonly application: Application
  readonly keys: ValidatorKeys
  readonly chain: EngineChain
  readonly wal: Omit<WalOptions, 'genesisHash'>
  readonly clock: Clock
  readonly transport: Omit<Transport, 'listen'>
  readonly evidenceStore: EvidenceStore
  /** the data directory is a copy, so nothing is signed until it is known that the original does not either */
  readonly copy?: CopyMark | undefined
  readonly onDecided: (event: DecidedEvent) => void
  /**
   * Called once when consensus cannot continue: the application or the disk failed, or a rule of
   * consensus was broken.
   */
  readonly onHalt: (error: Error) => void
  /** Called when peers are too far ahead to follow them block by block. */
  readonly onBehind: (height: number, peerHeight: number) => void
  /** Another process signs with this key; called for each of its votes that a peer sends or a block reports. */
  readonly onUnknownSignature: (vote: Vote) => void
  /** A remote signer's signature does not hold. */
  readonly onWrongAnswer?: (reason: string) => void
  /** see ConsensusEnvironment */
  readonly onTimedProposal: (timestampMs: number, receivedMs: number) => void
  /** see ConsensusEnvironment */
  readonly onStep?: ((height: number, round: number, step: Step) => void) | undefined
  /** see ConsensusEnvironment */
  readonly roundEvents?: RoundEventSink | undefined
  /** Called after each block with the milliseconds that this node may work on its next proposal, see {@link BuildBudget}. */
  readonly onBuildBudget?: (budgetMs: number) => void
  readonly log: (message: string, fields: Readonly<Record<string, unknown>>) => void
  /** ends the start before the next block of the log is executed */
  readonly signal?: AbortSignal
}

/** Consensus of this node: the engine, which is off during block sync, and its log, signer and evidence pool. */
export interface ConsensusService {
  /** after the last finalized block */
  readonly state: ConsensusState
  readonly engine: ConsensusEngine | undefined
  /** to be called with the events of the network; peers are remembered while the engine is off */
  readonly events: TransportEvents
  /**
   * Starts consensus at the height after `state`, with a replay of the log's entries for that
   * height.
   */
  startEngine(): void
  /** Resolves when nothing is in progress: a block that is already decided is executed first. */
  stopEngine(): Promise<void>
  /** Asks a remote signer again for the messages of the current round that it did not sign. */
  resumeSigning(): void
  /** Adds evidence from this node's operator that the application found valid: it waits for a block and is sent to the peers. */
  addEvidence(evidence: Evidence): void
  /**
   * Executes decided blocks from peers that the caller has checked: all, or the first ones, as `state` shows then. Only while the engine
   * is off, in order of heights.
   */
  applyDecided(run: DecidedRun): Promise<void>
  /** Stops the engine and closes the log. */
  close(): Promise<void>
}

/**
 * Starts consensus up to the point where its engine can be started. The caller holds the lock of the data directory. The order:
 * 1. Ask the application for its last block: the log's entries from that height on are retained.
 * 2. Open the log and read all of it, before anything is signed: it is the signer's memory.
 * 3. Check that log and database belong together, before a block is executed.
 * 4. Create the guard and the evidence pool at the application's last block, before the replay, which reports each block to the pool.
 * 5. Replay: execute the decided blocks that the log has and the application lacks.
 * 6. Drop pending evidence that one of those blocks has reported.
 * 7. Create the signer, with the log's last signature and the height after the replay. The engine stays off: block sync may come
 *    first.
 * @throws WalError, RecoveryError, or an error of the application; the reason of `signal` when that
 * is aborted
 */
export async function openConsensusService(options: ConsensusServiceOptions): Promise<ConsensusService> {
  const { application, chain, keys, clock, onDecided, wal: walOptions } = options
  const info = await application.info() // 1.
  const recovery = new Recovery(chain.chainId, info.height)
  // 2.
  const wal = await openWal({ ...walOptions, genesisHash: chain.genesisHash }, (entry) => recovery.add(entry))
  try {
    // 3.
    const start = stateFromInfo(chain, info)
    const { isFromSnapshot = false } = info
    const context = { recovery, keys, verify: verifyEd25519, isFromSnapshot, warn: walOptions.warn }
    checkRecovery(context, start)
    // 4.
    const guard = new DoubleSignGuard(keys.addresses, recovery, recovery.isBlank && info.height > 0)
    guard.inspect(start.lastSeenCommit)
    const evidence = new EvidencePool({
      genesisHash: chain.genesisHash,
      genesisTimeMs: chain.genesisTimeMs,
      params: chain.evidence,
      ownAddresses: keys.addresses,
      store: options.evidenceStore,
      last: { height: start.lastHeight, timeMs: start.lastBlockTimeMs },
      warn: walOptions.warn,
    })
    // 5.
    const state = await replayDecided(context, start, async (decided) => {
      options.signal?.throwIfAborted()
      const beginMs = clock.monotonicMs()
      const result = await executeDecided(application, decided)
      const timings = { buildMs: 0, logMs: 0, finalizeMs: clock.monotonicMs() - beginMs }
      reportToEvidencePool(evidence, decided, (found) => options.transport.publishEvidence(found))
      onDecided({ decided, result, source: 'log', timings })
      return result
    })
    await dropCommittedEvidence(evidence, application) // 6.
    return new Service(options, wal, recovery, guard, evidence, state) // 7.
  } catch (error) {
    await wal.close()
    throw error
  }
}

/** Checks of evidence from peers at a time: the thread that does them executes blocks, and a block waits for those before it. */
const MAX_EVIDENCE_CHECKS = 4

class Service implements ConsensusService {
  readonly events: TransportEvents
  readonly #options: ConsensusServiceOptions
  readonly #wal: Wal
  readonly #recovery: Recovery
  readonly #guard: DoubleSignGuard
  readonly #monitor: DoubleSignMonitor
  /** until the copy may sign */
  #copy: CopyWatch | undefined
  readonly #calls = new CallQueue()
  readonly #evidence: EvidencePool
  readonly #signer: Signer
  readonly #finalizeRun: (run: DecidedRun) => Promise<RunResult>
  readonly #environment: ConsensusEnvironment
  readonly #buildBudget: BuildBudget
  readonly #peers = new Map<PeerId, PeerDescription>()
  #state: ConsensusState
  #engine: ConsensusEngine | undefined
  #whenIdle: PromiseWithResolvers<void> | undefined
  #hasHalted = false
  /** of evidence from peers, under way in the application */
  #evidenceChecks = 0
  /** the first height at which this process took part in consensus */
  #firstHeight: number | undefined
  #timings = { buildMs: 0, logMs: 0 }
  #roundBeganMs: number

  constructor(
    options: ConsensusServiceOptions,
    wal: Wal,
    recovery: Recovery,
    guard: DoubleSignGuard,
    evidence: EvidencePool,
    state: ConsensusState,
  ) {
    const { keys, chain } = options
    keys.begin(state.lastHeight + 1, state.validators)
    this.#options = options
    this.#wal = wal
    this.#recovery = recovery
    this.#guard = guard
    this.#evidence = evidence
    this.#state = state
    const { application } = options
    this.#finalizeRun =
      application.finalizeRun?.bind(application) ?? runsOf((decided) => application.finalizeBlock(decided))
    this.#buildBudget = new BuildBudget(chain.intervalMs)
    this.#roundBeganMs = options.clock.monotonicMs()
    this.#environment = this.#createEnvironment()
    this.#signer = new Signer({
      key: keys,
      chainId: chain.chainId,
      wal: this.#environment.wal,
      lastSigned: recovery.lastSigned,
      decidedHeight: state.lastHeight,
      onWrongAnswer: (reason) => options.onWrongAnswer?.(reason),
    })
    if (options.copy !== undefined) {
      const signedHeight = recovery.lastSigned?.height ?? 0
      this.#copy = new CopyWatch({ addresses: keys.addresses, mark: options.copy, signedHeight })
      this.#signer.mute(true)
    }
    this.#monitor = new DoubleSignMonitor(guard, this.#signer, options.clock, options.wal.warn)
    this.events = this.#createEvents()
  }

  get state(): ConsensusState {
    return this.#state
  }

  get engine(): ConsensusEngine | undefined {
    return this.#engine
  }

  startEngine(): void {
    if (this.#engine !== undefined || this.#hasHalted) return
    const { chain } = this.#options
    this.#firstHeight ??= this.#state.lastHeight + 1
    // A copy has a stricter rule, which no time ends.
    if (this.#copy === undefined) this.#monitor.begin(this.#state, () => this.#engine?.resumeSigning())
    this.#engine = new ConsensusEngine({
      chain,
      state: this.#state,
      signer: this.#signer,
      verify: verifyEd25519,
      replay: this.#recovery.openEntries(this.#state.lastHeight + 1),
      evidence: this.#evidence,
      environment: this.#environment,
    })
    this.#engine.start()
    for (const { id, validatorAddress } of this.#peers.values()) this.#engine?.peerJoined(id, validatorAddress)
  }

  async stopEngine(): Promise<void> {
    const engine = this.#engine
    if (engine === undefined) return
    this.#monitor.pause()
    engine.stop()
    if (engine.isDeciding && !this.#hasHalted) {
      this.#whenIdle ??= Promise.withResolvers()
      await this.#whenIdle.promise
    }
    await this.#calls.whenIdle()
    this.#engine = undefined
  }

  async applyDecided(run: DecidedRun): Promise<void> {
    if (this.#engine !== undefined) throw new Error('blocks are synced only while consensus is off')
    const { clock } = this.#options
    const beginMs = clock.monotonicMs()
    const { executed, last } = await this.#calls.run(() => this.#finalizeRun(run))
    const finalizeMs = (clock.monotonicMs() - beginMs) / executed
    for (const [index, decided] of run.blocks.slice(0, executed).entries()) {
      const result = index === executed - 1 ? last : claimedResult(run.blocks[index + 1]!.block.header)
      this.#synced(decided, checkedResult(decided, result), finalizeMs)
    }
  }

  #synced(decided: DecidedBlock, result: FinalizeResult, finalizeMs: number): void {
    const { block, seenCommit } = decided
    const { lastSeenCommit, lastValidators } = this.#state
    for (const [first, second] of contradictions(lastSeenCommit, block.lastCommit)) {
      const evidence = this.#evidence.addEquivocation(first, second, lastValidators)
      if (evidence !== undefined) this.#options.transport.publishEvidence(evidence)
    }
    this.#guard.inspect(block.lastCommit)
    this.#guard.inspect(seenCommit)
    this.#copy?.inspect(block.lastCommit)
    this.#copy?.inspect(seenCommit)
    this.#copy?.synced()
    reportToEvidencePool(this.#evidence, decided, (found) => this.#options.transport.publishEvidence(found))
    this.#advance(advanceState(this.#state, decided, result))
    this.#reportOwnFaults(block.evidence)
    this.#options.onDecided({ decided, result, source: 'sync', timings: { buildMs: 0, logMs: 0, finalizeMs } })
  }

  resumeSigning(): void {
    this.#engine?.resumeSigning()
  }

  addEvidence(evidence: Evidence): void {
    if (this.#evidence.addFromPeer(evidence)) this.#options.transport.publishEvidence(evidence)
  }

  async close(): Promise<void> {
    await this.stopEngine()
    await this.#wal.close()
  }

  /** Whether the address belongs to one of this validator's keys, the current one or another. */
  #isOwn(address: Uint8Array): boolean {
    return this.#options.keys.addresses.some((own) => equalBytes(own, address))
  }

  /** The next height's key is chosen before the engine begins it. */
  #advance(state: ConsensusState): void {
    this.#state = state
    this.#options.keys.begin(state.lastHeight + 1, state.validators)
    this.#recovery.finished(state.lastHeight)
    this.#signer.decided(state.lastHeight)
    this.#monitor.decided(state.lastHeight)
  }

  #halt(cause: unknown): void {
    if (this.#hasHalted) return
    this.#hasHalted = true
    this.#monitor.pause()
    this.#whenIdle?.resolve()
    this.#options.onHalt(cause instanceof Error ? cause : new Error(String(cause)))
  }

  #createEvents(): TransportEvents {
    return {
      peerJoined: (peer) => {
        this.#peers.set(peer.id, peer)
        this.#engine?.peerJoined(peer.id, peer.validatorAddress)
      },
      peerLeft: (peer) => {
        this.#peers.delete(peer)
        this.#engine?.peerLeft(peer)
      },
      message: (from, message) => this.#engine?.receive(from, message),
      evidence: async (_from, evidence) => {
        if (this.#evidenceChecks >= MAX_EVIDENCE_CHECKS || !this.#evidence.wants(evidence)) return 'ignore'
        this.#evidenceChecks++
        const verdict = await this.#options.application.checkEvidence(evidence).finally(() => this.#evidenceChecks--)
        if (verdict.verdict === 'invalid') return 'reject'
        if (verdict.verdict !== 'valid') return 'ignore'
        this.#evidence.addFromPeer(evidence)
        return 'accept'
      },
    }
  }

  /**
   * Asks the application about an open height, one question at a time. When a decision or a stop makes the answer useless, the
   * question is not asked, and a failure is ignored.
   */
  #ask(height: number, work: (engine: ConsensusEngine) => Promise<void>): void {
    const engine = this.#engine!
    const asked = this.#calls.run(async () => {
      if (engine.isOpen(height)) await work(engine)
    })
    asked.catch((error: unknown) => {
      if (engine.isOpen(height)) engine.fail(error)
      else
        this.#options.log('the application failed to answer a question that is not needed any more', { height, error })
    })
  }

  #createEnvironment(): ConsensusEnvironment {
    const { clock, transport, log, onBehind, onTimedProposal, onStep, roundEvents } = this.#options
    return {
      wal: {
        append: (entry) => {
          this.#wal.append(entry)
          this.#recovery.add(entry)
        },
        sync: (done) => {
          const beginMs = clock.monotonicMs()
          this.#wal.sync().then(
            () => {
              this.#timings.logMs = clock.monotonicMs() - beginMs
              done()
            },
            (error: Error) => done(error),
          )
        },
        prune: (height) => {
          this.#wal.prune(height).catch((error: unknown) => this.#engine?.fail(error))
        },
      },
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      setTimer: (delayMs, run) => clock.setTimer(delayMs, run),
      send: (to, message) => transport.send(to, message),
      publishEvidence: (evidence) => transport.publishEvidence(evidence),
      punish: (peer, what, reason) => transport.punish(peer, what, reason),
      fetchDecided: (from, height) => void this.#fetchDecided(from, height),
      ...(onStep === undefined ? {} : { onStep }),
      ...(roundEvents === undefined ? {} : { roundEvents }),
      onRoundBegan: () => {
        this.#roundBeganMs = clock.monotonicMs()
        this.#buildBudget.roundBegan(this.#roundBeganMs)
      },
      onRefused: (height, round) => {
        this.#buildBudget.refused()
        log('a third of the power did not accept the block of this node', { height, round })
      },
      build: (request, round) => this.#ask(request.height, (engine) => this.#build(engine, request, round)),
      validate: (block) => {
        this.#buildBudget.received(headerHash(block.header), clock.monotonicMs())
        this.#ask(block.header.height, (engine) => this.#validate(engine, block))
      },
      finalize: (decided) => this.#finalize(this.#engine!, decided),
      onUnknownSignature: (vote) => this.#onUnknownSignature(vote),
      onTimedProposal,
      onDecided: () => {
        // #finalized calls the owner's onDecided, with the durations.
      },
      onBehind,
      onHalt: (error) => this.#halt(error),
      log,
    }
  }

  /**
   * A round may be over before the application gets to its block, when the executor was busy with a
   * slow block of an earlier round. The others would refuse the block then, and building it would
   * also delay the current round.
   */
  async #build(engine: ConsensusEngine, request: ProposalRequest, round: number): Promise<void> {
    const present = engine.roundState
    if (present.round !== round || present.step > STEPS.propose) return
    const { clock, application } = this.#options
    const beginMs = clock.monotonicMs()
    const { ms: budgetMs, refusals } = this.#buildBudget
    const data = await application.prepareProposal({ ...request, refusals }, budgetMs)
    const endMs = clock.monotonicMs()
    this.#timings.buildMs = endMs - beginMs
    if (data !== undefined) this.#buildBudget.built(beginMs, endMs)
    if (data === undefined) engine.unanswered(request.height)
    else engine.built(request.height, round, data)
  }

  async #validate(engine: ConsensusEngine, block: ConsensusBlock): Promise<void> {
    const { application, clock } = this.#options
    const { height } = block.header
    const hash = headerHash(block.header)
    // The round may have ended while the executor was busy with another block: the current round's
    // block comes first.
    if (!engine.awaits(height, hash)) {
      engine.unchecked(height, hash)
      return
    }
    const beginMs = clock.monotonicMs()
    const verdict = await application.processProposal(block, this.#checkBudgetMs(engine))
    // Without a verdict the block stays one that the application has not answered for: the timeout prevotes nil.
    if (verdict === undefined) {
      engine.unchecked(height, hash)
      return
    }
    this.#buildBudget.executed(hash, beginMs, clock.monotonicMs())
    engine.validated(height, hash, verdict.accepted ? undefined : verdict.reason)
  }

  /**
   * Returns how long a check may take: until its round is over, by the round's own timeouts for
   * proposal and prevotes. Until then a verdict leads to a prevote, or, where the others were
   * faster, to a precommit; and a block that they decide is executed already.
   */
  #checkBudgetMs({ roundState: { round } }: ConsensusEngine): number {
    const { clock, chain } = this.#options
    const voteMs = timeoutMs('prevote', round, chain.timing)
    const endMs = this.#roundBeganMs + timeoutMs('propose', round, chain.timing) + voteMs
    // A block that comes late has its majority of prevotes already.
    return Math.max(voteMs, endMs - clock.monotonicMs())
  }

  #finalize(engine: ConsensusEngine, decided: DecidedBlock): void {
    const { clock, application } = this.#options
    const executed = this.#calls.run(async () => {
      const beginMs = clock.monotonicMs()
      const result = await executeDecided(application, decided)
      this.#finalized(engine, decided, result, clock.monotonicMs() - beginMs)
    })
    executed.catch((error: unknown) => engine.fail(error))
  }

  /**
   * The application has executed the block. The order:
   * 1. Report the height to log and signer, so that nothing more is signed for it. A copy may find
   *    that it can sign the next one. Report its end to the budget of the next proposals, before
   *    the next height begins.
   * 2. Report the block to the owner.
   * 3. Let the engine begin the next height, or stop it: if the log already has own messages of the next height (the database was an
   *    older copy), this node may sign there only after a start with a replay of the log.
   * 4. Resolve the promise of a caller that waits in `stopEngine`, before a new engine is started.
   */
  #finalized(engine: ConsensusEngine, decided: DecidedBlock, result: FinalizeResult, finalizeMs: number): void {
    const { height } = decided.block.header
    const timings = { ...this.#timings, finalizeMs }
    this.#timings = { buildMs: 0, logMs: 0 }
    // 1.
    this.#advance(advanceState(this.#state, decided, result))
    this.#reportOwnFaults(decided.block.evidence)
    this.#watchCopy(decided)
    this.#measureHeight(decided)
    // 2.
    this.#options.onDecided({ decided, result, source: 'consensus', timings })
    // 3.
    const needsReplay = this.#recovery.lastSigned?.height === height + 1 && engine.isRunning
    if (needsReplay) engine.stop()
    engine.finalized(height, result)
    // 4.
    this.#whenIdle?.resolve()
    this.#whenIdle = undefined
    if (!needsReplay) return
    this.#monitor.pause()
    this.#engine = undefined
    this.startEngine()
  }

  #measureHeight({ block, blockId, seenCommit }: DecidedBlock): void {
    const { clock, onBuildBudget } = this.#options
    const isOwn = this.#isOwn(block.header.proposerAddress)
    const validators = seenCommit.signatures.length
    this.#buildBudget.decided({ hash: blockId.hash, isOwn, validators }, clock.monotonicMs())
    onBuildBudget?.(this.#buildBudget.ms)
  }

  /** A copy's validator may sign again when enough blocks were decided without its key. */
  #watchCopy({ block, seenCommit }: DecidedBlock): void {
    if (this.#copy === undefined) return
    this.#copy.inspect(block.lastCommit)
    this.#copy.inspect(seenCommit)
    const { height } = block.header
    if (!this.#copy.decided(block.header, this.#state.lastValidators, this.#options.clock.nowMs())) return
    this.#copy = undefined
    this.#signer.mute(false)
    this.#options.wal.warn('this directory was a copy: its validator signs from now on', {
      height,
      quietBlocks: QUIET_BLOCKS,
    })
  }

  async #fetchDecided(from: PeerId, height: number): Promise<void> {
    const { transport, chain } = this.#options
    try {
      const { blocks } = await transport.fetchBlocks(from, { from: height, count: 1, maxBytes: chain.params.maxBytes })
      const [fetched] = blocks
      const block = fetched && decodeBlock(fetched.block)
      if (block?.header.height !== height) this.#engine?.fetchFailed(from, height)
      else this.#engine?.receiveDecided(from, block, decodeCommit(fetched!.commit))
    } catch (error) {
      this.#options.log('a decided block could not be fetched', { peer: from, height, error })
      this.#engine?.fetchFailed(from, height)
    }
  }

  #onUnknownSignature(vote: Vote): void {
    if (this.#signer.knows(vote)) return
    this.#copy?.sawSignature(vote.height)
    // An abstaining signer uses it to learn what it has signed. Otherwise signing continues,
    // because this process cannot know whether it or the other process is the right one.
    if (this.#monitor.isObserving || this.#copy !== undefined) this.#signer.observe(vote)
    this.#options.onUnknownSignature(vote)
  }

  /**
   * Reports evidence against this node's own keys. A block may be the first to show it, because a peer that has one vote of a validator
   * does not relay a second one. This process signs each step only once, so one of the two votes is from another process.
   */
  #reportOwnFaults(evidence: readonly Evidence[]): void {
    for (const { voteA, voteB } of evidence) {
      const isOwn = this.#isOwn(voteA.validatorAddress)
      // Older faults are not reported: the other process may be gone by now.
      if (isOwn && this.#firstHeight !== undefined && voteA.height >= this.#firstHeight) {
        this.#options.onUnknownSignature(voteB)
      }
    }
  }
}

/** Executes a decided block and checks the application's answer. */
async function executeDecided(
  application: Pick<Application, 'finalizeBlock'>,
  decided: DecidedBlock,
): Promise<FinalizeResult> {
  return checkedResult(decided, await application.finalizeBlock(decided))
}

function checkedResult(decided: DecidedBlock, result: FinalizeResult): FinalizeResult {
  if (result.appHash.length !== 32 || result.lastResultsHash.length !== 32) {
    throw new Error(`the application returned no hashes for block ${decided.block.header.height}`)
  }
  return result
}

/** A block was executed: conflicting votes of its height become evidence now. */
function reportToEvidencePool(
  pool: Pick<EvidencePool, 'decided'>,
  { block }: DecidedBlock,
  publish: (evidence: Evidence) => void,
): void {
  const { height, timeMs } = block.header
  for (const evidence of pool.decided({ height, timeMs }, block.evidence)) publish(evidence)
}

/** Removes evidence that a block has reported. A crash right after that block may have left it in the pool. */
async function dropCommittedEvidence(
  pool: Pick<EvidencePool, 'pending' | 'remove'>,
  application: Pick<Application, 'checkEvidence'>,
): Promise<void> {
  for (const evidence of pool.pending(Number.MAX_SAFE_INTEGER)) {
    const { verdict } = await application.checkEvidence(evidence)
    if (verdict !== 'valid' && verdict !== 'early') pool.remove(evidence)
  }
}

/** Runs asynchronous calls one after another, in the order in which they come. */
export class CallQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#last.then(call)
    // The caller gets the error from `result`.
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Resolves when no call is running or waiting. */
  async whenIdle(): Promise<void> {
    for (let last: unknown; last !== this.#last; ) {
      last = this.#last
      await this.#last
    }
  }
}
