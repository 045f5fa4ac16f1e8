import { rulesAt } from '../../app/blockContext.ts'
import { type BlockExecution, beginBlock } from '../../app/blockExecution.ts'
import type { SignedTransaction } from '../../chain/transaction.ts'
import type { Rules } from '../../evm/rules.ts'
import type { Hash } from '../../primitives/hash.ts'
import { Journal } from '../../state/journal.ts'
import { serverError } from '../errors.ts'
import { readingState } from '../eth/blockLookup.ts'
import { executionOf } from '../eth/callExecution.ts'
import { findBlock } from '../eth/loadBlock.ts'
import type { RpcContext } from '../method.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import { blockNotFound } from './rawBlocks.ts'

/** A block of the chain that is being executed again on its parent's state. */
export interface BlockReplay {
  readonly execution: BlockExecution
  readonly rules: Rules
  readonly hash: Hash
  readonly transactions: readonly SignedTransaction[]
}

/**
 * Begins to execute a block again, in the way in which it was executed first. `pause` is the engine's, see
 * `ExecutionEnvironment.yield`.
 * @throws RpcError when the block or its parent's state is not there
 */
export async function beginReplay(
  context: RpcContext,
  selector: BlockSelector,
  pause: () => Promise<void>,
): Promise<BlockReplay> {
  const { view, chain } = context
  const block = findBlock(view.chain, selector)
  if (block === undefined) throw blockNotFound(context, selector)
  const { header, hash, transactions } = block
  if (header.number === 0) throw serverError('genesis is not traceable')
  const { engine, precompiles } = executionOf(context)
  const rules = rulesAt(chain, header.number)
  const execution = await beginBlock({
    world: new Journal(readingState(() => view.stateAt(header.number - 1))),
    seed: header,
    rules,
    engine,
    precompiles,
    precompileGasLimit: chain.precompileGasLimit,
    reader: view.chain,
    yield: pause,
  })
  return { execution, rules, hash, transactions }
}

/** Executes the transactions before `index` without a tracer. */
export async function replayUpTo(replay: BlockReplay, index: number, pause: () => Promise<void>): Promise<void> {
  for (const transaction of replay.transactions.slice(0, index)) {
    // Transfers are too short for the engine to pause in them.
    await pause()
    await replay.execution.apply(transaction)
  }
}

/** How many logs the executed part of the block has. */
export function logCount({ results }: Pick<BlockExecution, 'results'>): number {
  return results.reduce((count, result) => count + (result.kind === 'evm' ? result.receipt.logs.length : 0), 0)
}
