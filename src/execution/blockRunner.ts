import type { NativeEvent } from '../chain/block/entries.ts'
import { ethereumHeaderHash } from '../chain/block/ethereumBlock.ts'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import type { ChainReader } from '../chain/store/chainReader.ts'
import type { ValidatorUpdate } from '../consensus/application.ts'
import { type Engine, ExecutionTimeout } from '../evm/engine.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import { ITEM_LEFT_ALONE } from '../modules/blockItem.ts'
import { recordRanks } from '../modules/consensus/validatorRanks.ts'
import { event } from '../modules/context.ts'
import { getOperator } from '../modules/staking/validators.ts'
import { bytesKey, bytesToHex } from '../primitives/bytes.ts'
import type { StateChanges } from '../state/changes.ts'
import { Journal } from '../state/journal.ts'
import type { StateStore } from '../state/stateStore.ts'
import { rulesAt, runningParams, seedAfter } from './blockContext.ts'
import { type BlockExecution, beginBlockExecution } from './blockExecution.ts'
import { type BlockHooks, blockStartOf } from './blockHooks.ts'
import { acceptedUpdates, advanceValidators, type ChainHead } from './chainHead.ts'
import type { Entry } from './entry.ts'
import { type ExecutedBlock, type ExecutionInput, executionKey, resultsHashOf } from './executedBlock.ts'
import type { ExecutionDeadline } from './executionDeadline.ts'
import type { ParallelExecution } from './parallel/parallelExecution.ts'
import { beginShadowed, type CheckedExecution } from './shadowExecution.ts'
import { withTransaction } from './unforeseenError.ts'

/** Returns the spendable balance of each changed vesting account, by `bytesKey`. */
function vestingOf(world: Journal, { accounts }: StateChanges): ReadonlyMap<string, bigint> {
  const found = new Map<string, bigint>()
  if (!world.hasVesting()) return found
  for (const { address } of accounts) {
    if (world.isVesting(address)) found.set(bytesKey(address), world.getSpendable(address))
  }
  return found
}

/** Names an update that consensus cannot take, see {@link acceptedUpdates}. */
function refusedUpdate({ publicKey, power }: ValidatorUpdate): NativeEvent {
  return event(ITEM_LEFT_ALONE, { module: 'consensus', public_key: bytesToHex(publicKey), power: `${power}` })
}

/** Executed blocks that may wait for a decision at one height. */
const RETAINED_EXECUTIONS = 3

export interface BlockRunnerOptions {
  readonly chain: ChainConfig
  readonly state: Pick<StateStore, 'reader' | 'apply'>
  readonly chainReader: () => Pick<ChainReader, 'hash'>
  readonly engine: Engine
  /** executes each block too and must agree */
  readonly shadow?: Engine
  readonly precompiles: PrecompileTable
  readonly hooks: BlockHooks
  /** whether blocks are found by who called whom; false by default */
  readonly isCallIndexed?: boolean
  /** executes entries of a block in other threads too, which read the database */
  readonly parallel?: ParallelExecution | undefined
  /** newest block on stable storage */
  readonly durableHeight: () => number
  /** the newest block */
  readonly head: () => ChainHead
}

/**
 * Executes candidates for the block after the head, and retains results until one of them is
 * decided.
 */
interface BlockRunner {
  /**
   * Starts a block.
   * @param deadline without one the execution may take any time
   * @throws Error when it does not follow the head or its proposer is unknown
   */
  begin(input: Omit<ExecutionInput, 'txs'>, deadline?: ExecutionDeadline): Promise<CheckedExecution>
  /** Ends a block whose entries were applied: computes its state and header. */
  finish(execution: CheckedExecution): Promise<ExecutedBlock>
  /**
   * Executes a whole block.
   * @param entries its decoded `txs`
   * @throws ExecutionTimeout (rejects) at the deadline
   */
  run(input: ExecutionInput, entries: readonly Entry[], deadline?: ExecutionDeadline): Promise<ExecutedBlock>
  /**
   * Executes a proposed block up to its first entry that cannot start. A builder leaves such entries out, so the block is invalid.
   * @returns why, or the executed block
   * @throws ExecutionTimeout (rejects) at the deadline
   */
  check(
    input: ExecutionInput,
    entries: readonly Entry[],
    deadline: ExecutionDeadline,
  ): Promise<ExecutedBlock | { readonly reason: string }>
  /** Retains a result until another block is the head. */
  keep(input: ExecutionInput, executed: ExecutedBlock): void
  /** Returns the retained result for this input. */
  find(input: ExecutionInput): ExecutedBlock | undefined
  isRetained(executed: ExecutedBlock): boolean
  /** Called when another block is the head now. */
  clear(): void
}

