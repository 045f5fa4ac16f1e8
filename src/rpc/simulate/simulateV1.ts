import { ExecutionTimeout } from '../../evm/engine.ts'
import { executionOf } from '../eth/call.ts'
import type { JsonObject } from '../format/json.ts'
import { RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, type RpcContext } from '../jsonrpc/method.ts'
import { type BlockSelector, LATEST, readBlockNumberOrHash } from '../params/blockSelector.ts'
import { readCallRequest, readStrictBlockOverrides, readStrictStateOverrides } from '../params/callRequest.ts'
import { listReader, objectReader, readBool } from '../params/values.ts'
import { planBlocks, type RequestedBlock } from './blockPlans.ts'
import { openGround, type SimulatedBlock, type Simulation, simulateBlock } from './simulateBlock.ts'

const readBlock: ParamReader<RequestedBlock> = objectReader('simBlock', 'ethapi.simBlock', {
  blockOverrides: readStrictBlockOverrides,
  stateOverrides: readStrictStateOverrides,
  calls: listReader(readCallRequest, '[]ethapi.TransactionArgs'),
})

const readOptions = objectReader('simOpts', 'ethapi.simOpts', {
  blockStateCalls: listReader(readBlock, '[]ethapi.simBlock'),
  traceTransfers: readBool,
  validation: readBool,
  returnFullTransactions: readBool,
})
type Options = ReturnType<typeof readOptions>

/**
 * Simulates blocks of calls on top of a block (execution-apis: eth_simulateV1). Gas and time limits of a call hold for the whole request.
 */
export const simulateV1 = defineMethod({
  name: 'eth_simulateV1',
  runs: 'heavy',
  params: [readOptions, readBlockNumberOrHash],
  required: 1,
  run: async (context, options, selector = LATEST) => {
    const { limits, monotonicMs } = context
    const pause = executionOf(context).yieldUntil(monotonicMs() + limits.callTimeoutMs)
    try {
      return await simulate(context, options, selector, pause)
    } catch (error) {
      if (!(error instanceof ExecutionTimeout)) throw error
      throw serverError(`execution aborted (timeout = ${limits.callTimeoutMs / 1000}s)`)
    }
  },
})

/** Consecutive blocks of the chain may have the same second; simulated ones must not. */
const LEAST_SECONDS = 1

async function simulate(
  context: RpcContext,
  options: Options,
  requested: BlockSelector,
  pause: () => Promise<void>,
): Promise<readonly JsonObject[]> {
  const { chain, limits } = context
  const { traceTransfers = false, validation = false, returnFullTransactions = false } = options
  // The next block has no state yet that the head does not have.
  const isPending = requested.kind === 'number' && requested.number === 'pending'
  const { ground, base } = openGround(
    context,
    isPending ? LATEST : requested,
    { traceTransfers, validation, returnFullTransactions },
    pause,
  )
  for (const { blockOverrides } of options.blockStateCalls ?? []) checkWithdrawals(blockOverrides)
  const seconds = Math.max(LEAST_SECONDS, Math.round(chain.blockIntervalMs / 1000))
  const plans = planBlocks(options.blockStateCalls ?? [], base.header, seconds)
  const simulation: Simulation = { ...ground, gasLeft: limits.callGas, bytesLeft: limits.responseBytes }
  const blocks: SimulatedBlock[] = []
  for (const plan of plans) {
    await pause()
    blocks.push(await simulateBlock(simulation, plan, blocks, blocks.at(-1) ?? base))
  }
  return blocks.map(({ json }) => json)
}

function checkWithdrawals(overrides: RequestedBlock['blockOverrides']): void {
  if (overrides?.withdrawals === undefined || overrides.withdrawals.length === 0) return
  throw new RpcError(
    RPC_CODES.invalidParams,
    'block override "withdrawals" must be empty: this chain has no withdrawals',
  )
}
