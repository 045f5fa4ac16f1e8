import { encodeTransaction, type SignedTransaction, type UnsignedTransaction } from '../../chain/block/transaction.ts'
import type { SkippedTransaction } from '../../evm/transition.ts'
import { toChecksumAddress, ZERO_ADDRESS } from '../../primitives/address.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { checkChainId, checkFeeFields } from '../eth/call.ts'
import { RPC_CODES, RpcError } from '../jsonrpc/errors.ts'
import { type CallRequest, callData } from '../params/callRequest.ts'

/** Values of a simulated transaction where others have a signature. */
const NO_SIGNATURE = { v: 0n, r: 0n, s: 0n } as const

/**
 * Returns the transaction that a simulated call represents (geth: TransactionArgs.ToTransaction).
 * Its hash is that of its envelope without a signature.
 * @param defaults `nonce`: the account's; `gasLimit`: what block and request have left
 * @throws RpcError when fields exclude each other, or name another chain
 */
export function toTransaction(
  request: CallRequest,
  chainId: bigint,
  defaults: { readonly nonce: bigint; readonly gasLimit: bigint },
): SignedTransaction {
  checkFeeFields(request)
  checkChainId(request, chainId)
  const { gasPrice, accessList = [], authorizationList = [], blobVersionedHashes = [] } = request
  const type = typeOf(request)
  const unsigned: UnsignedTransaction = {
    type,
    chainId: type === 0 ? undefined : chainId,
    nonce: request.nonce ?? defaults.nonce,
    gasLimit: request.gas ?? defaults.gasLimit,
    maxFeePerGas: gasPrice ?? request.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: gasPrice ?? request.maxPriorityFeePerGas ?? 0n,
    to: request.to,
    value: request.value ?? 0n,
    data: callData(request),
    accessList,
    authorizationList,
    maxFeePerBlobGas: request.maxFeePerBlobGas ?? 0n,
    blobVersionedHashes,
  }
  const raw = encodeTransaction(unsigned, NO_SIGNATURE)
  const transaction = { ...unsigned, ...NO_SIGNATURE, yParity: 0, raw, hash: keccak256(raw) } as const
  return { transaction, sender: request.from ?? ZERO_ADDRESS }
}

function typeOf(request: CallRequest): UnsignedTransaction['type'] {
  const { gasPrice, accessList, authorizationList, blobVersionedHashes } = request
  if (gasPrice !== undefined) return accessList === undefined ? 0 : 1
  if (authorizationList !== undefined) return 4
  return blobVersionedHashes !== undefined ? 3 : 2
}

/** Error codes by the start of the reason (geth: txValidationError). */
const ERROR_CODES: readonly (readonly [start: string, code: number])[] = [
  ['nonce too low', RPC_CODES.nonceTooLow],
  ['nonce too high', RPC_CODES.nonceTooHigh],
  ['max fee per gas less than block base fee', RPC_CODES.baseFeeTooLow],
  ['max priority fee per gas higher than max fee per gas', RPC_CODES.invalidParams],
  ['intrinsic gas too low', RPC_CODES.intrinsicGasTooLow],
  ['insufficient funds', RPC_CODES.insufficientFunds],
  ['sender not an eoa', RPC_CODES.senderIsContract],
  ['max initcode size exceeded', RPC_CODES.initCodeTooLarge],
]

/** Returns the error for a call that could not start, which ends the simulation. */
export function cannotStart(
  { reason }: Pick<SkippedTransaction, 'reason'>,
  { transaction, sender }: SignedTransaction,
): RpcError {
  const code = ERROR_CODES.find(([start]) => reason.startsWith(start))?.[1] ?? RPC_CODES.internal
  const nonce = /^(nonce too (?:low|high)): next nonce (\d+)/.exec(reason)
  // geth words these differently here than in its pool.
  const text =
    nonce === null
      ? reason
      : `${nonce[1]}: address ${toChecksumAddress(sender)}, tx: ${transaction.nonce} state: ${nonce[2]}`
  return new RpcError(code, `err: ${text} (supplied gas ${transaction.gasLimit})`)
}
