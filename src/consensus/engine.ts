import { type ConsensusBlock, headerHash } from '../chain/comet/block.ts'
import { type Commit, type Evidence, equalBlockId } from '../chain/comet/types.ts'
import { bytesKey, equalBytes } from '../primitives/bytes.ts'
import type { VerifySignature } from '../primitives/ed25519.ts'
import type { DecidedBlock, FinalizeResult, ProposedData } from './application.ts'
import { CatchUp } from './catchUp.ts'
import { ConsensusGossip, type Send, SWEEP_MS } from './consensusGossip.ts'
import { advanceState, type ConsensusState, type EngineChain } from './consensusState.ts'
import type { ConsensusEnvironment, ConsensusSigner, ConsensusWal } from './environment.ts'
import type { EvidencePool } from './evidencePool.ts'
import type { Effect, Input, Timeout } from './inputsAndEffects.ts'
import type { ConsensusMessage } from './messages.ts'
import { Outbox } from './outbox.ts'
import { BlockProposer, isAsked, OwnMessages } from './ownMessages.ts'
import { step } from './reducer.ts'
import { entryOf, replayHeight } from './replay.ts'
import { RoundReporter } from './roundEvents.ts'
import { RoundState } from './roundState.ts'
import type { RoundStateView } from './roundStateView.ts'
import { StepTimers } from './stepTimers.ts'
import type { PeerId } from './transport.ts'
import type { WalEntry } from './walEntry.ts'

export interface EngineOptions {
  readonly chain: EngineChain
  /** after the last finalized block */
  readonly state: ConsensusState
  /** undefined: the node follows without voting */
  readonly signer: ConsensusSigner | undefined
  readonly verify: VerifySignature
  /** the log's entries of the open height, oldest first */
  readonly replay: readonly WalEntry[]
  readonly evidence: Pick<EvidencePool, 'pending' | 'addEquivocation' | 'decided' | 'postpone'>
  readonly environment: ConsensusEnvironment
}

type EffectOf<K extends Effect['kind']> = Extract<Effect, { readonly kind: K }>

/**
 * One node's part in consensus: passes inputs to the log and the reducer, and carries out the
 * reducer's effects in their order. Synchronous, without a clock, disk or network of its own. Its
 * functions may be called at any time, also by the environment's functions while the engine is
 * calling them. {@link Outbox} explains which log entries must be synced before a message is sent.
 */
export class ConsensusEngine {
  readonly #options: EngineOptions
  readonly #environment: ConsensusEnvironment
  readonly #rounds: RoundState
  readonly #gossip: ConsensusGossip
  readonly #outbox: Outbox
  readonly #timers: StepTimers
  readonly #proposer: BlockProposer | undefined
  readonly #ownMessages: OwnMessages
  readonly #catchUp: CatchUp
  readonly #reporter: RoundReporter
  #state: ConsensusState
  #phase: 'new' | 'running' | 'stopped' | 'halted' = 'new'
  readonly #inbox = new Inbox()
  readonly #decision: Decision
  #cancelSweep: (() => void) | undefined
  /** the last timeout of a proposal that was not scheduled, since this node is the only validator */
  #waivedTimeout: EffectOf<'schedule'> | undefined
  /** the newest `onStep` */
  #reported: Pick<RoundStateView, 'height' | 'round' | 'step'> | undefined

