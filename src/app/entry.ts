import type { ChainConfig } from '../chain/chainConfig.ts'
import type { SignedTransaction, Transaction } from '../chain/transaction.ts'
import { decodeTransaction } from '../chain/transactionCodec.ts'
import { recoverSender } from '../chain/transactionSender.ts'
import type { Address } from '../primitives/address.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'
import { DecodingError } from '../primitives/rlp.ts'

/** First byte of a native transaction: the tag of TxRaw.body_bytes. No EVM envelope starts with it. */
const NATIVE_TAG = 0x0a

/** An entry of data.txs: the EVM transaction with its sender, or why it is none that could ever start. */
export type Entry = SignedTransaction | { readonly reason: string }

/** Senders that this process recovered before, by transaction hash; undefined for unknown ones. */
export type SenderLookup = (hashes: readonly Hash[]) => Promise<readonly (Address | undefined)[]>

/**
 * Reads an entry of data.txs. What the bytes are decides it alone, so every node agrees.
 * @param known what `recoverEntrySenders` or the pool found out of just these bytes; saves nearly all of the time
 */
export function readEntry(
  raw: Uint8Array,
  chain: Pick<ChainConfig, 'evmChainId'>,
  known?: { readonly hash?: Hash | undefined; readonly sender?: Address | undefined },
): Entry {
  if (raw[0] === NATIVE_TAG) return { reason: 'native transactions are not part of this chain yet' }
  let transaction: Transaction
  try {
    transaction = decodeTransaction(raw, known?.hash)
  } catch (error) {
    if (error instanceof DecodingError) return { reason: error.message }
    throw error
  }
  if (transaction.type === 3) return { reason: 'transaction type not supported: blob transactions' }
  if (known?.sender !== undefined) return { transaction, sender: known.sender }
  const recovery = recoverSender(transaction, { chainId: chain.evmChainId, allowUnprotected: false })
  return 'reason' in recovery ? recovery : { transaction, sender: recovery.sender }
}

/** All entries of a block. Senders that the look-up knows are not recovered again. */
export async function readEntries(
  txs: readonly Uint8Array[],
  chain: Pick<ChainConfig, 'evmChainId'>,
  lookup: SenderLookup | undefined,
): Promise<readonly Entry[]> {
  if (lookup === undefined || txs.length === 0) return txs.map((raw) => readEntry(raw, chain))
  // The hash of an EIP-2718 envelope or a legacy list is that of its bytes, whatever they hold.
  const hashes = txs.map((raw) => keccak256(raw))
  const senders = await lookup(hashes)
  return txs.map((raw, index) => readEntry(raw, chain, { hash: hashes[index], sender: senders[index] }))
}

/**
 * Senders of a block's entries, for a thread with time to spare: what it gives may be handed to `DecidedBlock.senders`.
 * Undefined where there is none, or the entry is no EVM transaction.
 */
export function recoverEntrySenders(
  txs: readonly Uint8Array[],
  chain: Pick<ChainConfig, 'evmChainId'>,
): readonly (Address | undefined)[] {
  return txs.map((raw) => {
    const entry = readEntry(raw, chain)
    return 'reason' in entry ? undefined : entry.sender
  })
}
