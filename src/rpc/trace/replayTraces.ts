import {
  createParityTracer,
  type ParityTrace,
  type ParityTraceResult,
  type ParityTraceType,
} from '../../evm/tracers/parityTracer.ts'
import type { TraceBudget } from '../../evm/tracers/traceCollector.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { type BlockReplay, logCount, replayTransaction, replayUpTo } from '../debug/blockReplay.ts'
import type { JsonObject } from '../format/json.ts'

/** What limits a request that traces. */
export interface TraceLimits {
  /** see `ExecutionEnvironment.yield` */
  readonly pause: () => Promise<void>
  /** what the answer may take */
  readonly budget: TraceBudget
}

/** A mined transaction's traces. */
interface TracedTransaction {
  readonly hash: Hash
  readonly index: number
  readonly result: ParityTraceResult
}

/** Executes a transaction of a block again, with its traces, after all that came before it. */
export async function traceTransactionAt(
  replay: BlockReplay,
  index: number,
  types: ReadonlySet<ParityTraceType>,
  { pause, budget }: TraceLimits,
): Promise<TracedTransaction> {
  await pause()
  await replayUpTo(replay, index, pause)
  const { execution, rules, hash: blockHash, transactions } = replay
  const { hash } = transactions[index]!.transaction
  const { tracer, result } = createParityTracer(types, {
    fork: rules.fork,
    blockNumber: execution.seed.number,
    blockHash,
    transactionHash: hash,
    transactionIndex: index,
    firstLogIndex: logCount(execution),
    budget,
  })
  await replayTransaction(replay, tracer)
  return { hash, index, result: result() }
}

/** All of a block's transactions, in order. */
export async function* traceAll(
  replay: BlockReplay,
  types: ReadonlySet<ParityTraceType>,
  limits: TraceLimits,
): AsyncGenerator<TracedTransaction> {
  for (const index of replay.transactions.keys()) yield await traceTransactionAt(replay, index, types, limits)
}

/** The calls of a mined transaction with where it is. */
export function localize(
  { hash, index, result }: TracedTransaction,
  { hash: blockHash, execution }: Pick<BlockReplay, 'hash' | 'execution'>,
): (ParityTrace & JsonObject)[] {
  const place = {
    blockHash: bytesToHex(blockHash),
    blockNumber: execution.seed.number,
    transactionHash: bytesToHex(hash),
    transactionPosition: index,
  }
  return result.trace.map((trace) => ({ ...trace, ...place }))
}
