import type { ChainConfig } from '../chain/chainConfig.ts'
import type { ConsensusBlock } from '../chain/consensus/block.ts'
import { dataHash } from '../chain/consensus/blockCodec.ts'
import { ethereumHeaderHash } from '../chain/ethereumHeaderCodec.ts'
import type { ChainReader } from '../chain/reader.ts'
import type { Application, ApplicationInfo, DecidedBlock, FinalizeResult } from '../consensus/application.ts'
import type { Engine } from '../evm/engine.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import { getOperator } from '../modules/staking/operators.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { Journal } from '../state/journal.ts'
import type { StateStore } from '../state/store.ts'
import { rulesAt } from './blockContext.ts'
import { type BlockExecution, beginBlock } from './blockExecution.ts'
import { seedAfter } from './blockSeed.ts'
import type { CandidateSource } from './candidateSource.ts'
import type { ChainHead } from './chainHead.ts'
import { readEntry } from './entry.ts'
import { type ExecutedBlock, type ExecutionInput, executionKey } from './executedBlock.ts'
import { PostponedTransactions } from './postponedTransactions.ts'
import { fillBlock } from './proposalBuilder.ts'
import { checkProposal } from './proposalCheck.ts'
import { resultsHashOf } from './resultsHash.ts'
import { beginShadowed, type CheckedExecution } from './shadowExecution.ts'

/** Executed blocks that may wait for a decision at one height. */
const KEPT_EXECUTIONS = 3

export interface ApplicationOptions {
  readonly chain: ChainConfig
  readonly state: Pick<StateStore, 'reader' | 'apply'>
  readonly chainReader: () => Pick<ChainReader, 'hash'>
  readonly engine: Engine
  /** executes each block too and must agree */
  readonly shadow?: Engine
  readonly precompiles: PrecompileTable
  readonly candidates: CandidateSource
  /** where the chain stands, as `publish` left it */
  readonly head: () => ChainHead
  /** Puts a decided block with its state on stable storage and shows it to everybody. */
  readonly publish: (decided: DecidedBlock, executed: ExecutedBlock) => Promise<void>
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
 * The state machine behind consensus: chooses transactions, executes blocks (once, whether they are built, proposed or
 * decided) and hands decided ones over to be stored. Calls must not overlap, but for `info`.
 */
export function createApplication(options: ApplicationOptions): Application {
  const { chain, state, engine, shadow, precompiles } = options
  /** by execution key, for the height after the head */
  const executions = new Map<string, ExecutedBlock>()
  const postponed = new PostponedTransactions(chain.precompileGasLimit)

  const begin = async (input: Omit<ExecutionInput, 'txs'>): Promise<CheckedExecution> => {
    const head = options.head()
    if (input.height !== head.header.number + 1) {
      throw new Error(`block ${input.height} does not follow block ${head.header.number}`)
    }
    const beginOn = (engineOfBlock: Engine): Promise<BlockExecution> => {
      const world = new Journal(state.reader())
      const miner = getOperator(world.native, input.proposerAddress)
      if (miner === undefined) throw new Error(`the proposer ${bytesToHex(input.proposerAddress)} is not a validator`)
      return beginBlock({
        world,
        seed: seedAfter(
          {
            parent: head.header,
            parentHash: head.hash,
            parentConsensusHash: input.parentConsensusHash,
            timeMs: input.timeMs,
            miner,
          },
          chain,
        ),
        rules: rulesAt(chain, input.height),
        engine: engineOfBlock,
        precompiles,
        precompileGasLimit: chain.precompileGasLimit,
        reader: options.chainReader(),
      })
    }
    if (shadow !== undefined) return beginShadowed(beginOn, { engine, shadow })
    return { ...(await beginOn(engine)), check: async () => undefined }
  }

  const finish = async (execution: CheckedExecution, input: ExecutionInput): Promise<ExecutedBlock> => {
    await execution.check()
    const changes = execution.world.changes()
    const pending = await state.apply(changes, input.height)
    const header = execution.header(pending.root)
    const executed: ExecutedBlock = {
      header,
      hash: ethereumHeaderHash(header),
      results: execution.results,
      resultsHash: resultsHashOf(execution.results),
      changes,
      state: pending,
    }
    if (executions.size >= KEPT_EXECUTIONS) executions.delete(executions.keys().next().value!)
    executions.set(executionKey(input), executed)
    return executed
  }

  const execute = async (block: ConsensusBlock, parentConsensusHash: Uint8Array): Promise<ExecutedBlock> => {
    const { height, timeMs, proposerAddress } = block.header
    const input = { height, timeMs, proposerAddress, parentConsensusHash, txs: block.txs }
    const known = executions.get(executionKey(input))
    if (known !== undefined) return known
    const beginMs = options.now()
    const execution = await begin(input)
    for (const raw of block.txs) {
      const entry = readEntry(raw, chain)
      if ('reason' in entry) execution.skip(entry.reason)
      else await execution.apply(entry)
    }
    const executed = await finish(execution, input)
    options.onExecuted(options.now() - beginMs)
    return executed
  }

  return {
    async info(): Promise<ApplicationInfo> {
      const { header, hash, timeMs, record } = options.head()
      return {
        height: header.number,
        appHash: hash,
        lastResultsHash: record.resultsHash,
        lastBlockId: record.decided?.blockId,
        lastSeenCommit: record.decided?.seenCommit,
        lastBlockTimeMs: timeMs,
      }
    },

    async prepareProposal({ height, timeMs, proposerAddress, parentConsensusHash, maxTxBytes }) {
      const input = { height, timeMs, proposerAddress, parentConsensusHash }
      const { buildBudgetMs: budgetMs, now } = options
      const beginMs = now()
      const execution = await begin(input)
      const txs = await fillBlock(execution, options.candidates, { maxTxBytes, budgetMs, now, postponed })
      const executed = await finish(execution, { ...input, txs })
      options.onExecuted(now() - beginMs)
      // Consensus signs and logs the block meanwhile; once another one is decided, this one is forgotten.
      options.defer(() => {
        if ([...executions.values()].includes(executed)) executed.state.prepare()
      })
      return { txs, dataHash: dataHash(txs) }
    },

    async processProposal(block) {
      const reason = checkProposal(block, chain)
      if (reason !== undefined) return { accepted: false, reason }
      await execute(block, options.head().consensusHash)
      return { accepted: true }
    },

    async finalizeBlock(decided): Promise<FinalizeResult> {
      const head = options.head()
      const { header } = decided.block
      if (!equalBytes(header.appHash, head.hash)) {
        throw new Error(
          `block ${header.height} was decided on the application hash ${bytesToHex(header.appHash)}, ` +
            `but this node computed ${bytesToHex(head.hash)}: stop it, keep its data directory and report both`,
        )
      }
      const executed = await execute(decided.block, head.consensusHash)
      executions.clear()
      await options.publish(decided, executed)
      return {
        appHash: executed.hash,
        lastResultsHash: executed.resultsHash,
        validatorUpdates: [],
        durableHeight: header.height,
      }
    },
  }
}
