import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseError } from '../storage/database.ts'
import { type DirectoryLock, isLockHeld, openDirectoryLock } from '../storage/directoryLock.ts'

/*
 * Directories `copy-…` in HOMEDIR for temporary files of commands: links to the files of a database, which a node that runs there
 * continues to delete, or files of sorts. A killed command leaves its directory, which would keep deleted files on the disk, so
 * the next command removes it. A lock shows whether a command still runs, as for the data directory (`lockHome`): containers that
 * share a volume have the same process IDs.
 */

/** A directory of this process alone. */
interface WorkDirectory {
  /** empty at first */
  readonly path: string
  remove(): Promise<void>
}

const NAME = /^copy-/
/** A further one is needed only when another command has taken the new directory for one that was left. */
const ATTEMPTS = 10

/**
 * Makes a directory for this command, and removes those that ended ones have left. A process has one at a time: its own lock does not keep
 * it out.
 * @throws DatabaseError when the disk takes no more
 */
export async function makeWorkDirectory(homedir: string): Promise<WorkDirectory> {
  for (const name of await readdir(homedir)) if (NAME.test(name)) await removeLeft(join(homedir, name))
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const directory = await mkdtemp(join(homedir, 'copy-'))
    const lock = await lockNew(directory)
    if (lock === undefined) continue
    const path = join(directory, 'files')
    await mkdir(path)
    return { path, remove: () => removeLocked(directory, lock) }
  }
  throw new Error(`choose a directory outside ${homedir}: other commands remove files there`)
}

/** Returns undefined when another process has locked the directory, and removes it or has done so. */
async function lockNew(directory: string): Promise<DirectoryLock | undefined> {
  try {
    return await openLock(directory)
  } catch (error) {
    if (!existsSync(directory) || isLockHeld(error)) return undefined
    await rm(directory, { recursive: true, force: true })
    throw error
  }
}

async function removeLeft(directory: string): Promise<void> {
  try {
    await removeLocked(directory, await openLock(directory))
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    // Otherwise no command has it open: the lock comes before all that can be damaged. A directory that cannot be locked because
    // the disk is full stays.
    if (error.code !== 'locked' && error.code !== 'io') await rm(directory, { recursive: true, force: true })
  }
}

/** Releases the lock last, so that no other command takes half of the directory for its own. */
async function removeLocked(directory: string, lock: DirectoryLock): Promise<void> {
  try {
    await rm(directory, { recursive: true })
  } finally {
    await lock.close()
  }
}

function openLock(directory: string): Promise<DirectoryLock> {
  return openDirectoryLock(join(directory, 'lock'))
}
