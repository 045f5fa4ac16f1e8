import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { z } from 'zod'
import { ConfigError } from '../config/configError.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'
import type { DataPaths } from './dataDirectory.ts'

type SwitchPaths = Pick<DataPaths, 'homedir' | 'db' | 'restoringDb' | 'databaseSwitch' | 'restoredFrom'>

/** Contents of the file of a switch. */
const switchSchema = z.strictObject({
  /** sha256 of the address that the snapshot came from, hex; null: the settings name no address */
  source: z.string().nullable(),
})

/**
 * Replaces the current database with the restored one. The synced file that this writes is the switch: once it is on the disk,
 * the restored database is the node's, and `finishSwitch` does the rest. If the process ends before that moment, the node has
 * the old database; if it ends after, the new one.
 * @param source see `wasRestoredFrom`
 */
export function beginSwitch(paths: SwitchPaths, source: string | null): void {
  writeFileDurably(paths.databaseSwitch, `${JSON.stringify({ source })}\n`, 0o644)
}

/**
 * Renames the old database during a switch, before `finishSwitch` removes it. If there is already a database with the new name,
 * that was the first to be damaged, and stays.
 */
export function keepOldDatabase(paths: Pick<DataPaths, 'homedir' | 'db' | 'damagedDb'>): void {
  if (existsSync(paths.damagedDb)) return
  renameSync(paths.db, paths.damagedDb)
  syncDirectory(paths.homedir)
}

/** Whether a switch is under way: the database is `paths.restoringDb` while that exists, and then `paths.db`. */
export function isSwitching(paths: Pick<DataPaths, 'databaseSwitch'>): boolean {
  return existsSync(paths.databaseSwitch)
}

/** Returns the directory of the node's database, whether a switch is under way or not. */
export function currentDatabase(paths: SwitchPaths): string {
  return isSwitching(paths) && existsSync(paths.restoringDb) ? paths.restoringDb : paths.db
}

/**
 * Ends a switch, if one is under way. To be called at each start, with the data directory locked, before anything opens the database. Each
 * step may be repeated, and is on stable storage before the next:
 *
 * 1. the old database is removed;
 * 2. the new one gets its name;
 * 3. `adjust` makes what else must fit the new database;
 * 4. the source is remembered, so that the same setting does not restore it again at every start;
 * 5. the file of the switch is removed.
 */
export async function finishSwitch(paths: SwitchPaths, adjust: () => Promise<void>): Promise<void> {
  if (!isSwitching(paths)) return
  const { source } = readSwitch(paths.databaseSwitch)
  if (existsSync(paths.restoringDb)) {
    // 1.
    rmSync(paths.db, { recursive: true, force: true })
    syncDirectory(paths.homedir)
    // 2.
    renameSync(paths.restoringDb, paths.db)
    syncDirectory(paths.homedir)
  }
  // 3.
  await adjust()
  // 4.
  if (source !== null) writeFileDurably(paths.restoredFrom, `${source}\n`, 0o644)
  // 5.
  rmSync(paths.databaseSwitch)
  syncDirectory(paths.homedir)
}

function readSwitch(path: string): z.infer<typeof switchSchema> {
  try {
    return switchSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new ConfigError(
      `cannot read ${path}: write {"source":null} to it to finish the switch to the restored database`,
      { cause },
    )
  }
}

/** Whether the last restore came from this source. @param source as it was given to `beginSwitch` */
export function wasRestoredFrom(paths: Pick<DataPaths, 'restoredFrom'>, source: string): boolean {
  return existsSync(paths.restoredFrom) && readFileSync(paths.restoredFrom, 'utf8').trim() === source
}
