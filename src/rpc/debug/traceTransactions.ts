import { bytesToHex } from '../../primitives/bytes.ts'
import { serverError } from '../errors.ts'
import { locateMined } from '../eth/transactions.ts'
import { defineMethod, type RpcContext } from '../method.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import { readBlockNumberOrTag } from '../params/blockNumberOrTag.ts'
import { readHash } from '../params/data.ts'
import { readTraceConfig, type TraceConfig } from '../params/traceConfig.ts'
import { type BlockReplay, beginReplay, logCount, replayTransaction, replayUpTo } from './blockReplay.ts'
import { runTrace, type TraceRun } from './traceRun.ts'

/** Executes a mined transaction again with a tracer. */
export const traceTransaction = defineMethod({
  name: 'debug_traceTransaction',
  queue: 'heavy',
  params: [readHash, readTraceConfig],
  required: 1,
  run: async (context, hash, config = {}) => {
    const location = locateMined(context.view, hash)
    if (location === undefined) throw serverError('transaction not found')
    const { height, index } = location
    return runTrace(context, config, async (run) => {
      const replay = await beginReplay(context, { kind: 'number', number: height }, run.pause)
      await replayUpTo(replay, index, run.pause)
      return traceTransactionAt(replay, index, run)
    })
  },
})

/** Executes a block again with a tracer for each of its transactions. */
export const traceBlockByNumber = defineMethod({
  name: 'debug_traceBlockByNumber',
  queue: 'heavy',
  params: [readBlockNumberOrTag, readTraceConfig],
  required: 1,
  run: (context, number, config = {}) => traceBlock(context, { kind: 'number', number }, config),
})

export const traceBlockByHash = defineMethod({
  name: 'debug_traceBlockByHash',
  queue: 'heavy',
  params: [readHash, readTraceConfig],
  required: 1,
  run: (context, hash, config = {}) => traceBlock(context, { kind: 'hash', hash, requireCanonical: false }, config),
})

function traceBlock(context: RpcContext, selector: BlockSelector, config: TraceConfig): Promise<unknown> {
  return runTrace(context, config, async (run) => {
    const replay = await beginReplay(context, selector, run.pause)
    const traces: { readonly txHash: string; readonly result: unknown }[] = []
    for (const [index, { transaction }] of replay.transactions.entries()) {
      await run.pause()
      await replayUpTo(replay, index, run.pause)
      traces.push({ txHash: bytesToHex(transaction.hash), result: await traceTransactionAt(replay, index, run) })
    }
    return traces
  })
}

/** Executes the transaction with a tracer; all before it was executed. */
async function traceTransactionAt(replay: BlockReplay, index: number, run: TraceRun): Promise<unknown> {
  const { execution, rules, hash, transactions } = replay
  const { tracer, result } = run.collect({
    fork: rules.fork,
    blockNumber: execution.seed.number,
    blockHash: hash,
    transactionHash: transactions[index]!.transaction.hash,
    transactionIndex: index,
    firstLogIndex: logCount(execution),
  })
  await replayTransaction(replay, tracer)
  return result()
}
