import { type ConsensusBlock, dataHash, maxDataBytes } from '../chain/comet/block.ts'
import { evidenceSize } from '../chain/comet/evidence.ts'
import type { ChainReader } from '../chain/store/chainReader.ts'
import type {
  Application,
  ApplicationInfo,
  DecidedBlock,
  FinalizeResult,
  ProposalVerdict,
} from '../consensus/application.ts'
import { ExecutionTimeout } from '../evm/engine.ts'
import { AUTH_PARAMS } from '../modules/auth/params.ts'
import { createTransactionDecoder } from '../modules/tx/transactionDecoder.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { Journal } from '../state/journal.ts'
import { type RunningParams, runningParams } from './blockContext.ts'
import { type BlockRunnerOptions, createBlockRunner } from './blockRunner.ts'
import { FillTime } from './buildTime.ts'
import { readEntries, readEntry } from './entry.ts'
import {
  type BlockEvidenceVerdict,
  checkBlockEvidence,
  chooseEvidence,
  type EvidenceChain,
  KnownEvidence,
  verifyEvidence,
} from './evidenceCheck.ts'
import type { ExecutedBlock, ExecutionInput } from './executedBlock.ts'
import { ExecutionDeadline, type StoppedReport } from './executionDeadline.ts'
import {
  type CandidateSource,
  checkEntries,
  DefectiveTransactions,
  fillBlock,
  PostponedTransactions,
  SlowTransactions,
} from './proposal.ts'
import { DecidedBlockError, endsNode, reportOf, type UnforeseenReport } from './unforeseenError.ts'

interface ApplicationOptions extends BlockRunnerOptions {
  readonly chainReader: () => Pick<ChainReader, 'base' | 'oldestBlock' | 'hash' | 'blockTimeMs' | 'validatorSetAt'>
  readonly candidates: CandidateSource
  /** Stores a decided block with its state and announces it; in catch-up it may buffer it for a moment. */
  readonly publish: (decided: DecidedBlock, executed: ExecutedBlock) => Promise<void>
  /** Writes and announces blocks that {@link publish} buffered. */
  readonly flush: () => Promise<void>
  /** Resolves when every block is on stable storage. */
  readonly written: () => Promise<void>
  /** Reports how long it took to build or execute a block, with its state root and the time spent waiting for the mempool. */
  readonly onExecuted: (milliseconds: number) => void
  /**
   * Called with an unforeseen error. It costs this node a transaction or a vote; in a decided block
   * it stops the node.
   */
  readonly onUnforeseen: (report: UnforeseenReport) => void
  /** Reports an execution that was stopped because it took too long. */
  readonly onStopped: (report: StoppedReport) => void
  /** Runs background work after the work that callers wait for. */
  readonly defer: (work: () => void) => void
  /** milliseconds, monotonic */
  readonly now: () => number
}

/**
 * The state machine that consensus replicates: it chooses transactions and evidence, executes
 * blocks and stores decided ones. A block is executed once, when it is built or proposed: the
 * result is retained until the decision. Calls must not overlap, except `info` and `checkEvidence`.
 */
