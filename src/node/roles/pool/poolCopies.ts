import { PACKED_OVERHEAD, packShared, unpackTransactions } from '../../../mempool/packedMessages.ts'
import type { ContentPart, TransactionPool } from '../../../mempool/pool.ts'
import type { PoolEntry } from '../../../mempool/poolEntry.ts'
import type {
  ContentLease,
  ContentRefusal,
  ContentRequest,
  ContentScope,
  ContentSize,
  PooledTransaction,
  TxPort,
} from '../../../mempool/types.ts'
import { bytesKey } from '../../../primitives/bytes.ts'

/*
 * How clients read the pool's content at a cost that the transactions in it cannot raise:
 * - The size of an answer is known before anything is copied. One that would be too long is refused by its size alone.
 * - Callers of the same moment share one copy, in memory that threads share. The pool thread makes one copy at a time, page by page, with
 *   its other messages in between.
 * - All copies that are being read have one limit, in which each reader counts with the whole copy, because it writes a text of a few
 *   times that size. Readers for whom there is no room wait.
 */

/** Bytes of the copies that are being read, counted for each reader. */
const READ_BYTES = 33_554_432
/** Readers that wait for room, more than calls that view threads run at a time; and the milliseconds that one waits at most. */
const MAX_WAITING = 64
const WAIT_MS = 5_000

/** Limits of one turn of the pool thread: bytes and transactions that it copies, senders that it looks at. All take less than 0.5 ms. */
const PAGE_BYTES = 131_072
const PAGE_TRANSACTIONS = 256
const PAGE_SENDERS = 1_024
/** Milliseconds between two pages. */
const PAUSE_MS = 1

/** A copy on its way to a reader: pages of `packShared`. The transactions of a sender come one after the other. */
interface PoolCopy extends Pages {
  /** for `releaseCopy` */
  readonly id: number
}

interface Pages {
  readonly pending: readonly Uint8Array[]
  readonly queued: readonly Uint8Array[]
}

/** The pool thread's functions for a reader of copies. */
export type PoolCopies = {
  /** Waits for room and for the copy, which counts against the limit until it is released. */
  readonly takeCopy: (request: ContentRequest) => Promise<PoolCopy | ContentRefusal>
  readonly releaseCopy: (id: number) => void
}

type CopyReader = PoolCopies & {
  /** Releases all copies: the thread has ended. */
  readonly close: () => void
}

interface PoolCopiesOptions {
  readonly pool: Pick<TransactionPool, 'contentSize' | 'contentParts' | 'revision'>
  readonly readBytes?: number
  /** lets other work of the thread have a turn */
  readonly pause?: () => Promise<void>
}

interface SharedCopy {
  readonly id: number
  /** the pool's when it was begun; undefined: it has not been begun */
  revision: number | undefined
  /** estimated until it is made */
  bytes: number
  readers: number
  /** undefined: it became too long while it was made */
  readonly made: Promise<Pages | undefined>
}

interface Waiting {
  readonly request: ContentRequest
  /** undefined: its time is over */
  readonly letIn: (copy: SharedCopy | undefined) => void
}

