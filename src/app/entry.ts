import type { ChainConfig } from '../chain/chainConfig.ts'
import type { SignedTransaction } from '../chain/transaction.ts'
import { decodeTransaction } from '../chain/transactionCodec.ts'
import { recoverSender } from '../chain/transactionSender.ts'
import { DecodingError } from '../primitives/rlp.ts'

/** First byte of a native transaction: the tag of TxRaw.body_bytes. No EVM envelope starts with it. */
const NATIVE_TAG = 0x0a

/**
 * Reads an entry of data.txs: the EVM transaction with its sender, or why it is none that could ever start. What the
 * bytes are decides it alone, so every node agrees.
 */
export function readEntry(
  raw: Uint8Array,
  chain: Pick<ChainConfig, 'evmChainId'>,
): SignedTransaction | { readonly reason: string } {
  if (raw[0] === NATIVE_TAG) return { reason: 'native transactions are not part of this chain yet' }
  try {
    const transaction = decodeTransaction(raw)
    if (transaction.type === 3) return { reason: 'transaction type not supported: blob transactions' }
    const recovery = recoverSender(transaction, { chainId: chain.evmChainId, allowUnprotected: false })
    return 'reason' in recovery ? recovery : { transaction, sender: recovery.sender }
  } catch (error) {
    if (error instanceof DecodingError) return { reason: error.message }
    throw error
  }
}
