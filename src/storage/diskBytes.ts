import type { Dirent } from 'node:fs'
import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Column, columnName } from './columns.ts'
import type { Database } from './database.ts'

/*
 * A node's use of the disk. The figures are not exact: LevelDB writes and deletes files meanwhile.
 */

/** Returns the bytes in LevelDB's tables by column. The newest writes, which are in its log alone, are not counted. */
export async function columnBytes(database: Pick<Database, 'approximateSize'>): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  for (const column of Object.values(Column)) {
    const size = await database.approximateSize(Uint8Array.of(column), Uint8Array.of(column + 1))
    sizes.set(columnName(column), size)
  }
  return sizes
}

/**
 * Returns the bytes of all files in a directory and those below it; 0 when it does not exist. Files
 * that go away meanwhile are not counted.
 */
export async function directoryBytes(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await entriesOf(directory)) {
    const path = join(directory, entry.name)
    bytes += entry.isDirectory() ? await directoryBytes(path) : await fileBytes(path)
  }
  return bytes
}

async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true })
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

async function fileBytes(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isAbsent(error)) return 0
    throw error
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

/** Returns the bytes that this process can still write to the file system of a directory. */
export async function freeBytesIn(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}