/**
 * Applies a block's entries in order.
 * @param isProposal whether to stop at the first one that cannot start
 * @returns why that one cannot start
 */
async function applyAll(
  execution: BlockExecution,
  { txs }: Pick<ExecutionInput, 'txs'>,
  entries: readonly Entry[],
  isProposal: boolean,
): Promise<string | undefined> {
  execution.announce(entries)
  for (const [index, entry] of entries.entries()) {
    try {
      const result = await execution.apply(entry)
      if (isProposal && result.kind === 'skipped') return `transaction ${index} cannot start: ${result.reason}`
    } catch (error) {
      if (error instanceof ExecutionTimeout) throw error
      throw withTransaction(txs[index]!, error)
    }
  }
  return undefined
}

export function createBlockRunner(options: BlockRunnerOptions): BlockRunner {
  const { chain, state, engine, shadow, precompiles, hooks, isCallIndexed = false, parallel } = options
  /** by execution key, for the height after the head */
  const executions = new Map<string, ExecutedBlock>()

  const runner: BlockRunner = {
    begin: async (input, deadline) => {
      const head = options.head()
      if (input.height !== head.header.number + 1) {
        throw new Error(`block ${input.height} does not follow block ${head.header.number}`)
      }
      const start = blockStartOf(input, head.validators.last)
      const beginOn = (engineOfBlock: Engine): Promise<BlockExecution> => {
        const world = new Journal(state.reader())
        const miner = getOperator(world.native, input.proposerAddress)
        if (miner === undefined) throw new Error(`the proposer ${bytesToHex(input.proposerAddress)} is not a validator`)
        return beginBlockExecution({
          world,
          seed: seedAfter(
            {
              parent: head.header,
              parentHash: head.hash,
              parentConsensusHash: input.parentConsensusHash,
              timeMs: input.timeMs,
              miner,
            },
            runningParams(world.native, chain),
          ),
          timeMs: input.timeMs,
          rules: rulesAt(chain, input.height),
          engine: engineOfBlock,
          precompiles,
          precompileGasLimit: chain.precompileGasLimit,
          reader: options.chainReader(),
          hooks,
          start,
          isCallIndexed,
          // The second engine checks a block that the first one has finished, however long it
          // takes.
          poll: engineOfBlock === engine ? deadline?.poll : undefined,
          // The second engine executes in order, and so checks the parallel execution.
          ...(engineOfBlock === engine && options.durableHeight() === head.header.number && { parallel }),
        })
      }
      if (shadow !== undefined) return beginShadowed(beginOn, { engine, shadow })
      return { ...(await beginOn(engine)), check: async () => undefined }
    },

    finish: async (execution) => {
      const updates = execution.end()
      await execution.check()
      // After the comparison of the engines' effects: this depends on no engine.
      const validatorUpdates = acceptedUpdates(options.head().validators, updates)
      const refused = updates.filter((update) => !validatorUpdates.includes(update))
      const validators = advanceValidators(options.head().validators, validatorUpdates)
      recordRanks(execution.world.native, chain.validatorRanksHeight, {
        ...validators,
        height: execution.seed.number,
        isChanged: validatorUpdates.length > 0,
      })
      const changes = execution.world.changes()
      const pending = await state.apply(changes, execution.seed.number)
      const header = execution.header(pending.root)
      const { begin, end } = execution.blockEvents()
      return {
        header,
        hash: ethereumHeaderHash(header),
        results: execution.results,
        resultsHash: resultsHashOf(execution.results),
        events: { begin, end: [...end, ...refused.map(refusedUpdate)] },
        calls: execution.calls(),
        validatorUpdates,
        validators,
        nextParams: runningParams(execution.world.native, chain),
        changes,
        vesting: vestingOf(execution.world, changes),
        state: pending,
      }
    },

    run: async (input, entries, deadline) => {
      const execution = await runner.begin(input, deadline)
      await applyAll(execution, input, entries, false)
      return runner.finish(execution)
    },

    check: async (input, entries, deadline) => {
      const execution = await runner.begin(input, deadline)
      const reason = await applyAll(execution, input, entries, true)
      return reason === undefined ? runner.finish(execution) : { reason }
    },

    keep: (input, executed) => {
      if (executions.size >= RETAINED_EXECUTIONS) executions.delete(executions.keys().next().value!)
      executions.set(executionKey(input), executed)
    },
    // No result is retained in catch-up: then the key, a hash over all transactions, is not
    // computed.
    find: (input) => (executions.size === 0 ? undefined : executions.get(executionKey(input))),

    isRetained: (executed) => [...executions.values()].includes(executed),
    clear: () => executions.clear(),
  }
  return runner
}
