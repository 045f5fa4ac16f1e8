import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { ConfigError } from '../config/configError.ts'
import { Database, DatabaseError } from '../storage/database.ts'
import type { DataPaths } from './dataDirectory.ts'

export interface HomeLock {
  release(): Promise<void>
}

/**
 * Makes this process the only one on the data directory, until `release` or the end of the process however it
 * ends. The lock is that of an empty LevelDB: the kernel drops it with the process, so no crash leaves it behind, and it holds
 * between containers that share a volume, where process IDs say nothing.
 * @throws ConfigError when another process holds it
 */
export async function lockHome(
  paths: Pick<DataPaths, 'homedir' | 'lock' | 'pid'>,
  processId: number,
): Promise<HomeLock> {
  mkdirSync(paths.homedir, { recursive: true, mode: 0o700 })
  const database = await openLock(paths)
  writeFileSync(paths.pid, `${processId}\n`)
  return {
    release: async () => {
      rmSync(paths.pid, { force: true })
      await database.close()
    },
  }
}

async function openLock(paths: Pick<DataPaths, 'homedir' | 'lock' | 'pid'>): Promise<Database> {
  try {
    return await Database.open(paths.lock, { cacheBytes: 0, writeBufferBytes: 64 << 10 })
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'locked') throw error
    throw new ConfigError(`another coind${holder(paths.pid)} is using HOMEDIR ${paths.homedir}: stop it first`)
  }
}

function holder(pidFile: string): string {
  try {
    return ` (process ${readFileSync(pidFile, 'utf8').trim()})`
  } catch {
    // The file is a courtesy; the lock decides.
    return ''
  }
}
