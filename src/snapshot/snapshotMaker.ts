import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readStateHead } from '../state/head.ts'
import type { DatabaseView } from '../storage/database.ts'
import { BLOCKS_AFTER_SNAPSHOT, type MadeSnapshot, makeSnapshot, type SnapshotChain } from './makeSnapshot.ts'
import { clearShelf, keepNewest, shelvedHeights } from './shelf.ts'

export interface SnapshotMakerOptions {
  readonly chain: SnapshotChain
  /** directory of the node's snapshots, see shelf.ts */
  readonly shelf: string
  /** a snapshot is due at each multiple of this; more than 0 */
  readonly interval: number
  /** how many snapshots stay, besides those that peers are fetching */
  readonly keep: number
  /** since the epoch */
  readonly nowMs: () => number
  /** a snapshot that was due more blocks ago is not made any more; 16 by default */
  readonly maxBlocksLate?: number
  /** approximate memory of a sort */
  readonly sortBytes?: number
  /** the database as it is now */
  readonly openSnapshot: () => DatabaseView
  /** awaited after each small part of the work, so that it leaves processor and disk to others; it ends at once when `signal` is aborted */
  readonly rest: (signal: AbortSignal) => Promise<void>
  readonly observer: SnapshotObserver
}

export interface SnapshotObserver {
  began(height: number): void
  made(height: number, made: MadeSnapshot): void
  /**
   * called when a snapshot failed; the next one is made when it is due
   * @param height undefined: the directory of the snapshots could not be cleared at the start
   */
  failed(height: number | undefined, error: unknown): void
}

/** Makes the snapshots of a node that are due, one at a time. */
export interface SnapshotMaker {
  /** height of the newest snapshot that there was at the start; 0: none */
  readonly newest: number
  /** Called with a new head: begins the snapshot that is due at this height, unless one is being made. */
  onHead(height: number): void
  /** Ends the making of a snapshot, which then leaves nothing, and waits for its end. */
  close(): Promise<void>
}

/**
 * While the node catches up, or the snapshot before takes long, blocks pass. What those above a snapshot's changed has to be undone in
 * memory.
 */
const MAX_BLOCKS_LATE = 16

/** Clears the remains of a killed process, and begins with the next head. */
export function createSnapshotMaker(options: SnapshotMakerOptions): SnapshotMaker {
  const { chain, shelf, interval, keep, sortBytes, observer, maxBlocksLate = MAX_BLOCKS_LATE } = options
  const stop = new AbortController()
  /** of the last snapshot that was begun */
  let begun = 0
  let making: Promise<void> | undefined
  /** Returns the height that is due at this head; undefined when none is. */
  const dueAt = (head: number): number | undefined => {
    const highest = head - BLOCKS_AFTER_SNAPSHOT
    const height = highest - (highest % interval)
    const isDue =
      height > begun && height >= Math.max(1, chain.validatorRanksHeight) && highest - height <= maxBlocksLate
    return isDue && !existsSync(directoryOf(height)) ? height : undefined
  }
  const directoryOf = (height: number): string => join(shelf, String(height))

  const make = async (): Promise<void> => {
    const snapshot = options.openSnapshot()
    try {
      // Its head may be a newer one.
      const head = readStateHead(snapshot)!
      const height = dueAt(head.height)
      if (height === undefined) return
      begun = height
      // A node that was restored from a snapshot has no older states.
      if (height < head.oldestHeight) return
      observer.began(height)
      try {
        const made = await makeSnapshot(snapshot, chain, {
          height,
          directory: directoryOf(height),
          ...(sortBytes === undefined ? {} : { sortBytes }),
          pause: async () => {
            stop.signal.throwIfAborted()
            await options.rest(stop.signal)
            stop.signal.throwIfAborted()
          },
        })
        keepNewest(shelf, keep, options.nowMs())
        observer.made(height, made)
      } catch (error) {
        if (error !== stop.signal.reason) observer.failed(height, error)
      }
    } finally {
      await snapshot.close()
    }
  }

  let newest = 0
  try {
    mkdirSync(shelf, { recursive: true })
    clearShelf(shelf)
    keepNewest(shelf, keep, options.nowMs())
    newest = shelvedHeights(shelf)[0] ?? 0
  } catch (error) {
    observer.failed(undefined, error)
  }

  const onHead = (head: number): void => {
    if (making !== undefined || stop.signal.aborted || dueAt(head) === undefined) return
    making = make().finally(() => {
      making = undefined
    })
  }
  return {
    newest,
    onHead,
    close: async () => {
      stop.abort()
      await making
    },
  }
}
