import type { ChainConfig } from '../../chain/chainConfig.ts'
import { decodeTransaction, type Transaction } from '../../chain/transaction.ts'
import { recoverSender } from '../../chain/transactionSender.ts'
import type { RpcLimits } from '../../config/config.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { DecodingError } from '../../primitives/rlp.ts'
import { serverError } from '../errors.ts'
import { defineMethod, type RpcContext } from '../method.ts'
import { readData } from '../params/data.ts'

/** EIP-4844's type byte: the chain takes no blobs. */
const BLOB_TRANSACTION = 0x03

/** Answers with the hash once the pool has admitted the transaction. */
export const sendRawTransaction = defineMethod({
  name: 'eth_sendRawTransaction',
  queue: 'quick',
  params: [readData],
  required: 1,
  run: (context, raw) => submit(context, raw).then(bytesToHex),
})

/**
 * Decodes a transaction, checks what needs no state, recovers its sender and gives it to the pool, all before it returns: the
 * pool sees transactions in the order of the calls.
 * @throws RpcError in geth's words when it is refused
 */
export async function submit({ txs, chain, limits }: RpcContext, raw: Uint8Array): Promise<Hash> {
  const transaction = readRawTransaction(raw, limits)
  const sender = readSender(transaction, chain)
  const admission = await txs.add(transaction.raw, sender, transaction.hash)
  if (!admission.accepted) throw serverError(admission.reason)
  return admission.hash
}

/** @throws RpcError in geth's words for what is no transaction, or costs more than the node's operator lets clients spend */
export function readRawTransaction(raw: Uint8Array, { feeCapAcoin }: Pick<RpcLimits, 'feeCapAcoin'>): Transaction {
  // The form with blobs, in which clients send these, is not decoded at all.
  if (raw[0] === BLOB_TRANSACTION) throw serverError('transaction type not supported')
  const transaction = decode(raw)
  checkFeeCap(transaction, feeCapAcoin)
  return transaction
}

/** @throws RpcError in geth's words when nobody on this chain has signed it */
export function readSender(transaction: Transaction, { evmChainId }: Pick<ChainConfig, 'evmChainId'>): Address {
  const recovery = recoverSender(transaction, { chainId: evmChainId, allowUnprotected: false })
  if ('reason' in recovery) throw serverError(recovery.reason)
  return recovery.sender
}

function decode(raw: Uint8Array): Transaction {
  try {
    return decodeTransaction(raw)
  } catch (error) {
    throw error instanceof DecodingError ? serverError(error.message) : error
  }
}

/** Protects senders from a slip in the fee (geth: --rpc.txfeecap). */
function checkFeeCap({ maxFeePerGas, gasLimit }: Transaction, capAcoin: bigint): void {
  const fee = maxFeePerGas * gasLimit
  if (capAcoin === 0n || fee <= capAcoin) return
  throw serverError(`tx fee (${inEther(fee)} ether) exceeds the configured cap (${inEther(capAcoin)} ether)`)
}

/** With two decimals, as Go's %.2f. */
function inEther(amount: bigint): string {
  const hundredths = (amount + 5n * 10n ** 15n) / 10n ** 16n
  return `${hundredths / 100n}.${(hundredths % 100n).toString().padStart(2, '0')}`
}
