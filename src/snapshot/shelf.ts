import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { decodeEthereumHeader } from '../chain/block/ethereumBlock.ts'
import { syncDirectory } from '../storage/writeFileDurably.ts'
import { isBeingFetched } from './fetchedMark.ts'
import { isUnfinished } from './makeSnapshot.ts'
import { isSnapshotName, MANIFEST_NAME, ManifestError, readManifest } from './manifest.ts'

/*
 * The snapshots of a node in `HOMEDIR/snapshots`: each in a directory with its height as name, which it gets when it is complete. Peers
 * and web servers read them at any time.
 */

/** A snapshot of the node's own. */
export interface ShelvedSnapshot {
  readonly height: number
  /** of the block, seconds since the epoch */
  readonly timestamp: number
  /** of its chunks */
  readonly bytes: number
  readonly chunks: number
}

/** While the files of a snapshot are deleted, its directory has this name. */
const REMOVED = '.removed'

/** Heights of the complete snapshots, the newest first; none where there is no such directory. */
export function shelvedHeights(shelf: string): readonly number[] {
  return namesIn(shelf)
    .filter(isSnapshotName)
    .map(Number)
    .sort((a, b) => b - a)
}

/**
 * Reads the manifests of the complete snapshots, the newest first.
 * @throws ManifestError for one whose manifest cannot be used
 */
export function readShelf(shelf: string): readonly ShelvedSnapshot[] {
  return shelvedHeights(shelf).map((height) => {
    const path = join(shelf, String(height), MANIFEST_NAME)
    const { chunks, ethereumHeader } = readNamed(path)
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0)
    return { height, timestamp: decodeEthereumHeader(ethereumHeader).timestamp, bytes, chunks: chunks.length }
  })
}

function readNamed(path: string): ReturnType<typeof readManifest> {
  try {
    return readManifest(readFileSync(path))
  } catch (error) {
    if (error instanceof ManifestError) throw new ManifestError(`${path}: ${error.message}`)
    throw error
  }
}

/** Removes the remains of a killed maker, or of an interrupted removal. */
export function clearShelf(shelf: string): void {
  for (const name of namesIn(shelf)) {
    if (isUnfinished(name) || (name.startsWith('.') && name.endsWith(REMOVED))) {
      rmSync(join(shelf, name), { recursive: true, force: true })
    }
  }
}

/** Older snapshots that stay because peers are fetching them: as many at most, those that are nearest to their end. */
const MAX_FETCHED = 2

/**
 * Removes all complete snapshots but the newest ones, and a few that peers are fetching. None of them is ever seen without some of its files.
 * @param nowMs since the epoch
 */
export function keepNewest(shelf: string, count: number, nowMs: number): void {
  const older = shelvedHeights(shelf).slice(count)
  const fetched = older.filter((height) => isBeingFetched(join(shelf, String(height)), nowMs)).slice(-MAX_FETCHED)
  for (const height of older) {
    if (fetched.includes(height)) continue
    const removed = join(shelf, `.${height}${REMOVED}`)
    renameSync(join(shelf, String(height)), removed)
    syncDirectory(shelf)
    rmSync(removed, { recursive: true })
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
