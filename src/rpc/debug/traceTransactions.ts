import { bytesToHex } from '../../primitives/bytes.ts'
import { serverError } from '../errors.ts'
import { locateMined } from '../eth/transactions.ts'
import { defineMethod, type RpcContext } from '../method.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import { readBlockNumberOrTag } from '../params/blockNumberOrTag.ts'
import { readHash } from '../params/data.ts'
import { readTraceConfig, type TraceConfig } from '../params/traceConfig.ts'
import { type BlockReplay, beginReplay, logCount, replayUpTo } from './blockReplay.ts'
import { runTrace, type TraceRun } from './traceRun.ts'

/** Executes a mined transaction again with a tracer. */
export const traceTransaction = defineMethod({
  name: 'debug_traceTransaction',
  lane: 'heavy',
  params: [readHash, readTraceConfig],
  required: 1,
  run: async (context, hash, config = {}) => {
    const location = locateMined(context.view, hash)
    if (location === undefined) throw serverError('transaction not found')
    const { height, index } = location
    return runTrace(context, config, async (run) => {
      const replay = await beginReplay(context, { kind: 'number', number: height }, run.pause)
      await replayUpTo(replay, index, run.pause)
      return traceNext(replay, run)
    })
  },
})

/** Executes a block again with a tracer for each of its transactions. */
export const traceBlockByNumber = defineMethod({
  name: 'debug_traceBlockByNumber',
  lane: 'heavy',
  params: [readBlockNumberOrTag, readTraceConfig],
  required: 1,
  run: (context, number, config = {}) => traceBlock(context, { kind: 'number', number }, config),
})

export const traceBlockByHash = defineMethod({
  name: 'debug_traceBlockByHash',
  lane: 'heavy',
  params: [readHash, readTraceConfig],
  required: 1,
  run: (context, hash, config = {}) => traceBlock(context, { kind: 'hash', hash, requireCanonical: false }, config),
})

function traceBlock(context: RpcContext, selector: BlockSelector, config: TraceConfig): Promise<unknown> {
  return runTrace(context, config, async (run) => {
    const replay = await beginReplay(context, selector, run.pause)
    const traces: { readonly txHash: string; readonly result: unknown }[] = []
    for (const { transaction } of replay.transactions) {
      await run.pause()
      traces.push({ txHash: bytesToHex(transaction.hash), result: await traceNext(replay, run) })
    }
    return traces
  })
}

/** Executes the next transaction of the block with a tracer. */
async function traceNext({ execution, rules, hash, transactions }: BlockReplay, run: TraceRun): Promise<unknown> {
  const index = execution.results.length
  const signed = transactions[index]!
  const { tracer, result } = run.collect({
    fork: rules.fork,
    blockNumber: execution.seed.number,
    blockHash: hash,
    transactionHash: signed.transaction.hash,
    transactionIndex: index,
    firstLogIndex: logCount(execution),
  })
  const outcome = await execution.apply(signed, tracer)
  if (outcome.kind !== 'evm') throw serverError(`tracing failed: ${outcome.reason}`)
  return result()
}
