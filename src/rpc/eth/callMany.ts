import type { CallMessage } from '../../evm/transition.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { beginReplay, replayUpTo } from '../debug/blockReplay.ts'
import type { JsonObject } from '../format/json.ts'
import { InvalidArgument, responseTooLarge, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, type RpcContext } from '../jsonrpc/method.ts'
import { type BlockSelector, LATEST, readBlockNumberOrHash } from '../params/blockSelector.ts'
import { readBlockOverrides, readCallRequest, readStateOverrides, type StateOverrides } from '../params/callRequest.ts'
import { jsonKind, listReader, objectReader, TypeMismatch } from '../params/values.ts'
import { type CallEnvironment, executionOf, openCall, revertError, runCallForGood, toCallMessage } from './call.ts'
import { applyStateOverrides } from './stateOverrides.ts'

const readBundle = objectReader('Bundle', 'Bundle', {
  transactions: listReader(readCallRequest, '[]ethapi.TransactionArgs'),
  blockOverride: readBlockOverrides,
})

const readBundles = listReader(readBundle, '[]Bundle')

/** Transactions of the block that run before the calls: a number of them, or -1 for all. */
const readTransactionIndex: ParamReader<number> = (json) => {
  if (typeof json !== 'number') throw new TypeMismatch(jsonKind(json), 'int')
  if (!Number.isSafeInteger(json) || json < -1) throw new InvalidArgument(`invalid transaction index ${json}`)
  return json
}

const readStateContext = objectReader('StateContext', 'StateContext', {
  blockNumber: readBlockNumberOrHash,
  transactionIndex: readTransactionIndex,
})

const readTimeout: ParamReader<number> = (json) => {
  if (typeof json !== 'number') throw new TypeMismatch(jsonKind(json), 'int64')
  if (!Number.isSafeInteger(json) || json < 0) throw new InvalidArgument(`invalid timeout ${json}`)
  return json
}

/** Erigon's default: the calls run after all transactions of the block. */
const ALL_TRANSACTIONS = -1

/**
 * Runs bundles of calls, each on the state that the calls before it have left, and returns `value`
 * or `error` for each (Erigon and reth: eth_callMany). State overrides hold from the first call on,
 * block overrides for their bundle. Each call may use the gas of an eth_call. The time (the fourth
 * parameter in milliseconds, at most RPC_EVM_TIMEOUT_MS) and the length of the answer are limits
 * for all calls together.
 */
export const callMany = defineMethod({
  name: 'eth_callMany',
  runs: 'heavy',
  params: [readBundles, readStateContext, readStateOverrides, readTimeout],
  required: 1,
  run: async (context, bundles, at, state, timeout) => {
    const { blockNumber = LATEST, transactionIndex = ALL_TRANSACTIONS } = at ?? {}
    const { limits, monotonicMs } = context
    const timeoutMs = Math.min(timeout || limits.callTimeoutMs, limits.callTimeoutMs)
    const pause = executionOf(context).yieldUntil(monotonicMs() + timeoutMs)
    const ground = {
      ...(await openGround(context, blockNumber, transactionIndex, state ?? [], pause)),
      pause,
      timeoutMs,
    }
    const results: JsonObject[][] = []
    let bytes = 0
    for (const { transactions = [], blockOverride } of bundles) {
      // Bundles without calls take time too.
      await pause()
      const { block } = openCall(context, blockNumber, { block: blockOverride })
      const own: JsonObject[] = []
      for (const request of transactions) {
        const result = await runOne({ ...ground, block }, toCallMessage(request, context))
        bytes += JSON.stringify(result).length
        if (bytes > limits.responseBytes) throw responseTooLarge()
        own.push(result)
      }
      results.push(own)
    }
    return results
  },
})

/** Opens the environment of the first call. @throws RpcError */
async function openGround(
  context: RpcContext,
  selector: BlockSelector,
  transactionIndex: number,
  stateOverrides: StateOverrides,
  pause: () => Promise<void>,
): Promise<CallEnvironment> {
  if (transactionIndex === ALL_TRANSACTIONS) return openCall(context, selector, { state: stateOverrides })
  const replay = await beginReplay(context, selector, pause)
  const { execution, rules, transactions } = replay
  if (transactionIndex > transactions.length) {
    throw serverError(`transaction index ${transactionIndex} out of range for block ${execution.seed.number}`)
  }
  if (transactionIndex === transactions.length) return openCall(context, selector, { state: stateOverrides })
  await replayUpTo(replay, transactionIndex, pause)
  const { world } = execution
  const chain = {
    registered: executionOf(context).precompiles,
    precompileGasLimit: context.chain.precompileGasLimit,
  }
  const tables = applyStateOverrides(world, stateOverrides, chain, rules)
  return { ...openCall(context, selector, {}), ...tables, world }
}

/** Runs one call. @throws RpcError for a call that cannot start, and when the time is over */
async function runOne(environment: CallEnvironment, message: CallMessage): Promise<JsonObject> {
  const outcome = await runCallForGood(environment, message)
  if (outcome.kind === 'skipped') throw serverError(`err: ${outcome.reason} (supplied gas ${message.gasLimit})`)
  if (outcome.failure === undefined) return { value: bytesToHex(outcome.output) }
  return { error: outcome.failure === 'execution reverted' ? revertError(outcome.output).message : outcome.failure }
}