export function createApplication(options: ApplicationOptions): Application {
  const { chain, now } = options
  const decoder = createTransactionDecoder(chain)
  const runner = createBlockRunner(options)
  const postponed = new PostponedTransactions(chain.precompileGasLimit)
  const defective = new DefectiveTransactions()
  const slow = new SlowTransactions()
  const fillTime = new FillTime()
  const known = new KnownEvidence()

  /** Reports an unforeseen error. @throws one that ends the node */
  const report = (
    place: UnforeseenReport['place'],
    height: number,
    error: unknown,
    transaction?: Hash,
  ): UnforeseenReport => {
    if (endsNode(error)) throw error
    const made = reportOf({ place, height, error, transaction })
    options.onUnforeseen(made)
    return made
  }

  const evidenceChain = (): EvidenceChain => {
    const { header, timeMs } = options.head()
    return {
      chain,
      head: { height: header.number, timeMs },
      reader: options.chainReader(),
      native: new Journal(options.state.reader()).native,
      known,
    }
  }
  /** Checks whether the next block may report its evidence. Nearly all blocks have no evidence. */
  const checkEvidenceOf = ({ evidence }: ConsensusBlock): BlockEvidenceVerdict =>
    evidence.length === 0 ? 'valid' : checkBlockEvidence(evidence, evidenceChain())

  const paramsAfterHead = (): RunningParams => runningParams(new Journal(options.state.reader()).native, chain)

  const inputOf = ({ header, txs, evidence, lastCommit }: ConsensusBlock): ExecutionInput => {
    const { height, timeMs, proposerAddress } = header
    const parentConsensusHash = options.head().consensusHash
    return { height, timeMs, proposerAddress, parentConsensusHash, lastCommit, evidence, txs }
  }
  const execute = async <T>(run: () => Promise<T>): Promise<T> => {
    const beginMs = now()
    const executed = await run()
    options.onExecuted(now() - beginMs)
    return executed
  }
  /**
   * Retains the result until a block is decided. Votes take a while: meanwhile the database batch
   * is prepared.
   */
  const keep = (input: ExecutionInput, executed: ExecutedBlock): void => {
    runner.keep(input, executed)
    options.defer(() => {
      if (!runner.isRetained(executed)) return
      try {
        executed.state.prepare()
      } catch (error) {
        report('check', input.height, error)
        runner.clear() // if the block is decided, it is executed again
      }
    })
  }
  /**
   * To be called before a block is built or checked, which happens on the newest block, also while that is being written. Other threads
   * that execute read the database, and can only after the write.
   */
  const waitForWrites = options.parallel === undefined ? options.flush : options.written
  const entriesOf = (
    { block: { txs }, senders }: Pick<DecidedBlock, 'block' | 'senders'>,
    deadline?: ExecutionDeadline,
  ) =>
    senders === undefined
      ? readEntries(txs, decoder, options.candidates.senders, deadline)
      : txs.map((raw, index) => readEntry(raw, decoder, { sender: senders[index] }))

  const judge = async (block: ConsensusBlock, deadline: ExecutionDeadline): Promise<ProposalVerdict | undefined> => {
    const evidence = checkEvidenceOf(block)
    // The block is not refused: nodes that can judge it may accept it, and consensus halts on a
    // refused block that others decide.
    if (evidence === 'unknown') return undefined
    if (evidence !== 'valid') return { accepted: false, reason: evidence.refused }
    const input = inputOf(block)
    // It was executed already: this node built it, or an earlier round proposed it.
    if (runner.find(input) !== undefined) return { accepted: true }
    const entries = await entriesOf({ block }, deadline)
    const { native } = new Journal(options.state.reader())
    const { blockGasLimit } = runningParams(native, chain)
    const reason = checkEntries(entries, block.header.height, { ...chain, blockGasLimit }, AUTH_PARAMS.find(native))
    if (reason !== undefined) return { accepted: false, reason }
    const executed = await execute(() => runner.check(input, entries, deadline))
    if ('reason' in executed) return { accepted: false, reason: executed.reason }
    keep(input, executed)
    return { accepted: true }
  }

  return {
    async info(): Promise<ApplicationInfo> {
      const { header, hash, timeMs, record, validators } = options.head()
      return {
        height: header.number,
        appHash: hash,
        lastResultsHash: record.resultsHash,
        lastBlockId: record.decided?.blockId,
        lastSeenCommit: record.decided?.seenCommit,
        lastBlockTimeMs: timeMs,
        lastValidators: validators.last,
        validators: validators.next,
        nextValidators: validators.afterNext,
        maxGas: Number(paramsAfterHead().blockGasLimit),
        isFromSnapshot: options.chainReader().oldestBlock > header.number,
      }
    },

    async prepareProposal({ maxBytes, evidence: pending, ...request }, budgetMs) {
      await waitForWrites()
      const { height } = request
      try {
        const beginMs = now()
        const evidence = pending.length === 0 ? [] : chooseEvidence(pending, evidenceChain())
        const executionDeadline = new ExecutionDeadline(now)
        const execution = await runner.begin({ ...request, evidence }, executionDeadline)
        const txs = await fillBlock(
          execution,
          options.candidates,
          {
            maxTxBytes: maxDataBytes({ maxBytes }, request.lastCommit.signatures.length, evidenceSize(evidence)),
            budgetMs: fillTime.within(budgetMs),
            now,
            postponed,
            defective,
            slow,
            executionDeadline,
            onError: (hash, error) => report('build', height, error, hash),
            onStopped: (transaction) => options.onStopped({ place: 'build', height, transaction }),
          },
          decoder,
        )
        const filledMs = now() - beginMs
        const executed = await runner.finish(execution)
        const builtMs = now() - beginMs
        if (txs.length > 0) fillTime.measured({ filledMs, builtMs, budgetMs })
        options.onExecuted(builtMs)
        keep({ ...request, evidence, txs }, executed)
        return { txs, evidence, dataHash: dataHash(txs) }
      } catch (error) {
        report('build', height, error)
        return undefined
      }
    },

    async checkEvidence(evidence) {
      return verifyEvidence(evidence, evidenceChain())
    },

    async processProposal(block, budgetMs = Number.POSITIVE_INFINITY) {
      const deadline = new ExecutionDeadline(now)
      deadline.setIn(budgetMs)
      await waitForWrites()
      try {
        return await judge(block, deadline)
      } catch (error) {
        if (error instanceof ExecutionTimeout) {
          options.onStopped({ place: 'check', height: block.header.height, transaction: undefined })
          return undefined
        }
        report('check', block.header.height, error)
        return undefined
      }
    },

    /**
     * 1. Write blocks that were buffered in catch-up, where the publisher writes them in groups. The block before may still be written.
     * 2. Compare the application hash that the validators agreed on with this node's, before anything is executed: a node that has
     *    computed another state must stop here, report both hashes, and store nothing.
     * 3. Use the result retained when the block was built or checked; without one, check its
     *    evidence and execute it now. An unforeseen error stops the node: it cannot know what the
     *    others have computed.
     * 4. Drop the other retained results: they were computed on the previous head.
     * 5. Make the block the head, and store and announce it: it may still be written when this returns its result, with which consensus
     *    starts the next height. `durableHeight` keeps the write-ahead log from dropping it.
     */
    async finalizeBlock(decided): Promise<FinalizeResult> {
      // 1.
      if (decided.catchingUp !== true) await waitForWrites()
      // 2.
      const { block } = decided
      const head = options.head()
      const { header } = block
      if (!equalBytes(header.appHash, head.hash)) {
        throw new Error(
          `block ${header.height} was decided on the application hash ${bytesToHex(header.appHash)}, ` +
            `but this node computed ${bytesToHex(head.hash)}: stop it, keep its data directory and report both hashes`,
        )
      }
      // 3.
      const input = inputOf(block)
      let executed = runner.find(input)
      if (executed === undefined) {
        // Unknown evidence counts as valid: more than two thirds of the power have decided the
        // block.
        const evidence = checkEvidenceOf(block)
        if (typeof evidence !== 'string') {
          throw new Error(
            `block ${header.height} was decided, but its evidence does not match this node's chain (${evidence.refused}): ` +
              'stop it, keep its data directory and report the block',
          )
        }
        try {
          const entries = await entriesOf(decided)
          executed = await execute(() => runner.run(input, entries))
        } catch (error) {
          throw new DecidedBlockError(report('decided', header.height, error))
        }
      }
      // 4.
      runner.clear()
      // 5.
      await options.publish(decided, executed)
      return {
        appHash: executed.hash,
        lastResultsHash: executed.resultsHash,
        validatorUpdates: executed.validatorUpdates,
        maxGas: Number(executed.nextParams.blockGasLimit),
        durableHeight: options.durableHeight(),
      }
    },
  }
}
