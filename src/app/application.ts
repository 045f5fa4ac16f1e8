import { type ConsensusBlock, dataHash, maxDataBytes } from '../chain/consensus/block.ts'
import { evidenceSize } from '../chain/consensus/evidence.ts'
import type { ChainReader } from '../chain/store.ts'
import type { Application, ApplicationInfo, DecidedBlock, FinalizeResult } from '../consensus/application.ts'
import { AUTH_PARAMS } from '../modules/auth/params.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { Journal } from '../state/journal.ts'
import { type BlockRunnerOptions, createBlockRunner } from './blockRunner.ts'
import type { CandidateSource } from './candidateSource.ts'
import { type Entry, readEntries, readEntry } from './entry.ts'
import { checkBlockEvidence, chooseEvidence, type EvidenceChain, judgeEvidence } from './evidenceCheck.ts'
import type { ExecutedBlock, ExecutionInput } from './executedBlock.ts'
import { PostponedTransactions } from './postponedTransactions.ts'
import { fillBlock } from './proposalBuilder.ts'
import { checkEntries } from './proposalCheck.ts'
import { type RunningParams, runningParams } from './runningParams.ts'

export interface ApplicationOptions extends BlockRunnerOptions {
  readonly chainReader: () => Pick<ChainReader, 'hash' | 'consensusBlock' | 'validatorSetAt'>
  readonly candidates: CandidateSource
  /** Stores a decided block with its state and shows it to everybody; in catch-up perhaps a little later. */
  readonly publish: (decided: DecidedBlock, executed: ExecutedBlock) => Promise<void>
  /** Stores and shows what was left for later. */
  readonly settle: () => Promise<void>
  /** newest block on stable storage */
  readonly durableHeight: () => number
  /** A block was built or executed, with its state root; waiting for the mempool counts. */
  readonly onExecuted: (milliseconds: number) => void
  /** Runs work that nobody waits for, after what waits for an answer has one. */
  readonly defer: (work: () => void) => void
  /** milliseconds that a proposer may spend on filling a block */
  readonly buildBudgetMs: number
  /** milliseconds, monotonic */
  readonly now: () => number
}

/**
 * The state machine behind consensus: chooses transactions and evidence, executes blocks (once, whether they are built, proposed or
 * decided) and hands decided ones over to be stored. Calls must not overlap, but for `info` and `checkEvidence`.
 */
export function createApplication(options: ApplicationOptions): Application {
  const { chain, now } = options
  const runner = createBlockRunner(options)
  const postponed = new PostponedTransactions(chain.precompileGasLimit)

  const evidenceChain = (): EvidenceChain => {
    const { header, timeMs } = options.head()
    return {
      chain,
      head: { height: header.number, timeMs },
      reader: options.chainReader(),
      native: new Journal(options.state.reader()).native,
    }
  }
  /** Why the block's evidence is not acceptable after the head. Nearly all blocks have none. */
  const refuseEvidence = ({ evidence }: ConsensusBlock): string | undefined =>
    evidence.length === 0 ? undefined : checkBlockEvidence(evidence, evidenceChain())

  const paramsAfterHead = (): RunningParams => runningParams(new Journal(options.state.reader()).native, chain)

  const inputOf = ({ header, txs, evidence, lastCommit }: ConsensusBlock): ExecutionInput => {
    const { height, timeMs, proposerAddress } = header
    const parentConsensusHash = options.head().consensusHash
    return { height, timeMs, proposerAddress, parentConsensusHash, lastCommit, evidence, txs }
  }
  const execute = async (input: ExecutionInput, entries: readonly Entry[]): Promise<ExecutedBlock> => {
    const beginMs = now()
    const executed = await runner.run(input, entries)
    options.onExecuted(now() - beginMs)
    return executed
  }
  /** Until the decision, which takes consensus a while: its batch is prepared meanwhile. Another block's makes it forgotten. */
  const keep = (input: ExecutionInput, executed: ExecutedBlock): void => {
    runner.keep(input, executed)
    options.defer(() => {
      if (runner.isKept(executed)) executed.state.prepare()
    })
  }
  const entriesOf = ({ block: { txs }, senders }: Pick<DecidedBlock, 'block' | 'senders'>) =>
    senders === undefined
      ? readEntries(txs, chain, options.candidates.senders)
      : txs.map((raw, index) => readEntry(raw, chain, { sender: senders[index] }))

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
      }
    },

    async prepareProposal({ maxBytes, evidence: pending, ...request }) {
      await options.settle()
      const beginMs = now()
      const evidence = pending.length === 0 ? [] : chooseEvidence(pending, evidenceChain())
      const execution = await runner.begin({ ...request, evidence })
      const txs = await fillBlock(
        execution,
        options.candidates,
        {
          maxTxBytes: maxDataBytes({ maxBytes }, request.lastCommit.signatures.length, evidenceSize(evidence)),
          budgetMs: options.buildBudgetMs,
          now,
          postponed,
        },
        chain,
      )
      const executed = await runner.finish(execution)
      options.onExecuted(now() - beginMs)
      keep({ ...request, evidence, txs }, executed)
      return { txs, evidence, dataHash: dataHash(txs) }
    },

    async checkEvidence(evidence) {
      return judgeEvidence(evidence, evidenceChain())
    },

    async processProposal(block) {
      await options.settle()
      const wrongEvidence = refuseEvidence(block)
      if (wrongEvidence !== undefined) return { accepted: false, reason: wrongEvidence }
      const input = inputOf(block)
      // This node's own proposal, or one that another round proposes again.
      if (runner.find(input) !== undefined) return { accepted: true }
      const entries = await entriesOf({ block })
      const { native } = new Journal(options.state.reader())
      const { blockGasLimit } = runningParams(native, chain)
      const reason = checkEntries(entries, block.header.height, { ...chain, blockGasLimit }, AUTH_PARAMS.find(native))
      if (reason !== undefined) return { accepted: false, reason }
      keep(input, await execute(input, entries))
      return { accepted: true }
    },

    async finalizeBlock(decided): Promise<FinalizeResult> {
      if (decided.catchingUp !== true) await options.settle()
      const { block } = decided
      const head = options.head()
      const { header } = block
      if (!equalBytes(header.appHash, head.hash)) {
        throw new Error(
          `block ${header.height} was decided on the application hash ${bytesToHex(header.appHash)}, ` +
            `but this node computed ${bytesToHex(head.hash)}: stop it, keep its data directory and report both`,
        )
      }
      const input = inputOf(block)
      let executed = runner.find(input)
      if (executed === undefined) {
        const wrongEvidence = refuseEvidence(block)
        if (wrongEvidence !== undefined) {
          throw new Error(
            `block ${header.height} was decided, but this node's chain does not bear out its evidence (${wrongEvidence}): ` +
              'stop it, keep its data directory and report the block',
          )
        }
        executed = await execute(input, await entriesOf(decided))
      }
      runner.clear()
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
