import { readFileSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST_NAME } from './manifest.ts'

/*
 * A snapshot that a peer is fetching has to stay until the peer has the whole. The next snapshot
 * has other chunks, so the peer would have to start again, over and over where a restore takes
 * longer than snapshots stay. The thread that serves peers writes a mark to the directory of the
 * snapshot, and the one that removes old snapshots checks for it.
 */

/** Has the time when a peer last got something of the snapshot, milliseconds since the epoch, as text. */
const MARK_NAME = 'fetched'
/** The mark is written again after this time. */
const WRITTEN_MS = 60_000
/** A snapshot is no longer being fetched when no peer has got a piece for this time. */
const FETCHED_MS = 600_000
/** Longest time since a snapshot was made: a peer that asks for a piece now and then cannot keep it for longer. */
const LONGEST_MS = 86_400_000

/** Notes that peers get something of snapshots. */
export class FetchedMarks {
  readonly #nowMs: () => number
  /** when the mark of a directory was written */
  readonly #writtenMs = new Map<string, number>()

  /** @param nowMs since the epoch */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** @param directory of a complete snapshot */
  async add(directory: string): Promise<void> {
    const nowMs = this.#nowMs()
    if (nowMs - (this.#writtenMs.get(directory) ?? Number.NEGATIVE_INFINITY) < WRITTEN_MS) return
    this.#writtenMs.set(directory, nowMs)
    // Without a mark the snapshot is served all the same. It may have been removed meanwhile, or the disk takes no more.
    await writeFile(join(directory, MARK_NAME), String(nowMs)).catch(() => undefined)
  }

  /** The snapshot is not there any more. */
  forget(directory: string): void {
    this.#writtenMs.delete(directory)
  }
}

/** Returns whether a peer is fetching the snapshot in this directory, and may. @param nowMs since the epoch */
export function isBeingFetched(directory: string, nowMs: number): boolean {
  try {
    const fetchedMs = Number(readFileSync(join(directory, MARK_NAME), 'utf8'))
    const madeMs = statSync(join(directory, MANIFEST_NAME)).mtimeMs
    return nowMs - fetchedMs < FETCHED_MS && nowMs - madeMs < LONGEST_MS
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
