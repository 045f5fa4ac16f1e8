import { existsSync, rmSync } from 'node:fs'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'
import type { DataPaths } from './dataDirectory.ts'

/** What is removed: everything that belongs to one chain. Keys and configuration stay. */
function chainParts(paths: DataPaths): readonly string[] {
  return [paths.genesis, paths.db, paths.wal, paths.addressBook]
}

/** What {@link resetHome} would remove, as paths that exist. */
export function partsToReset(paths: DataPaths): readonly string[] {
  return [...chainParts(paths), paths.resetMarker].filter((path) => existsSync(path))
}

/**
 * Removes the chain of a data directory, so that another one can begin under the same validator and node keys: genesis, database,
 * write-ahead log with what the signer remembers, and the address book, whose peers belong to the old chain. Call it with the
 * directory locked. A marker lies there from before the first removal until after the last: no node starts beside it, and a reset
 * that was killed is finished by running it again. The signer's memory goes last: never is there a chain without it.
 */
export function resetHome(paths: DataPaths): void {
  writeFileDurably(
    paths.resetMarker,
    'coind reset has begun to remove the chain in this directory: run it again\n',
    0o644,
  )
  rmSync(paths.genesis, { force: true })
  if (existsSync(paths.config)) syncDirectory(paths.config)
  for (const path of [paths.addressBook, paths.db, paths.wal]) rmSync(path, { recursive: true, force: true })
  syncDirectory(paths.homedir)
  rmSync(paths.resetMarker)
  syncDirectory(paths.homedir)
}