  constructor(options: EngineOptions) {
    const { chain, state, signer, verify, environment } = options
    this.#options = options
    this.#environment = environment
    this.#state = state
    // The key of the validator may change between heights.
    this.#rounds = new RoundState({
      chain,
      state,
      verify,
      get address() {
        return signer?.address
      },
    })
    this.#gossip = new ConsensusGossip({
      get ownAddress() {
        return signer?.address
      },
    })
    this.#outbox = new Outbox(environment.wal, (error) => this.#halt(error))
    this.#timers = new StepTimers(chain, environment, (timeout) => this.#expired(timeout))
    this.#proposer = signer && new BlockProposer(environment, chain.genesisHash, signer)
    this.#decision = new Decision(environment.wal)
    this.#ownMessages = new OwnMessages(signer, environment)
    this.#catchUp = new CatchUp(environment)
    this.#reporter = new RoundReporter(environment.roundEvents, (run) => this.#outbox.push(run))
  }

  /**
   * Returns the current height, for gossip and RPC. The returned object changes with each input.
   */
  get roundState(): RoundStateView {
    return this.#rounds
  }

  /** After the last finalized block. */
  get state(): ConsensusState {
    return this.#state
  }

  /** A decision is in the log, and `finalized` was not called yet. */
  get isDeciding(): boolean {
    return this.#decision.isPending && this.#phase !== 'halted'
  }

  get isRunning(): boolean {
    return this.#phase === 'running'
  }

  /** Whether an answer of the application about this height is still needed. */
  isOpen(height: number): boolean {
    return this.#phase === 'running' && this.#rounds.height === height && !this.#decision.isPending
  }

  /** Replays the log's entries of the open height, then carries out the effects that are not done yet. */
  start(): void {
    if (this.#phase !== 'new') throw new Error('the engine was started already')
    this.#phase = 'running'
    this.#guarded(() => {
      // An earlier engine of this process may have appended signatures that are not synced yet.
      if (this.#options.replay.length > 0) this.#outbox.hold()
      for (const effect of replayHeight(this.#rounds, this.#options.replay)) this.#carryOut(effect)
    })
    this.#scheduleSweep()
  }

  /** Nothing is signed or sent afterwards. A decision that is already in the log is still executed. */
  stop(): void {
    if (this.#phase !== 'running') return
    this.#phase = 'stopped'
    this.#outbox.stop()
    this.#clear()
  }

  #clear(): void {
    this.#timers.clear()
    this.#proposer?.reset()
    this.#cancelSweep?.()
    this.#inbox.clear()
  }

  /** Takes a peer's message, decoded and not verified. */
  receive(from: PeerId, message: ConsensusMessage): void {
    if (this.#phase !== 'running') return
    if (message.kind === 'status') {
      this.#guarded(() => {
        this.#send(this.#gossip.onStatus(from, message, this.#rounds))
        this.#checkBehind(false)
      })
      return
    }
    this.#guarded(() => {
      this.#gossip.onMessage(from, message, this.#rounds)
      if (message.kind === 'proposal') this.#inbox.push({ ...message, receivedMs: this.#environment.nowMs(), from })
      else this.#inbox.push({ ...message, from })
    })
  }

  peerJoined(peer: PeerId, validatorAddress: Uint8Array | undefined): void {
    this.#guarded(() => this.#send(this.#gossip.peerJoined(peer, validatorAddress, this.#rounds)))
  }

  peerLeft(peer: PeerId): void {
    this.#guarded(() => {
      this.#gossip.peerLeft(peer)
      this.#checkBehind(false)
    })
  }

  /** Takes a decided block from a peer, not verified yet. */
  receiveDecided(from: PeerId, block: ConsensusBlock, commit: Commit): void {
    this.#catchUp.answered(from, block.header.height)
    this.#decision.fetched(block)
    this.#input({ kind: 'decision', block, commit, from })
  }

  fetchFailed(from: PeerId, height: number): void {
    this.#guarded(() => {
      this.#catchUp.answered(from, height)
      this.#gossip.fetchFailed(from, height)
      this.#checkBehind(false)
    })
  }

  /** Takes the answer to `environment.build`. */
  built(height: number, round: number, data: ProposedData): void {
    if (this.#phase !== 'running') return
    this.#guarded(() => {
      const block = this.#proposer?.built(height, round, data)
      if (block !== undefined) this.#inbox.push({ kind: 'built', round, block })
    })
  }

  /** Takes the answer to `environment.validate`; `reason` undefined: accepted. */
  validated(height: number, blockHash: Uint8Array, reason: string | undefined): void {
    this.#input({ kind: 'validated', height, blockHash, reason })
  }

  /**
   * `environment.validate` of this block will not be answered: the application had no time, or failed. The round continues by its
   * timeout; a later round that needs the block has it checked again.
   */
  unchecked(height: number, blockHash: Uint8Array): void {
    this.unanswered(height)
    this.#input({ kind: 'unchecked', height, blockHash })
  }

  /** Whether the current round waits for the application's answer about this block. */
  awaits(height: number, blockHash: Uint8Array): boolean {
    return this.isOpen(height) && this.#rounds.candidate?.isAwaited(blockHash) === true
  }

  /**
   * Called when `environment.build` or `validate` of this height will not be answered. The round
   * continues by its timeout, which the only validator of a chain gets now.
   */
  unanswered(height: number): void {
    const waived = this.#waivedTimeout
    if (this.#phase !== 'running' || waived?.timeout.height !== height) return
    this.#timers.schedule(waived.timeout, waived.delayMs)
  }

  /**
   * Takes the answer to `environment.finalize`: the block is executed. The order:
   * 1. Set the new state: everything after this belongs to the next height.
   * 2. Report the block's time to the evidence pool: conflicting votes become evidence, which is sent to the peers.
   * 3. The owner learns of the block.
   * 4. Let the log drop blocks that the database has on stable storage.
   * 5. Let the reducer begin the next height. Last, because it may propose a block at once, with that state and evidence.
   */
  finalized(height: number, result: FinalizeResult): void {
    if (this.#phase === 'halted') return
    const decided = this.#decision.take(height)
    if (decided === undefined) return
    this.#guarded(() => {
      this.#state = advanceState(this.#state, decided, result) // 1.
      const { header, evidence } = decided.block
      this.#publish(this.#options.evidence.decided({ height, timeMs: header.timeMs }, evidence)) // 2.
      this.#environment.onDecided(decided, result) // 3.
      this.#environment.wal.prune(result.durableHeight) // 4.
      if (this.#phase === 'running') this.#inbox.push({ kind: 'finalized', height, result }) // 5.
    })
  }

  /**
   * Lets a signer that no longer abstains, or can be asked again, sign the unsigned messages of the
   * current round.
   */
  resumeSigning(): void {
    // Once the height is decided, they are not needed.
    if (this.#phase !== 'running' || this.#decision.isPending) return
    this.#guarded(() => {
      for (const effect of this.#ownMessages.takeUnsigned()) this.#sign(effect)
    })
  }

  /** Called when something that the engine needs has failed: nothing more is signed or sent. */
  fail(error: unknown): void {
    this.#halt(error)
  }

  #input(input: Input): void {
    if (this.#phase !== 'running') return
    this.#inbox.push(input)
    this.#drain()
  }

  #expired(timeout: Timeout): void {
    const { height, round } = this.#rounds
    if (timeout.height !== height || timeout.round < round) return
    this.#input({ kind: 'timeout', timeout })
  }

  /** Runs `work` and then handles all waiting inputs; an error halts the engine. */
  #guarded(work: () => void): void {
    if (this.#phase === 'halted' || this.#phase === 'new') return
    try {
      work()
    } catch (cause) {
      this.#halt(cause)
    }
    this.#drain()
  }

  #drain(): void {
    try {
      this.#inbox.drain(
        (input) => this.#apply(input),
        // One sync of the log for all of them. It may cause new inputs, which are handled too.
        () => this.#outbox.flush(),
      )
    } catch (cause) {
      this.#halt(cause)
    }
  }

  #apply(input: Input): void {
    const isLogged = input.kind === 'timeout' || input.kind === 'validated'
    if (isLogged && this.#rounds.isValidator) this.#environment.wal.append(input)
    const effects = step(this.#rounds, input)
    this.#reportStep()
    if (input.kind === 'built' && this.#rounds.isAlone && !effects.some(({ kind }) => kind === 'signProposal')) {
      // No other validator can propose another block.
      throw new Error('the application made a block that cannot be proposed: it is too large')
    }
    for (const effect of effects) {
      if (this.#phase !== 'running') return
      this.#carryOut(effect)
    }
  }

  #reportStep(): void {
    const { height, round, step } = this.#rounds
    const last = this.#reported
    if (last?.height === height && last.round === round && last.step === step) return
    this.#reported = { height, round, step }
    this.#environment.onStep?.(height, round, step)
  }

  #carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'schedule':
        this.#schedule(effect)
        break
      case 'build':
        this.#build(effect)
        break
      case 'validate':
        this.#environment.validate(effect.block)
        break
      case 'signProposal':
      case 'signVote':
        this.#sign(effect)
        break
      case 'finalize':
        this.#finalize(effect)
        break
      case 'equivocation':
        this.#equivocation(effect)
        break
      case 'refused':
        this.#options.evidence.postpone(effect.block.evidence)
        this.#environment.onRefused(effect.height, effect.round)
        break
      case 'accepted':
        this.#accepted(effect.input)
        this.#reporter.accepted(this.#rounds, effect.input)
        break
      case 'entered':
        this.#ownMessages.entered(effect.height, effect.round)
        this.#send(this.#gossip.onEntered(this.#rounds))
        this.#reporter.entered(this.#rounds, effect)
        break
      case 'misbehaviour':
        this.#misbehaviour(effect)
        break
      case 'halt':
        throw new Error(effect.reason)
      case 'log':
        this.#environment.log(effect.message, effect.fields)
    }
  }

  #build(effect: EffectOf<'build'>): void {
    const { evidence, chain } = this.#options
    const pending = () => evidence.pending(chain.evidence.maxBytes)
    this.#proposer?.build(effect, this.#rounds, this.#state, pending)
  }

  #schedule(effect: EffectOf<'schedule'>): void {
    const { timeout, delayMs } = effect
    if (timeout.step === 'newHeight') {
      // Uses `networkHeight` and not one peer's claim: otherwise a single lying peer could make this node propose without any pause.
      const isBehind = (this.#gossip.behind(this.#rounds)?.networkHeight ?? 0) > timeout.height
      this.#timers.scheduleHeight(timeout, delayMs, this.#rounds, isBehind)
      this.#checkBehind(false)
      return
    }
    if (timeout.step === 'propose') this.#environment.onRoundBegan()
    // No timeout for the only validator: otherwise a block that takes longer to build would be started again and again.
    if (timeout.step === 'propose' && this.#rounds.isAlone) {
      this.#waivedTimeout = effect
      return
    }
    this.#timers.schedule(timeout, delayMs)
  }

  #isOwn(address: Uint8Array): boolean {
    const own = this.#options.signer?.address
    return own !== undefined && equalBytes(own, address)
  }

  #sign(effect: EffectOf<'signProposal'> | EffectOf<'signVote'>): void {
    const signed = this.#ownMessages.sign(effect)
    if (isAsked(signed)) {
      // The log has the question now: no crash may make this node ask another one for the same step.
      this.#outbox.hold()
      this.#outbox.push(() => signed.send((complete) => this.#signed(complete)))
    } else this.#pushOwn(signed)
  }

  /**
   * Takes a remote signer's answer. An answer for a stopped engine is not logged: the next engine
   * asks again.
   */
  #signed(complete: () => readonly Input[] | undefined): void {
    if (this.#phase === 'running') this.#guarded(() => this.#pushOwn(complete() ?? []))
  }

  #pushOwn(messages: readonly Input[]): void {
    if (messages.length === 0) return
    this.#outbox.hold()
    this.#inbox.pushOwn(messages)
  }

  /**
   * A block is decided. The order:
   * 1. Stop the timers: the height's rounds are over.
   * 2. Append the decision to the log: after a crash the node decides the same block.
   * 3. Let the outbox wait for the log's next sync, which also covers this node's own precommit for the block.
   * 4. After the sync, let the application execute the block, so the database never has a block
   *    whose decision the log could lose. {@link finalized} continues from there.
   */
  #finalize(effect: EffectOf<'finalize'>): void {
    // 1.
    this.#timers.clear()
    this.#proposer?.reset()
    // 2.
    const isFetched = this.#decision.log(effect)
    this.#catchUp.decided(isFetched)
    // 3.
    this.#outbox.hold()
    // 4.
    this.#outbox.push(() => this.#environment.finalize(effect.decided), true)
    this.#compareClock(effect.decided)
  }

  /** A block that is proposed again has the time of an earlier round, and one's own says nothing about the clocks of others. */
  #compareClock({ blockId }: DecidedBlock): void {
    const { received } = this.#rounds
    if (received === undefined || received.own || !equalBlockId(received.proposal.blockId, blockId)) return
    const { polRound, timestampMs } = received.proposal
    if (polRound < 0) this.#environment.onTimedProposal(timestampMs, received.receivedMs)
  }

  /** A peer's message is logged only after it was found new and valid, so that a flood of other messages never reaches the disk. */
  #accepted(input: EffectOf<'accepted'>['input']): void {
    if (input.from !== undefined) {
      // A node that does not vote needs no votes after a restart, only the parts of the block that it has to execute.
      if (input.kind === 'part' || this.#rounds.isValidator) this.#environment.wal.append(entryOf(input))
      if (input.kind === 'vote' && this.#isOwn(input.vote.validatorAddress)) {
        this.#environment.onUnknownSignature(input.vote)
      }
    }
    this.#send(this.#gossip.onAccepted(input, this.#rounds))
  }

  #equivocation({ first, second }: EffectOf<'equivocation'>): void {
    const { height, validators, state } = this.#rounds
    const signers = second.height === height ? validators : state.lastValidators
    const evidence = this.#options.evidence.addEquivocation(first, second, signers)
    if (evidence !== undefined) this.#publish([evidence])
    if (this.#isOwn(second.validatorAddress)) this.#environment.onUnknownSignature(second)
  }

  #publish(evidence: readonly Evidence[]): void {
    for (const item of evidence) this.#outbox.push(() => this.#environment.publishEvidence(item))
  }

  /**
   * Handles a message that no honest peer sends: the transport punishes the peer, and for a while
   * it is not asked for blocks.
   */
  #misbehaviour({ peer, what, reason }: EffectOf<'misbehaviour'>): void {
    this.#gossip.fetchFailed(peer, this.#rounds.height)
    this.#outbox.push(() => this.#environment.punish(peer, what, reason))
  }

  #send(sends: readonly Send[]): void {
    for (const { to, message } of sends) {
      if (to.length > 0) this.#outbox.push(() => this.#environment.send(to, message))
    }
  }

  #checkBehind(isSweep: boolean): void {
    if (this.#phase !== 'running' || this.#decision.isPending) return
    this.#catchUp.check(this.#rounds, this.#gossip.behind(this.#rounds), isSweep)
  }

  #scheduleSweep(): void {
    this.#cancelSweep = this.#environment.setTimer(SWEEP_MS, () => {
      if (this.#phase !== 'running') return
      this.#guarded(() => {
        this.#send(this.#gossip.sweep(this.#environment.monotonicMs(), this.#rounds))
        this.#checkBehind(true)
      })
      this.#scheduleSweep()
    })
  }

  #halt(cause: unknown): void {
    if (this.#phase === 'halted') return
    this.#phase = 'halted'
    this.#outbox.kill()
    this.#clear()
    this.#environment.onHalt(cause instanceof Error ? cause : new Error(String(cause)))
  }
}

