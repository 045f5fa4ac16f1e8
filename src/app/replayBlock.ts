import type { ChainConfig } from '../chain/chainConfig.ts'
import type { SignedTransaction } from '../chain/transaction.ts'
import type { Engine } from '../evm/engine.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import type { Tracer } from '../evm/tracer.ts'
import { Journal } from '../state/journal.ts'
import type { NodeView } from '../state/view.ts'
import { rulesAt } from './blockContext.ts'
import { type BlockExecution, beginBlock } from './blockExecution.ts'
import { readEntry } from './entry.ts'
import type { EntryResult } from './executionResults.ts'

export interface ReplayOptions {
  readonly view: NodeView
  readonly height: number
  readonly chain: ChainConfig
  readonly engine: Engine
  readonly precompiles: PrecompileTable
  /** see `ExecutionEnvironment.yield` */
  readonly yield?: () => Promise<void>
  /** tracer of the Ethereum block's transaction at `index`; undefined: it runs untraced */
  readonly tracerOf?: (index: number, transaction: SignedTransaction) => Tracer | undefined
  /** after the transaction at `index` ran; false ends the replay */
  readonly onTransaction?: (index: number, result: EntryResult & { readonly kind: 'evm' }) => boolean
}

/**
 * Executes a stored block again on the state before it, on the path that produced it (system calls, all entries in order,
 * fee routing), and checks that each transaction uses the gas its receipt says.
 * @returns the block as far as it was replayed: its world is the state at that point
 * @throws StateUnavailable when the state before the block is pruned
 */
export async function replayBlock(options: ReplayOptions): Promise<BlockExecution> {
  const { view, height, chain } = options
  const header = view.chain.header(height)
  const block = view.chain.consensusBlock(height)
  const receipts = view.chain.receipts(height)
  if (header === undefined || block === undefined || receipts === undefined) {
    throw new RangeError(`block ${height} is not stored with its transactions`)
  }
  const execution = await beginBlock({
    world: new Journal(view.stateAt(height - 1)),
    seed: header,
    rules: rulesAt(chain, height),
    engine: options.engine,
    precompiles: options.precompiles,
    reader: view.chain,
    ...(options.yield === undefined ? {} : { yield: options.yield }),
  })
  let index = 0
  for (const raw of block.txs) {
    const entry = readEntry(raw, chain)
    if ('reason' in entry) {
      execution.skip(entry.reason)
      continue
    }
    const result = await execution.apply(entry, options.tracerOf?.(index, entry))
    if (result.kind === 'skipped') continue
    const recorded = receipts[index]
    if (recorded?.gasUsed !== result.receipt.gasUsed) {
      throw new Error(
        `replaying transaction ${index} of block ${height} used ${result.receipt.gasUsed} gas, ` +
          `but its receipt says ${recorded?.gasUsed}`,
      )
    }
    if (options.onTransaction?.(index, result) === false) break
    index++
  }
  return execution
}
