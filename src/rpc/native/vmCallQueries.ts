import { bytesToHex } from '../../primitives/bytes.ts'
import { ZERO_HASH } from '../../primitives/hash.ts'
import { bytes, int64, message, repeated, string, uint64 } from '../../primitives/protoSchema.ts'
import { InvalidArgument } from '../errors.ts'
import { openCall, runCall, toCallMessage } from '../eth/callExecution.ts'
import { estimate, openEstimate } from '../eth/estimateGas.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import { type CallRequest, readCallRequest } from '../params/callRequest.ts'
import { TypeMismatch } from '../params/mismatch.ts'
import { readStateOverrides } from '../params/stateOverrides.ts'
import { Log } from './messages/vmMessages.ts'
import { defineQuery, type NativeQuery, type QueryContext } from './query.ts'
import { invalidArgument } from './queryError.ts'

const SERVICE = 'cosmos.evm.vm.v1.Query'
const BASE = '/cosmos/evm/vm/v1'

/** `args` and `overrides` are the JSON that eth_call takes. */
const CALL = { args: bytes(1), gasCap: uint64(2), proposerAddress: bytes(3), chainId: int64(4), overrides: bytes(5) }

interface CallArguments {
  readonly args: Uint8Array
  readonly gasCap: bigint
  readonly overrides: Uint8Array
}

/** eth_call and eth_estimateGas as queries (x/vm/keeper/grpc_query.go of cosmos/evm). */
export const VM_CALL_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'EthCall',
    get: [`${BASE}/eth_call`],
    queue: 'heavy',
    request: CALL,
    response: {
      hash: string(1),
      logs: repeated(message(2, Log)),
      ret: bytes(3),
      vmError: string(4),
      gasUsed: uint64(5),
      maxUsedGas: uint64(6),
      blockHash: bytes(7),
      blockTimestamp: uint64(8),
    },
    messageNames: ['EthCallRequest', 'MsgEthereumTxResponse'],
    run: async (context, call) => {
      const { request, selector, state } = readCall(context, call)
      const outcome = await runCall(openCall(context.rpc, selector, { state }), toCallMessage(request, context.rpc))
      if (outcome.kind === 'skipped') throw invalidArgument(outcome.reason)
      const { chain, block } = context
      return {
        hash: bytesToHex(ZERO_HASH),
        logs: [],
        ret: outcome.output,
        vmError: outcome.failure ?? '',
        gasUsed: outcome.gasUsed,
        maxUsedGas: outcome.gasUsed,
        blockHash: chain.hash(block.height) ?? ZERO_HASH,
        blockTimestamp: BigInt(chain.header(block.height)?.timestamp ?? 0),
      }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'EstimateGas',
    get: [`${BASE}/estimate_gas`],
    queue: 'heavy',
    request: CALL,
    response: { gas: uint64(1), ret: bytes(2), vmError: string(3) },
    messageNames: ['EthCallRequest', 'EstimateGasResponse'],
    run: async (context, call) => {
      const { request, selector, state } = readCall(context, call)
      const gas = await estimate(context.rpc, request, openEstimate(context.rpc, selector, { state }))
      return { gas, ret: new Uint8Array(0), vmError: '' }
    },
  }),
]

/** @throws QueryError */
function readCall({ block }: QueryContext, { args, gasCap, overrides }: CallArguments) {
  try {
    const request = readCallRequest(parse(args))
    const state = overrides.length === 0 ? undefined : readStateOverrides(parse(overrides))
    const selector: BlockSelector = { kind: 'number', number: block.height }
    return { request: limited(request, gasCap), selector, state }
  } catch (error) {
    const isWrong = error instanceof InvalidArgument || error instanceof TypeMismatch || error instanceof SyntaxError
    throw isWrong ? invalidArgument(error.message) : error
  }
}

function parse(json: Uint8Array): unknown {
  return JSON.parse(Buffer.from(json).toString('utf8'))
}

/** No more gas than the client wants to spend on it; 0: as much as the node allows. */
function limited(request: CallRequest, gasCap: bigint): CallRequest {
  if (gasCap === 0n || (request.gas !== undefined && request.gas <= gasCap)) return request
  return { ...request, gas: gasCap }
}
