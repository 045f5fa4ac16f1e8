import { serverError } from '../errors.ts'
import { type CallEnvironment, executionOf, openCall, runCall, toCallMessage } from '../eth/callExecution.ts'
import { findHeader } from '../eth/loadBlock.ts'
import { applyStateOverrides } from '../eth/overrides.ts'
import { defineMethod, type RpcContext } from '../method.ts'
import { type BlockSelector, LATEST, readBlockNumberOrHash } from '../params/blockNumberOrHash.ts'
import { readCallRequest } from '../params/callRequest.ts'
import { readTraceCallConfig } from '../params/traceConfig.ts'
import { beginReplay, replayUpTo } from './blockReplay.ts'
import { blockNotFound } from './rawBlocks.ts'
import { runTrace } from './traceRun.ts'

type Overrides = Pick<ReturnType<typeof readTraceCallConfig>, 'stateOverrides' | 'blockOverrides' | 'txIndex'>

/**
 * Traces a call on the state after a block, or with `txIndex` on the state before that transaction of the block. State and
 * block overrides come in the configuration.
 */
export const traceCall = defineMethod({
  name: 'debug_traceCall',
  queue: 'heavy',
  params: [readCallRequest, readBlockNumberOrHash, readTraceCallConfig],
  required: 1,
  run: (context, request, selector = LATEST, config = {}) => {
    if (selector.kind === 'number' && selector.number === 'pending') {
      throw serverError('tracing on top of pending is not supported')
    }
    if (findHeader(context.view.chain, selector) === undefined) throw blockNotFound(context, selector)
    return runTrace(context, config, async (run) => {
      const environment = await openTraceCall(context, selector, config, run.pause)
      const { tracer, result } = run.collect({
        fork: environment.rules.fork,
        blockNumber: environment.block.number,
        blockHash: undefined,
        transactionHash: undefined,
        transactionIndex: 0,
        firstLogIndex: 0,
      })
      const outcome = await runCall(environment, toCallMessage(request, context), tracer)
      if (outcome.kind === 'skipped') throw serverError(`tracing failed: ${outcome.reason}`)
      return result()
    })
  },
})

async function openTraceCall(
  context: RpcContext,
  selector: BlockSelector,
  { stateOverrides = [], blockOverrides, txIndex }: Overrides,
  pause: () => Promise<void>,
): Promise<CallEnvironment> {
  if (txIndex === undefined) {
    return { ...openCall(context, selector, { state: stateOverrides, block: blockOverrides }), pause }
  }
  const replay = await beginReplay(context, selector, pause)
  const { execution, rules, transactions } = replay
  if (txIndex >= transactions.length) {
    throw serverError(`transaction index ${txIndex} out of range for block ${execution.seed.number}`)
  }
  await replayUpTo(replay, txIndex, pause)
  const { world } = execution
  const precompiles = applyStateOverrides(world, stateOverrides, executionOf(context).precompiles, rules)
  world.endTransaction({ clearEmpty: false })
  return { ...openCall(context, selector, { block: blockOverrides }), world, precompiles, pause }
}
