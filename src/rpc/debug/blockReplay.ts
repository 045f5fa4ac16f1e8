import type { StoredEntry } from '../../chain/block/entries.ts'
import type { SignedTransaction } from '../../chain/block/transaction.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import type { Rules } from '../../evm/blockContext.ts'
import type { Tracer } from '../../evm/tracer.ts'
import { consensusTimeMs, rulesAt } from '../../execution/blockContext.ts'
import { type BlockExecution, beginBlockExecution } from '../../execution/blockExecution.ts'
import { blockStartOf } from '../../execution/blockHooks.ts'
import { type Entry, readNativeEntry } from '../../execution/entry.ts'
import type { EntryResult } from '../../execution/executedBlock.ts'
import type { Hash } from '../../primitives/hash.ts'
import { Journal } from '../../state/journal.ts'
import type { StateReader } from '../../state/reader.ts'
import { findBody, prunedHistory, readingState } from '../eth/blockLookup.ts'
import { executionOf } from '../eth/call.ts'
import { pollDeadline } from '../eth/viewWorld.ts'
import { serverError } from '../jsonrpc/errors.ts'
import type { RpcContext } from '../jsonrpc/method.ts'
import type { BlockSelector } from '../params/blockSelector.ts'
import { blockNotFound } from './raw.ts'

/** A block of the chain that is being executed again on its parent's state. */
export interface BlockReplay {
  readonly execution: BlockExecution
  readonly rules: Rules
  readonly hash: Hash
  /** of the Ethereum block */
  readonly transactions: readonly SignedTransaction[]
  /** transactions of both kinds in the order of data.txs, with their stored results, which `execution` must reproduce */
  readonly entries: readonly StoredEntry[]
  readonly chain: Pick<ChainConfig, 'chainId' | 'evmChainId'>
}

/** Observes what the execution of a block reads. */
interface ReplayObserver {
  /** Returns a reader of the same state. */
  observe(state: StateReader): StateReader
  onBlockHash(number: number): void
}

/**
 * Starts to execute a block again, in the original order: system calls, native modules, then all
 * entries of data.txs. `pause` is the engine's, see `ExecutionEnvironment.yield`.
 * @throws RpcError when the block or its parent's state is not retained
 */
export async function beginReplay(
  context: RpcContext,
  selector: BlockSelector,
  pause: () => Promise<void>,
  observer?: ReplayObserver,
): Promise<BlockReplay> {
  const { view, chain } = context
  const block = findBody(view.chain, selector)
  if (block === undefined) throw blockNotFound(context, selector)
  const { header, hash, transactions } = block
  const { number } = header
  checkTraceDepth(context, number)
  if (number === 0) throw serverError('genesis is not traceable')
  const entries = view.chain.entryResults(number)
  const decided = view.chain.consensusBlock(number)
  const lastValidators = view.chain.validatorSetAt(Math.max(1, number - 1))
  if (entries === undefined || decided === undefined || lastValidators === undefined) throw prunedHistory(view.chain)
  const { engine, precompiles, hooks } = executionOf(context)
  const rules = rulesAt(chain, number)
  const parentState = readingState(() => view.stateAt(number - 1))
  const hashAt = (height: number): Hash | undefined => {
    observer?.onBlockHash(height)
    return view.chain.hash(height)
  }
  const execution = await beginBlockExecution({
    world: new Journal(observer?.observe(parentState) ?? parentState),
    seed: header,
    timeMs: consensusTimeMs(header, view.chain, chain),
    rules,
    engine,
    precompiles,
    precompileGasLimit: chain.precompileGasLimit,
    reader: { hash: hashAt },
    yield: pause,
    poll: pollDeadline(context),
    hooks,
    start: blockStartOf({ ...decided.header, ...decided }, lastValidators),
  })
  return { execution, rules, hash, transactions, entries, chain }
}

/**
 * Checks the age of a block.
 * @throws RpcError when it is too old for clients of this listener to trace it, or calls on it
 */
export function checkTraceDepth({ view, scope }: Pick<RpcContext, 'view' | 'scope'>, height: number): void {
  if (view.chain.headHeight - height <= scope.traceDepth) return
  throw serverError(
    `block ${height} is too old to be traced here: RPC_TRACE_DEPTH allows ${scope.traceDepth} blocks below the newest`,
  )
}

/** Executes all entries before the Ethereum block's transaction `index`, without a tracer. */
export async function replayUpTo(replay: BlockReplay, index: number, pause: () => Promise<void>): Promise<void> {
  const end = replay.entries.findIndex((entry) => entry.kind === 'evm' && entry.index === index)
  while (replay.execution.results.length < end) {
    // The engine pauses only in longer runs, not in plain transfers.
    await pause()
    await replayTransaction(replay)
  }
}

/**
 * Executes the block's next entry.
 * @throws RpcError when its result differs from the stored one
 */
export async function replayTransaction(replay: BlockReplay, tracer?: Tracer): Promise<void> {
  const { execution, entries, chain } = replay
  const position = execution.results.length
  const stored = entries[position]!
  const result = await execution.apply(toEntry(stored, chain), tracer)
  const difference = differenceOf(stored, result)
  if (difference === undefined) return
  const { number } = execution.seed
  throw serverError(`entry ${position} of block ${number} ${difference}`)
}

function toEntry(stored: StoredEntry, chain: BlockReplay['chain']): Entry {
  if (stored.kind === 'evm') return stored.signed
  return stored.kind === 'native' ? readNativeEntry(stored.raw, chain, { isVerified: true }) : stored
}

function differenceOf(stored: StoredEntry, result: EntryResult): string | undefined {
  if (stored.kind === 'evm' && result.kind === 'evm') {
    const [was, is] = [stored.receipt, result.receipt]
    if (was.gasUsed !== is.gasUsed) return `used ${is.gasUsed} gas when executed again, ${was.gasUsed} by its receipt`
    // A receipt from before Byzantium (only on chains of conformance tests) has a state root instead.
    const isSame = was.status === is.status || typeof was.status !== 'number'
    return isSame ? undefined : `has the status ${is.status} when executed again, ${was.status} by its receipt`
  }
  if (stored.kind === 'native' && result.kind === 'native') {
    const [was, is] = [stored.result, result.result]
    if (was.gasUsed !== is.gasUsed) return `used ${is.gasUsed} gas when executed again, ${was.gasUsed} by its result`
    return was.code === is.code ? undefined : `has the code ${is.code} when executed again, ${was.code} by its result`
  }
  if (stored.kind === result.kind) return undefined
  return result.kind === 'skipped'
    ? `cannot start again (${result.reason})`
    : 'starts when executed again, and did not start in the block'
}

/** Returns how many logs the executed part of the block has. */
export function logCount({ results }: Pick<BlockExecution, 'results'>): number {
  return results.reduce((count, result) => count + (result.kind === 'evm' ? result.receipt.logs.length : 0), 0)
}