/**
 * The decision of the current height. It is written to the log and retained until the application
 * has executed the block.
 */
class Decision {
  readonly #wal: Pick<ConsensusWal, 'append'>
  /** header hashes of the decided blocks that peers sent for the current height */
  readonly #fetched = new Set<string>()
  #pending: DecidedBlock | undefined

  constructor(wal: Pick<ConsensusWal, 'append'>) {
    this.#wal = wal
  }

  /** The height is decided and not yet finalized. */
  get isPending(): boolean {
    return this.#pending !== undefined
  }

  /**
   * Notes that a peer sent this whole block as decided, so that its parts are not in the log yet.
   */
  fetched(block: ConsensusBlock): void {
    this.#fetched.add(bytesKey(headerHash(block.header)))
  }

  /**
   * Appends everything that a restart needs to execute the block. The mark `endHeight` comes last: it shows that the rest is complete.
   * @returns whether a peer sent the whole block
   */
  log({ decided, parts }: Extract<Effect, { readonly kind: 'finalize' }>): boolean {
    const { height } = decided.block.header
    const { round } = decided.seenCommit
    const isFetched = this.#fetched.has(bytesKey(decided.blockId.hash))
    // Parts that came one by one are in the log already.
    if (isFetched) for (const part of parts) this.#wal.append({ kind: 'part', height, round, part })
    this.#wal.append({ kind: 'commit', commit: decided.seenCommit })
    this.#wal.append({ kind: 'endHeight', height })
    this.#pending = decided
    return isFetched
  }

