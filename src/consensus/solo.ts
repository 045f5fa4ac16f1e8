import type { ConsensusBlock } from '../chain/consensus/block.ts'
import { encodeBlock } from '../chain/consensus/blockCodec.ts'
import { encodedTxSize, maxDataBytes } from '../chain/consensus/consensusParams.ts'
import { headerHash } from '../chain/consensus/headerCodec.ts'
import { createPartSet } from '../chain/consensus/partSet.ts'
import {
  BLOCK_ID_FLAGS,
  type BlockId,
  type Proposal,
  SIGNED_MESSAGE_TYPES,
  type UnsignedVote,
  type ValidatorSet,
  type VoteType,
} from '../chain/consensus/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { Application, DecidedBlock, FinalizeResult } from './application.ts'
import type { Clock } from './clock.ts'
import { advanceState, type ConsensusChain, type ConsensusState, makeBlock, stateFromInfo } from './consensusState.ts'
import { type PaceAnchor, paceHeight } from './pace.ts'
import { Signer } from './signer.ts'
import { SoloRecovery, type UnfinishedHeight } from './soloRecovery.ts'
import { checkRecovery, replayDecided } from './soloReplay.ts'
import type { ValidatorKey } from './validatorKey.ts'
import { openWal, type Wal, type WalOptions } from './wal.ts'

export interface SoloChain extends ConsensusChain {
  readonly genesisHash: Uint8Array
  /** just the one */
  readonly validators: ValidatorSet
  /** average distance between blocks */
  readonly intervalMs: number
}

/** A block that was decided and executed. */
export interface DecidedEvent {
  readonly decided: DecidedBlock
  readonly result: FinalizeResult
  /** taken from the write-ahead log at the start */
  readonly replayed: boolean
  /** durations in milliseconds; of a replayed block only the execution's */
  readonly timings: {
    readonly waitMs: number
    readonly buildMs: number
    readonly logMs: number
    readonly finalizeMs: number
  }
}

export interface SoloOptions {
  readonly application: Application
  readonly key: ValidatorKey
  readonly chain: SoloChain
  readonly wal: Omit<WalOptions, 'genesisHash'>
  readonly clock: Clock
  readonly onDecided: (event: DecidedEvent) => void
  /** Called once when the driver cannot go on: a failing application or disk, or a rule broken. */
  readonly onHalt: (error: Error) => void
}

export interface SoloDriver {
  /** Ends with the height that is under way; resolves when the log is closed. After a halt too. */
  stop(): Promise<void>
}

/** A schedule that is this far behind begins anew (the machine slept, the disk stalled). */
const MAX_LAG_MS = 10_000

/**
 * Decides blocks alone, with the messages, signatures, log and rules of consensus: everything that the block engine of
 * several validators shows to the application, to light clients and to a restart is the same. Resolves when blocks that the log
 * holds and the application lacks are executed and block production has begun.
 * @throws WalError, RecoveryError, or what the application throws
 */
export async function startSolo(options: SoloOptions): Promise<SoloDriver> {
  const { application, chain, key, clock, onDecided } = options
  const [validator, ...others] = chain.validators.validators
  if (validator === undefined || others.length > 0 || !equalBytes(validator.address, key.address)) {
    throw new Error('this key is not that of the only validator of the chain')
  }
  const info = await application.info()
  const recovery = new SoloRecovery(chain.chainId, info.height)
  const wal = await openWal({ ...options.wal, genesisHash: chain.genesisHash }, (entry) => recovery.add(entry))
  try {
    const start = stateFromInfo(chain, info, chain.validators)
    checkRecovery(recovery, start, options.wal.warn)
    const state = await replayDecided(recovery, start, async (decided, before) => {
      const begin = clock.monotonicMs()
      const result = await finalize(application, before, decided)
      const timings = { waitMs: 0, buildMs: 0, logMs: 0, finalizeMs: clock.monotonicMs() - begin }
      onDecided({ decided, result, replayed: true, timings })
      return result
    })
    const { lastSigned } = recovery
    const signer = new Signer({ key, chainId: chain.chainId, log: wal, lastSigned, decidedHeight: state.lastHeight })
    const unfinished = recovery.unfinished(state.lastHeight + 1, chain.params.maxBytes)
    const driver = new Driver(options, wal, signer, state, unfinished)
    driver.start()
    return driver
  } catch (error) {
    await wal.close()
    throw error
  }
}

/** Executes a decided block; what the application answers is not taken on trust. */
async function finalize(
  application: Pick<Application, 'finalizeBlock'>,
  state: Pick<ConsensusState, 'validators'>,
  decided: DecidedBlock,
): Promise<FinalizeResult> {
  const result = await application.finalizeBlock(decided)
  const { height } = decided.block.header
  if (result.appHash.length !== 32 || result.lastResultsHash.length !== 32) {
    throw new Error(`the application gave no hashes for block ${height}`)
  }
  for (const { publicKey, power } of result.validatorUpdates) {
    const known = state.validators.validators.find((validator) => equalBytes(validator.publicKey, publicKey))
    if (known?.power !== power) {
      throw new Error(`block ${height} changes the validators, which a chain of one validator cannot follow`)
    }
  }
  return result
}

/** A block on its way to a decision. */
interface ProposedBlock {
  readonly block: ConsensusBlock
  readonly proposal: Proposal
}

class Driver implements SoloDriver {
  readonly #options: SoloOptions
  readonly #wal: Wal
  readonly #signer: Signer
  readonly #stopping = new AbortController()
  #state: ConsensusState
  #unfinished: UnfinishedHeight | undefined
  #anchor: PaceAnchor | undefined
  #done: Promise<void> = Promise.resolve()

