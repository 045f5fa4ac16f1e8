import { Database, DatabaseError } from './database.ts'

/** A lock that this process holds until it is closed. */
export interface DirectoryLock {
  close(): Promise<void>
}

/**
 * Takes a lock that one process may hold, until it is closed or the process ends. It is that of an empty LevelDB: the kernel releases it with
 * the process, also after a crash, and it works between containers that share a volume, where process IDs are of no use.
 * @param path a directory for the lock alone, which is made where it is missing
 * @throws DatabaseError; {@link isLockHeld} tells whether another process holds it
 */
export function openDirectoryLock(path: string): Promise<DirectoryLock> {
  return Database.open(path, { cacheBytes: 0, writeBufferBytes: 64 << 10 })
}

export function isLockHeld(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'locked'
}
