import { DEFAULT_POOL_LIMITS } from '../../mempool/types.ts'
import { checkNativeSize } from '../../mempool/validateAdmission.ts'
import { MESSAGES } from '../../modules/messages.ts'
import { isSdkError } from '../../modules/sdkError.ts'
import { simulateNative } from '../../modules/tx/simulateNative.ts'
import { Tx, TxMsgData } from '../../modules/tx/txTypes.ts'
import { bytes, message } from '../../primitives/protoSchema.ts'
import { GasInfo, Result } from './messages/txMessages.ts'
import { baseFeeAfter } from './nextBaseFee.ts'
import { defineQuery, type NativeQuery } from './query.ts'
import { GRPC_CODES, invalidArgument, QueryError } from './queryError.ts'
import { toAbciEvent } from './txResponse.ts'

/**
 * What a transaction would do in the next block, signatures or not (x/auth/tx/service.go, Simulate). One that fails is an error
 * with the gas that it used.
 */
export const simulateQuery: NativeQuery = defineQuery({
  service: 'cosmos.tx.v1beta1.Service',
  name: 'Simulate',
  post: ['/cosmos/tx/v1beta1/simulate'],
  request: { tx: message(1, Tx), txBytes: bytes(2) },
  response: { gasInfo: message(1, GasInfo), result: message(2, Result) },
  run: (context, { tx, txBytes }) => {
    const raw = txBytes.length === 0 && tx !== undefined ? Tx.encode(tx) : txBytes
    if (raw.length === 0) throw invalidArgument('empty txBytes is not allowed')
    // It runs without a gas limit: its messages, which are its bytes, bound the work.
    const oversized = checkNativeSize(raw.length, DEFAULT_POOL_LIMITS)
    if (oversized !== undefined) throw failed(oversized.message, 0n)
    const { world, block, rpc } = context
    const { chainId, evmChainId } = rpc.chain
    const outcome = simulateNative(raw, {
      world,
      block: { height: block.height + 1, timeMs: block.timeMs + rpc.chain.blockIntervalMs },
      baseFeePerGas: baseFeeAfter(context),
      rules: { chainId, evmChainId, messages: MESSAGES },
    })
    if (isSdkError(outcome)) throw failed(outcome.message, 0n)
    const { code, log, data, events, gasWanted, gasUsed } = outcome
    if (code !== 0) throw failed(log, gasUsed)
    const { msgResponses } = TxMsgData.decode(data)
    return { gasInfo: { gasWanted, gasUsed }, result: { data, log, events: events.map(toAbciEvent), msgResponses } }
  },
})

function failed(reason: string, gasUsed: bigint): QueryError {
  return new QueryError(GRPC_CODES.unknown, `${reason} with gas used: '${gasUsed}'`)
}