  constructor(options: SoloOptions, wal: Wal, signer: Signer, state: ConsensusState, unfinished?: UnfinishedHeight) {
    this.#options = options
    this.#wal = wal
    this.#signer = signer
    this.#state = state
    this.#unfinished = unfinished
  }

  start(): void {
    this.#done = this.#run()
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    return this.#done
  }

  async #run(): Promise<void> {
    try {
      await this.#waitForGenesis()
      while (!this.#stopping.signal.aborted) await this.#runHeight()
    } catch (cause) {
      this.#options.onHalt(cause instanceof Error ? cause : new Error(String(cause)))
    } finally {
      await this.#close()
    }
  }

  async #close(): Promise<void> {
    try {
      await this.#wal.close()
    } catch (cause) {
      this.#options.wal.warn('write-ahead log could not be closed', { error: cause })
    }
  }

  async #waitForGenesis(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stopping
    if (this.#state.lastHeight > 0) return
    for (;;) {
      const waitMs = this.#state.lastBlockTimeMs - clock.nowMs()
      if (waitMs < 0 || signal.aborted) return
      await clock.sleep(waitMs + 1, signal)
    }
  }

  /** One height. Order: log what is signed → wait for the disk → execute → tell. Nothing leaves before it is durable. */
  async #runHeight(): Promise<void> {
    const { clock, application, onDecided } = this.#options
    const { signal } = this.#stopping
    const beginMs = clock.monotonicMs()
    const unfinished = this.#unfinished
    if (unfinished === undefined) {
      await this.#pace()
      if (signal.aborted) return
    }
    const pacedMs = clock.monotonicMs()

    const proposed = unfinished ?? (await this.#propose())
    // Not signed for yet: a stop may drop the block.
    if (proposed === undefined) return
    const builtMs = clock.monotonicMs()

    const decided = this.#decide(proposed, unfinished)
    await this.#wal.sync()
    this.#unfinished = undefined
    const loggedMs = clock.monotonicMs()

    const result = await finalize(application, this.#state, decided)
    this.#state = advanceState(this.#state, decided, result)
    const finalizeMs = clock.monotonicMs() - loggedMs
    const timings = { waitMs: pacedMs - beginMs, buildMs: builtMs - pacedMs, logMs: loggedMs - builtMs, finalizeMs }
    onDecided({ decided, result, replayed: false, timings })
    await this.#wal.prune(result.durableHeight)
  }

  async #pace(): Promise<void> {
    const { clock, chain } = this.#options
    const rules = { intervalMs: chain.intervalMs, maxLagMs: MAX_LAG_MS }
    const { delayMs, anchor } = paceHeight(this.#anchor, this.#state.lastHeight + 1, clock.monotonicMs(), rules)
    this.#anchor = anchor
    if (delayMs > 0) await clock.sleep(delayMs, this.#stopping.signal)
  }

  /** Builds, logs and signs the next block; undefined when the driver was stopped meanwhile. */
  async #propose(): Promise<ProposedBlock | undefined> {
    const { application, clock, chain } = this.#options
    const state = this.#state
    const height = state.lastHeight + 1
    const proposerAddress = this.#signer.address
    const timeMs = Math.max(clock.nowMs(), state.lastBlockTimeMs + 1)
    const maxTxBytes = maxDataBytes(state.params, state.validators.validators.length)
    const parentConsensusHash = state.lastHeight === 0 ? chain.genesisHash : state.lastBlockId.hash
    const data = await application.prepareProposal({ height, timeMs, proposerAddress, parentConsensusHash, maxTxBytes })
    if (this.#stopping.signal.aborted) return undefined
    const size = data.txs.reduce((sum, tx) => sum + encodedTxSize(tx.length), 0)
    if (size > maxTxBytes) throw new Error(`the application proposes ${size} bytes of transactions, over ${maxTxBytes}`)

    const block = makeBlock(state, { ...data, timeMs, proposerAddress })
    const { header, parts } = createPartSet(encodeBlock(block))
    // Parts first: a log that holds the proposal then holds its block, wherever a crash cut it.
    for (const part of parts) this.#wal.append({ kind: 'part', height, round: 0, part })
    const blockId: BlockId = { hash: headerHash(block.header), partSetHeader: header }
    const proposal = this.#signer.stageProposal({ height, round: 0, polRound: -1, blockId, timestampMs: timeMs })
    return { block, proposal }
  }

  /** Signs what is not signed yet and logs the commit. */
  #decide({ block, proposal }: ProposedBlock, unfinished: UnfinishedHeight | undefined): DecidedBlock {
    const { height, round, blockId } = proposal
    if (unfinished?.prevote === undefined && unfinished?.precommit === undefined) {
      this.#signer.stageVote(this.#vote(SIGNED_MESSAGE_TYPES.prevote, proposal))
    }
    const precommit =
      unfinished?.precommit ?? this.#signer.stageVote(this.#vote(SIGNED_MESSAGE_TYPES.precommit, proposal))
    const { validatorAddress, timestampMs, signature } = precommit
    const seenCommit = {
      height,
      round,
      blockId,
      signatures: [{ flag: BLOCK_ID_FLAGS.commit, validatorAddress, timestampMs, signature }],
    }
    this.#wal.append({ kind: 'commit', commit: seenCommit })
    this.#wal.append({ kind: 'endHeight', height })
    return { block, blockId, seenCommit }
  }

  #vote(type: VoteType, { height, round, blockId, timestampMs }: Proposal): UnsignedVote {
    return {
      type,
      height,
      round,
      blockId,
      timestampMs: Math.max(this.#options.clock.nowMs(), timestampMs),
      validatorAddress: this.#signer.address,
      validatorIndex: 0,
    }
  }
}
