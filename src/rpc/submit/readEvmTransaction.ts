import { decodeTransaction, type SignedTransaction, type Transaction } from '../../chain/block/transaction.ts'
import { UNPROTECTED } from '../../chain/block/transactionSender.ts'
import type { RpcLimits } from '../../config/config.ts'
import type { TransactionDecoder } from '../../modules/tx/transactionDecoder.ts'
import { DecodingError } from '../../primitives/rlp.ts'
import { serverError } from '../jsonrpc/errors.ts'

/** The operator's limits for EVM transactions of clients, in addition to the rules of blocks. */
export type TransactionLimits = Pick<RpcLimits, 'feeCapAcoin' | 'acceptsUnprotected'>

/** Why an EVM transaction is refused, in geth's words. */
export interface EvmRefusal {
  readonly reason: string
}

/** EIP-4844's type byte: the chain takes no blobs. */
export const BLOB_TRANSACTION = 0x03

/**
 * Decodes an EVM transaction of a client. Refuses bytes that are not a transaction, a fee above the operator's cap, and a transaction
 * without a chain ID unless the operator takes those. The signature is not checked.
 */
export function readEvmTransaction(raw: Uint8Array, limits: TransactionLimits): Transaction | EvmRefusal {
  // The form with blobs, in which clients send these, is not decoded at all.
  if (raw[0] === BLOB_TRANSACTION) return BLOBS_REFUSED
  try {
    const transaction = decodeTransaction(raw)
    return findEvmRefusal(transaction, limits) ?? transaction
  } catch (error) {
    if (error instanceof DecodingError) return { reason: error.message }
    throw error
  }
}

const BLOBS_REFUSED: EvmRefusal = { reason: 'transaction type not supported' }

/** Returns why a client may not send a decoded transaction. */
export function findEvmRefusal(
  transaction: Transaction,
  { feeCapAcoin, acceptsUnprotected }: TransactionLimits,
): EvmRefusal | undefined {
  if (transaction.type === BLOB_TRANSACTION) return BLOBS_REFUSED
  const overCap = checkFeeCap(transaction, feeCapAcoin)
  if (overCap !== undefined) return overCap
  return transaction.chainId === undefined && !acceptsUnprotected ? { reason: UNPROTECTED } : undefined
}

/**
 * Decodes an EVM transaction and recovers its sender.
 * @throws RpcError with geth's text when it is refused, or when its signature is wrong or for another chain
 */
export function readSignedTransaction(
  raw: Uint8Array,
  {
    decoder,
    limits,
  }: { readonly decoder: Pick<TransactionDecoder, 'recoverSender'>; readonly limits: TransactionLimits },
): SignedTransaction {
  const transaction = readEvmTransaction(raw, limits)
  if ('reason' in transaction) throw serverError(transaction.reason)
  const recovery = decoder.recoverSender(transaction)
  if ('reason' in recovery) throw serverError(recovery.reason)
  return { transaction, sender: recovery.sender }
}

/** Protects senders from a mistaken fee (geth: --rpc.txfeecap). */
function checkFeeCap({ maxFeePerGas, gasLimit }: Transaction, capAcoin: bigint): EvmRefusal | undefined {
  const fee = maxFeePerGas * gasLimit
  if (capAcoin === 0n || fee <= capAcoin) return undefined
  return { reason: `tx fee (${inEther(fee)} ether) exceeds the configured cap (${inEther(capAcoin)} ether)` }
}

/** With two decimals, as Go's %.2f. */
function inEther(amount: bigint): string {
  const hundredths = (amount + 5n * 10n ** 15n) / 10n ** 16n
  return `${hundredths / 100n}.${(hundredths % 100n).toString().padStart(2, '0')}`
}
