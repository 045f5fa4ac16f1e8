import { encodeTransaction, type Transaction, type UnsignedTransaction } from '../../chain/block/transaction.ts'
import { ZERO_ADDRESS } from '../../primitives/address.ts'
import { bytesToHex, equalBytes, toQuantity } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import type { JsonObject } from '../format/json.ts'
import { typedFields } from '../format/transaction.ts'
import { serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type RpcContext } from '../jsonrpc/method.ts'
import { type BlockSelector, byNumber } from '../params/blockSelector.ts'
import { type CallRequest, callData, readCallRequest } from '../params/callRequest.ts'
import { checkChainId, checkFeeFields } from './call.ts'
import { estimate, openEstimate } from './estimateGas.ts'
import { suggestTip } from './fees.ts'
import { baseFeeAfterHead } from './nextBlock.ts'

const PENDING: BlockSelector = byNumber('pending')

/**
 * Completes a transaction for a signer: nonce, fees, gas limit and chain ID (geth: TransactionArgs.setDefaults). The
 * answer holds the unsigned envelope and its JSON.
 */
export const fillTransaction = defineMethod({
  name: 'eth_fillTransaction',
  runs: 'heavy',
  params: [readCallRequest],
  run: async (context, request) => {
    const transaction = await fill(context, request)
    const raw = encodeTransaction(transaction, { v: 0n, r: 0n, s: 0n })
    return { raw: bytesToHex(raw), tx: formatUnsigned(transaction, raw) }
  },
})

async function fill(context: RpcContext, request: CallRequest): Promise<UnsignedTransaction> {
  const { evmChainId } = context.chain
  checkRequest(request, evmChainId)
  const fees = fillFees(context, request)
  const type = typeOf(request)
  const { from = ZERO_ADDRESS, to, value = 0n, accessList = [], authorizationList = [] } = request
  const nonce = request.nonce ?? (await nextNonce(context, from))
  const gasLimit =
    request.gas ??
    (await estimate(context, { ...request, ...estimationFees(type, fees) }, openEstimate(context, PENDING, {})))
  return {
    type,
    chainId: evmChainId,
    nonce,
    gasLimit,
    ...fees,
    to,
    value,
    data: callData(request),
    accessList,
    authorizationList,
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: [],
  }
}

/** Checks the request. @throws RpcError with geth's text for fields that contradict each other */
function checkRequest(request: CallRequest, evmChainId: bigint): void {
  const { data, input, to, blobVersionedHashes, authorizationList } = request
  if (data !== undefined && input !== undefined && !equalBytes(data, input)) {
    throw serverError('both "data" and "input" are set and not equal. Please use "input" to pass transaction call data')
  }
  if (blobVersionedHashes !== undefined || request.maxFeePerBlobGas !== undefined) {
    throw serverError('transaction type not supported')
  }
  if (to === undefined && callData(request).length === 0) {
    throw serverError('contract creation without any data provided')
  }
  if (to === undefined && authorizationList !== undefined) {
    throw serverError('EIP-7702 transaction cannot be used to create contract')
  }
  checkFeeFields(request)
  checkChainId(request, evmChainId)
}

type Fees = Pick<Transaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>

/**
 * Completes the fees. Those of the request stay; a missing tip is the suggested one, a missing cap
 * leaves room for the base fee to double.
 */
function fillFees({ view, chain }: RpcContext, request: CallRequest): Fees {
  const { gasPrice, maxFeePerGas } = request
  if (gasPrice !== undefined) {
    if (gasPrice === 0n) throw serverError('gasPrice must be non-zero after london fork')
    return { maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice }
  }
  if (maxFeePerGas === 0n) throw serverError('maxFeePerGas must be non-zero')
  const tip = request.maxPriorityFeePerGas ?? suggestTip(view.chain)
  const cap = maxFeePerGas ?? (baseFeeAfterHead(view, chain) ?? 0n) * 2n + tip
  if (cap < tip) throw serverError(`maxFeePerGas (${cap}) < maxPriorityFeePerGas (${tip})`)
  return { maxFeePerGas: cap, maxPriorityFeePerGas: tip }
}

/** Returns the type that the fields of the request need; EIP-1559 by default. */
function typeOf({ gasPrice, accessList, authorizationList }: CallRequest): 0 | 1 | 2 | 4 {
  if (authorizationList !== undefined) return 4
  if (gasPrice === undefined) return 2
  return accessList === undefined ? 0 : 1
}

/**
 * Returns the fees to estimate gas with: the transaction's own, so that the estimate fails for an
 * account that cannot pay.
 */
function estimationFees(type: number, fees: Fees): Partial<CallRequest> {
  return type < 2 ? { gasPrice: fees.maxFeePerGas } : fees
}

async function nextNonce({ view, txs }: RpcContext, from: Uint8Array): Promise<bigint> {
  const nonce = view.stateAt(view.chain.headHeight).getAccount(from)?.nonce ?? 0n
  const pooled = (await txs.pendingNonce(from)) ?? 0n
  return pooled > nonce ? pooled : nonce
}

/**
 * Formats an unsigned transaction as geth does (types.Transaction), with zeros for the signature.
 */
function formatUnsigned(transaction: UnsignedTransaction, raw: Uint8Array): JsonObject {
  const { type, to, maxFeePerGas, maxPriorityFeePerGas } = transaction
  return {
    type: toQuantity(type),
    nonce: toQuantity(transaction.nonce),
    to: to === undefined ? null : bytesToHex(to),
    gas: toQuantity(transaction.gasLimit),
    gasPrice: type < 2 ? toQuantity(maxFeePerGas) : null,
    maxPriorityFeePerGas: type < 2 ? null : toQuantity(maxPriorityFeePerGas),
    maxFeePerGas: type < 2 ? null : toQuantity(maxFeePerGas),
    value: toQuantity(transaction.value),
    input: bytesToHex(transaction.data),
    ...typedFields(transaction),
    v: '0x0',
    r: '0x0',
    s: '0x0',
    ...(type === 0 ? {} : { yParity: '0x0' }),
    hash: bytesToHex(keccak256(raw)),
  }
}
