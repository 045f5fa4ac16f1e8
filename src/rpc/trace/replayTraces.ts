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

/** Limits of a request that traces. */
export interface TraceLimits {
  /** see `ExecutionEnvironment.yield` */
  readonly pause: () => Promise<void>
  /** bytes that the answer may have */
  readonly budget: TraceBudget
}

/** A mined transaction's traces. */
interface TracedTransaction {
  readonly hash: Hash
  readonly index: number
  readonly result: ParityTraceResult
}

/** Executes a transaction of a block again and traces it, after all transactions before it. */
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

/** Traces all transactions of a block, in order. */
export async function* traceAll(
  replay: BlockReplay,
  types: ReadonlySet<ParityTraceType>,
  limits: TraceLimits,
): AsyncGenerator<TracedTransaction> {
  for (const index of replay.transactions.keys()) yield await traceTransactionAt(replay, index, types, limits)
}

/** Returns the calls of a mined transaction together with its position. */
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
