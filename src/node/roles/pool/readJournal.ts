import { entryHash } from '../../../chain/block/entries.ts'
import type { PackedInput } from '../../../mempool/packedMessages.ts'
import type { Address } from '../../../primitives/address.ts'
import type { Hash } from '../../../primitives/hash.ts'

/** Transactions whose senders are recovered at once, and whose hashes are computed in one turn of the event loop. */
const AT_ONCE = { transactions: 64, bytes: 65_536 } as const

interface ReadJournalOptions {
  /** what the journal had, see `PoolJournal.open` */
  readonly journal: AsyncIterable<readonly Uint8Array[]>
  /** recovers the senders in other threads; see `createSenderRecovery` */
  readonly recoverSenders: (transactions: readonly Uint8Array[]) => Promise<readonly (Address | undefined)[]>
  /** offers them to the pool in slices, as those of clients; resolves to how many were admitted */
  readonly admit: (transactions: readonly (PackedInput & { readonly hash: Hash })[]) => Promise<number>
  /** takes the error of a part: it is left out, because a later start would fail at it again */
  readonly onError: (error: unknown) => void
  /** ends the work between two parts */
  readonly signal: AbortSignal
}

/** How many transactions the journal had, and how many of them the pool has admitted again. */
interface ReadCounts {
  readonly read: number
  readonly admitted: number
}

/**
 * Offers the pool what its journal had before the start, through the checks of any transaction: signatures in view threads, all else in the
 * pool. One part after the other, so that at most {@link AT_ONCE} are under way, however long the journal is.
 */
export async function readJournal(options: ReadJournalOptions): Promise<ReadCounts> {
  const { journal, onError, signal } = options
  let read = 0
  let admitted = 0
  for await (const part of partsOf(journal)) {
    if (signal.aborted) break
    read += part.length
    try {
      admitted += await offer(options, part)
    } catch (error) {
      // A stop ends the threads that are asked.
      if (!signal.aborted) onError(error)
    }
  }
  return { read, admitted }
}

async function offer(
  { recoverSenders, admit }: Pick<ReadJournalOptions, 'recoverSenders' | 'admit'>,
  transactions: readonly Uint8Array[],
): Promise<number> {
  const senders = await recoverSenders(transactions)
  const signed = transactions.flatMap((raw, index) => {
    const sender = senders[index]
    return sender === undefined ? [] : [{ raw, sender, hash: entryHash(raw) }]
  })
  return signed.length === 0 ? 0 : admit(signed)
}

async function* partsOf(journal: ReadJournalOptions['journal']): AsyncGenerator<readonly Uint8Array[], void, void> {
  let part: Uint8Array[] = []
  let bytes = 0
  for await (const transactions of journal) {
    for (const raw of transactions) {
      if (part.length === AT_ONCE.transactions || (part.length > 0 && bytes + raw.length > AT_ONCE.bytes)) {
        yield part
        part = []
        bytes = 0
      }
      part.push(raw)
      bytes += raw.length
    }
  }
  if (part.length > 0) yield part
}