  /** Removes the pending decision. @returns its block; undefined when it was of another height, or there was none */
  take(height: number): DecidedBlock | undefined {
    const decided = this.#pending
    if (decided?.block.header.height !== height) return undefined
    this.#pending = undefined
    this.#fetched.clear()
    return decided
  }
}

/** Inputs for the reducer, one after another, also when an input causes further ones. */
class Inbox {
  readonly #waiting: Input[] = []
  readonly #own: Input[] = []
  #isDraining = false

  push(input: Input): void {
    this.#waiting.push(input)
  }

  /** Adds this node's own messages before all others, because they are in the log before them. */
  pushOwn(inputs: readonly Input[]): void {
    this.#own.push(...inputs)
  }

  clear(): void {
    this.#waiting.length = 0
    this.#own.length = 0
  }

  /**
   * Calls `apply` for every input. A call from within `apply` or `done` does nothing: the running drain handles the new inputs.
   * @param done called when no input is left; if it causes further inputs, they are handled too
   */
  drain(apply: (input: Input) => void, done: () => void): void {
    if (this.#isDraining) return
    this.#isDraining = true
    try {
      for (;;) {
        const input = this.#own.shift() ?? this.#waiting.shift()
        if (input !== undefined) {
          apply(input)
          continue
        }
        done()
        if (this.#own.length === 0 && this.#waiting.length === 0) return
      }
    } finally {
      this.#isDraining = false
    }
  }
}