/** Makes copies of the pool's content for all threads that serve clients. */
export function createPoolCopies({ pool, readBytes = READ_BYTES, pause = pauseShortly }: PoolCopiesOptions) {
  const maxCopyBytes = readBytes / 2
  const newest = new Map<string, SharedCopy>()
  const waiting = new Set<Waiting>()
  let bytes = 0
  let lastId = 0
  let last: Promise<unknown> = Promise.resolve()

  const hasRoom = ({ of }: ContentRequest): boolean => bytes + packedBytes(pool.contentSize(of)) <= readBytes

  const refuse = (request: ContentRequest, refused: ContentRefusal['refused']): ContentRefusal => ({
    refused,
    size: pool.contentSize(request.of),
  })

  const isTooLong = ({ of, most }: ContentRequest): boolean => {
    const size = pool.contentSize(of)
    return size.transactions > most.transactions || size.bytes > most.bytes || packedBytes(size) > maxCopyBytes
  }

  const make = async (copy: SharedCopy, of: ContentScope): Promise<Pages | undefined> => {
    copy.revision = pool.revision
    const parts = pool.contentParts(of)
    const writer = createPageWriter(parts)
    while (!writer.writePage()) {
      if (writer.bytes > maxCopyBytes) return undefined
      await pause()
    }
    bytes += (writer.bytes - copy.bytes) * copy.readers
    copy.bytes = writer.bytes
    return writer.bytes > maxCopyBytes ? undefined : writer.pages
  }

  /** A copy that is as new as the pool: one that is there already or has not been begun, else a new one. */
  const findCopy = (of: ContentScope): SharedCopy => {
    const key = typeof of === 'string' ? of : bytesKey(of)
    const known = newest.get(key)
    if (known !== undefined && (known.revision === undefined || known.revision === pool.revision)) return known
    const made = Promise.withResolvers<Pages | undefined>()
    const size = packedBytes(pool.contentSize(of))
    const copy: SharedCopy = { id: ++lastId, revision: undefined, bytes: size, readers: 0, made: made.promise }
    newest.set(key, copy)
    // One after the other, and not in this turn: all who ask in it share the copy.
    last = last.then(pause).then(() => make(copy, of).then(made.resolve, made.reject))
    return copy
  }

  const hold = (request: ContentRequest): SharedCopy => {
    const copy = findCopy(request.of)
    copy.readers++
    bytes += copy.bytes
    return copy
  }

  const letGo = (copy: SharedCopy): void => {
    copy.readers--
    bytes -= copy.bytes
    if (copy.readers === 0) {
      for (const [key, other] of newest) if (other === copy) newest.delete(key)
    }
    for (const one of waiting) if (hasRoom(one.request)) one.letIn(hold(one.request))
  }

  /** Undefined when there is no room in time. */
  const waitForRoom = (request: ContentRequest): Promise<SharedCopy | undefined> => {
    const { promise, resolve } = Promise.withResolvers<SharedCopy | undefined>()
    const one: Waiting = {
      request,
      letIn: (copy) => {
        clearTimeout(timer)
        waiting.delete(one)
        resolve(copy)
      },
    }
    const timer = setTimeout(() => one.letIn(undefined), WAIT_MS)
    waiting.add(one)
    return promise
  }

  return {
    /** Bytes that count against the limit now. */
    get bytes(): number {
      return bytes
    },

    createReader: (): CopyReader => {
      const held: SharedCopy[] = []
      let isClosed = false
      const release = (id: number): void => {
        const index = held.findIndex((copy) => copy.id === id)
        const [copy] = index < 0 ? [] : held.splice(index, 1)
        if (copy !== undefined) letGo(copy)
      }
      return {
        takeCopy: async (request) => {
          if (isTooLong(request)) return refuse(request, 'size')
          if (!hasRoom(request) && waiting.size >= MAX_WAITING) return refuse(request, 'busy')
          const copy = hasRoom(request) ? hold(request) : await waitForRoom(request)
          if (copy === undefined) return refuse(request, 'busy')
          held.push(copy)
          try {
            const pages = isClosed ? undefined : await copy.made
            if (pages !== undefined) return { id: copy.id, ...pages }
          } catch (error) {
            release(copy.id)
            throw error
          }
          release(copy.id)
          return refuse(request, 'size')
        },
        releaseCopy: release,
        close: () => {
          isClosed = true
          for (const { id } of [...held]) release(id)
        },
      }
    },
  }
}

/** Packs parts of the content, a page in each call. */
function createPageWriter(parts: Iterator<ContentPart, void, void>) {
  const pages = { pending: [] as Uint8Array[], queued: [] as Uint8Array[] }
  /** of the part that is being written */
  let left: { readonly list: keyof Pages; readonly entries: readonly PoolEntry[]; next: number }[] = []
  let bytes = 0
  return {
    pages: pages satisfies Pages as Pages,
    get bytes(): number {
      return bytes
    },
    /** @returns whether all is written */
    writePage: (): boolean => {
      const page = { pending: [] as PoolEntry[], queued: [] as PoolEntry[] }
      let [pageBytes, transactions, senders] = [0, 0, 0]
      let isDone = false
      while (pageBytes < PAGE_BYTES && transactions < PAGE_TRANSACTIONS && senders < PAGE_SENDERS) {
        const [first] = left
        const entry = first?.entries[first.next++]
        if (first !== undefined && entry !== undefined) {
          page[first.list].push(entry)
          pageBytes += entry.raw.length + PACKED_OVERHEAD
          transactions++
          continue
        }
        left.shift()
        if (left.length > 0) continue
        const { done, value } = parts.next()
        if (done === true || value === undefined) {
          isDone = true
          break
        }
        senders++
        left = [
          { list: 'pending', entries: value.pending, next: 0 },
          { list: 'queued', entries: value.queued, next: 0 },
        ]
      }
      bytes += pageBytes
      for (const list of ['pending', 'queued'] as const) {
        const packed = page[list].map(({ raw, hashKey, sender }) => ({ raw, hash: hashKey, sender }))
        if (packed.length > 0) pages[list].push(packShared(packed))
      }
      return isDone
    },
  }
}

function packedBytes({ transactions, bytes }: ContentSize): number {
  return bytes + transactions * PACKED_OVERHEAD
}

function pauseShortly(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}

/** The reading thread's side. @param release does not wait for the pool thread */
export function readCopies(
  take: (request: ContentRequest) => Promise<PoolCopy | ContentRefusal>,
  release: (id: number) => void,
): TxPort['content'] {
  return async (request): Promise<ContentLease | ContentRefusal> => {
    const answer = await take(request)
    if ('refused' in answer) return answer
    const { id, pending, queued } = answer
    return { pending: unpackPages(pending), queued: unpackPages(queued), release: () => release(id) }
  }
}

/** A page at a time is copied out of the shared memory, which not all decoders take. */
function unpackPages(pages: readonly Uint8Array[]): Iterable<PooledTransaction> {
  return {
    *[Symbol.iterator]() {
      for (const page of pages) yield* unpackTransactions(new Uint8Array(page))
    },
  }
}
