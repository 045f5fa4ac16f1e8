import { entryHash, isNativeEntry } from '../chain/block/entries.ts'
import { decodeTransaction, type SignedTransaction, type Transaction } from '../chain/block/transaction.ts'
import { recoverSender } from '../chain/block/transactionSender.ts'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import { MESSAGES } from '../modules/messages.ts'
import { isSdkError } from '../modules/sdkError.ts'
import { decodeNativeTransaction } from '../modules/tx/decodeNativeTransaction.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'
import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import { DecodingError } from '../primitives/rlp.ts'
import { withTransaction } from './unforeseenError.ts'

/** An entry of data.txs: a transaction of either kind, or the reason why these bytes can never start as one. */
export type Entry = SignedTransaction | NativeEntry | { readonly reason: string }

interface NativeEntry {
  readonly native: NativeTransaction
}

/** Senders that this process recovered before, by transaction hash; undefined for unknown ones. */
export type SenderLookup = (hashes: readonly Hash[]) => Promise<readonly (Address | undefined)[]>

type Chain = Pick<ChainConfig, 'chainId' | 'evmChainId' | 'allowsUnprotected'>

/**
 * Reads an entry of data.txs. The result depends on the bytes alone, so every node agrees. It throws only unforeseen errors.
 * @param known the sender that `recoverEntrySender` or the pool found for exactly these bytes; saves nearly all of the time. For a
 *   native transaction it means that its signatures are known to be valid
 */
export function readEntry(raw: Uint8Array, chain: Chain, known?: KnownOfEntry): Entry {
  try {
    return readAnyEntry(raw, chain, known)
  } catch (error) {
    throw withTransaction(raw, error)
  }
}

interface KnownOfEntry {
  readonly hash?: Hash | undefined
  readonly sender?: Address | undefined
}

function readAnyEntry(raw: Uint8Array, chain: Chain, known: KnownOfEntry | undefined): Entry {
  if (isNativeEntry(raw)) return readNativeEntry(raw, chain, { isVerified: known?.sender !== undefined })
  let transaction: Transaction
  try {
    transaction = decodeTransaction(raw, known?.hash)
  } catch (error) {
    if (error instanceof DecodingError) return { reason: error.message }
    throw error
  }
  if (transaction.type === 3) return { reason: 'transaction type not supported: blob transactions' }
  if (known?.sender !== undefined) return { transaction, sender: known.sender }
  const recovery = recoverSender(transaction, {
    chainId: chain.evmChainId,
    allowUnprotected: chain.allowsUnprotected,
  })
  return 'reason' in recovery ? recovery : { transaction, sender: recovery.sender }
}

/** The same for a native transaction; `isVerified`: its signatures are known to be valid. */
export function readNativeEntry(
  raw: Uint8Array,
  { chainId, evmChainId }: Omit<Chain, 'allowsUnprotected'>,
  { isVerified }: { readonly isVerified: boolean },
): NativeEntry | { readonly reason: string } {
  const native = decodeNativeTransaction(raw, { chainId, evmChainId, messages: MESSAGES, isVerified })
  return isSdkError(native) ? { reason: native.message } : { native }
}

/**
 * Reads all entries of a block. Senders that the look-up knows are not recovered again.
 * @param check of a proposal: `poll` is called before each entry; if it throws, the reading ends.
 * It also ends after the first
 *   entry that can never start, because no such proposal is accepted
 */
export async function readEntries(
  txs: readonly Uint8Array[],
  chain: Chain,
  lookup: SenderLookup | undefined,
  check?: { readonly poll: () => void },
): Promise<readonly Entry[]> {
  // An entry's hash is that of its bytes, also when they are not a valid transaction.
  const hashes = lookup === undefined ? [] : txs.map(entryHash)
  const senders = hashes.length === 0 ? [] : await lookup!(hashes)
  const entries: Entry[] = []
  for (const [index, raw] of txs.entries()) {
    check?.poll()
    const entry = readEntry(raw, chain, { hash: hashes[index], sender: senders[index] })
    entries.push(entry)
    if (check !== undefined && 'reason' in entry) break
  }
  return entries
}

/**
 * Recovers the sender of an entry, for `DecidedBlock.senders`; can be called in another thread.
 * Undefined for bytes that are not a transaction and for wrong signatures.
 */
export function recoverEntrySender(raw: Uint8Array, chain: Chain): Address | undefined {
  const entry = readEntry(raw, chain)
  if ('reason' in entry) return undefined
  return 'native' in entry ? entry.native.sender : entry.sender
}
