import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import type { AccessListItem, Authorization, SignedTransaction, Transaction } from '../../chain/block/transaction.ts'
import { effectiveGasPrice } from '../../evm/transition.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { type JsonObject, toNullableQuantity } from './json.ts'

/** The place where a transaction was mined. */
interface MinedAt {
  readonly header: Pick<EthereumHeader, 'number' | 'timestamp' | 'baseFeePerGas'>
  readonly hash: Hash
  /** among the block's transactions */
  readonly index: number
}

/** Formats a mined transaction (geth: RPCTransaction); `gasPrice` is what it pays. */
export function formatMinedTransaction({ transaction, sender }: SignedTransaction, at: MinedAt): JsonObject {
  return formatTransaction(transaction, sender, effectiveGasPrice(transaction, at.header.baseFeePerGas), at)
}

/**
 * Formats a pooled transaction: block and index are null, and `gasPrice` is the most that it would
 * pay.
 */
export function formatPendingTransaction(transaction: Transaction, sender: Address): JsonObject {
  return formatTransaction(transaction, sender, transaction.maxFeePerGas, undefined)
}

function formatTransaction(
  transaction: Transaction,
  sender: Address,
  gasPrice: bigint,
  at: MinedAt | undefined,
): JsonObject {
  return {
    blockHash: at === undefined ? null : bytesToHex(at.hash),
    blockNumber: toNullableQuantity(at?.header.number),
    blockTimestamp: toNullableQuantity(at?.header.timestamp),
    from: bytesToHex(sender),
    gas: toQuantity(transaction.gasLimit),
    gasPrice: toQuantity(gasPrice),
    ...feeFields(transaction),
    hash: bytesToHex(transaction.hash),
    input: bytesToHex(transaction.data),
    nonce: toQuantity(transaction.nonce),
    to: transaction.to === undefined ? null : bytesToHex(transaction.to),
    transactionIndex: toNullableQuantity(at?.index),
    value: toQuantity(transaction.value),
    type: toQuantity(transaction.type),
    ...typedFields(transaction),
    v: toQuantity(transaction.v),
    r: toQuantity(transaction.r),
    s: toQuantity(transaction.s),
    ...(transaction.type === 0 ? {} : { yParity: toQuantity(transaction.yParity) }),
  }
}

type FieldsOfType = Pick<
  Transaction,
  | 'type'
  | 'chainId'
  | 'accessList'
  | 'maxFeePerGas'
  | 'maxPriorityFeePerGas'
  | 'maxFeePerBlobGas'
  | 'blobVersionedHashes'
  | 'authorizationList'
>

/** Returns the fee fields of the transaction's type besides `gasPrice`. */
function feeFields(transaction: FieldsOfType): JsonObject {
  if (transaction.type < 2) return {}
  return {
    maxFeePerGas: toQuantity(transaction.maxFeePerGas),
    maxPriorityFeePerGas: toQuantity(transaction.maxPriorityFeePerGas),
    ...(transaction.type === 3 ? { maxFeePerBlobGas: toQuantity(transaction.maxFeePerBlobGas) } : {}),
  }
}

/**
 * Returns the other fields that only some types have; a legacy transaction has a chain ID when
 * EIP-155 protects it.
 */
export function typedFields(transaction: FieldsOfType): JsonObject {
  const { type, chainId } = transaction
  if (type === 0) return chainId === undefined || chainId === 0n ? {} : { chainId: toQuantity(chainId) }
  return {
    accessList: formatAccessList(transaction.accessList),
    chainId: toQuantity(chainId ?? 0n),
    ...(type === 3 ? { blobVersionedHashes: transaction.blobVersionedHashes.map(bytesToHex) } : {}),
    ...(type === 4 ? { authorizationList: transaction.authorizationList.map(formatAuthorization) } : {}),
  }
}

export function formatAccessList(accessList: readonly AccessListItem[]): readonly JsonObject[] {
  return accessList.map(({ address, storageKeys }) => ({
    address: bytesToHex(address),
    storageKeys: storageKeys.map(bytesToHex),
  }))
}

function formatAuthorization({ chainId, address, nonce, yParity, r, s }: Authorization): JsonObject {
  return {
    chainId: toQuantity(chainId),
    address: bytesToHex(address),
    nonce: toQuantity(nonce),
    yParity: toQuantity(yParity),
    r: toQuantity(r),
    s: toQuantity(s),
  }
}
