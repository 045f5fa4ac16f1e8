import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { checkSegmentFile, type ListedSegment, segmentPath } from '../../chain/segments/segments.ts'
import { SnapshotError, SnapshotUnavailableError } from '../../snapshot/manifest.ts'
import { filesAt, filesIn } from '../../snapshot/snapshotFiles.ts'
import type { SnapshotFiles } from '../../snapshot/verifySnapshot.ts'
import { isSegmentFile } from '../../storage/segmentFile.ts'
import { syncDirectory } from '../../storage/writeFileDurably.ts'

/** Returns a file by its name, of at most so many bytes; undefined when it is absent. @throws SnapshotError when it cannot be read */
type FileSource = Pick<SnapshotFiles, 'read'>

/**
 * Opens places that may have files of old blocks: a directory of a web server, a directory with such files, or the database or
 * data directory of a node, running or not. No place is trusted: a file counts when it has the sha256 that the database lists.
 */
export function segmentSources(places: readonly (string | URL)[], signal: AbortSignal): readonly FileSource[] {
  return places.flatMap((place) => {
    if (typeof place !== 'string') return [filesAt(place, signal)]
    return [place, join(place, 'segments'), join(place, 'db', 'segments')].map(filesIn)
  })
}

/**
 * Replaces a damaged or missing file with a whole one, on stable storage.
 * @returns whether a source had it
 * @throws SnapshotError, SnapshotUnavailableError when no source that answers has it
 */
export async function restoreSegment(
  location: string,
  segment: ListedSegment,
  sources: readonly FileSource[],
): Promise<boolean> {
  const path = segmentPath(location, segment)
  const isRight = (file: Uint8Array): boolean => isSegmentFile(file, segment)
  if (!(await fetchSegment(path, segment.bytes, sources, isRight))) return false
  // What is on the disk now, not what was sent.
  Array.from(checkSegmentFile(location, segment))
  return true
}

/**
 * Writes a file of old blocks from the first source that has it, on stable storage.
 * @param path with the name under which the sources have it
 * @param isRight whether these are its bytes
 * @returns whether a source had it
 * @throws SnapshotError, SnapshotUnavailableError when no source that answers has it
 */
export async function fetchSegment(
  path: string,
  maxBytes: number,
  sources: readonly FileSource[],
  isRight: (file: Uint8Array) => boolean,
): Promise<boolean> {
  let problem: Error | undefined
  for (const source of sources) {
    try {
      const file = await source.read(basename(path), maxBytes)
      if (file === undefined || !isRight(file)) continue
      replaceFile(path, file)
      return true
    } catch (error) {
      // Another source may have it.
      if (!(error instanceof SnapshotError || error instanceof SnapshotUnavailableError)) throw error
      problem ??= error
    }
  }
  if (problem !== undefined) throw problem
  return false
}

/** Replaces a file; a killed process leaves the old file, or the new one. */
function replaceFile(path: string, bytes: Uint8Array): void {
  const directory = dirname(path)
  mkdirSync(directory, { recursive: true })
  const temporary = `${path}.new`
  const file = openSync(temporary, 'w', 0o644)
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
  syncDirectory(directory)
}
