import { entryHash } from '../chain/block/entries.ts'
import type { DecodedEntry, KnownOfEntry, TransactionDecoder } from '../modules/tx/transactionDecoder.ts'
import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import { withTransaction } from './unforeseenError.ts'

/** An entry of data.txs: a transaction of either kind, or the reason why these bytes can never start as one. */
export type Entry = DecodedEntry

/** Senders that this process recovered before, by transaction hash; undefined for unknown ones. */
export type SenderLookup = (hashes: readonly Hash[]) => Promise<readonly (Address | undefined)[]>

/** Reads an entry of data.txs, see {@link TransactionDecoder.decode}. It throws only unforeseen errors, with the transaction's hash. */
export function readEntry(raw: Uint8Array, decoder: Pick<TransactionDecoder, 'decode'>, known?: KnownOfEntry): Entry {
  try {
    return decoder.decode(raw, known)
  } catch (error) {
    throw withTransaction(raw, error)
  }
}

/**
 * Reads all entries of a block. Senders that the look-up knows are not recovered again.
 * @param check of a proposal: `poll` is called before each entry; if it throws, the reading ends.
 * It also ends after the first
 *   entry that can never start, because no such proposal is accepted
 */
export async function readEntries(
  txs: readonly Uint8Array[],
  decoder: Pick<TransactionDecoder, 'decode'>,
  lookup: SenderLookup | undefined,
  check?: { readonly poll: () => void },
): Promise<readonly Entry[]> {
  // An entry's hash is that of its bytes, also when they are not a valid transaction.
  const hashes = lookup === undefined ? [] : txs.map(entryHash)
  const senders = hashes.length === 0 ? [] : await lookup!(hashes)
  const entries: Entry[] = []
  for (const [index, raw] of txs.entries()) {
    check?.poll()
    const entry = readEntry(raw, decoder, { hash: hashes[index], sender: senders[index] })
    entries.push(entry)
    if (check !== undefined && 'reason' in entry) break
  }
  return entries
}

/**
 * Recovers the sender of an entry, for `DecidedBlock.senders`; can be called in another thread.
 * Undefined for bytes that are not a transaction and for wrong signatures.
 */
export function recoverEntrySender(raw: Uint8Array, decoder: Pick<TransactionDecoder, 'decode'>): Address | undefined {
  const entry = readEntry(raw, decoder)
  if ('reason' in entry) return undefined
  return 'native' in entry ? entry.native.sender : entry.sender
}
