import { existsSync } from 'node:fs'
import { copyFile, link, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { segmentFiles, segmentsDirectory } from '../storage/segmentFile.ts'

/** LevelDB begins at most one new table every few seconds, and a copy takes milliseconds. */
const ATTEMPTS = 50
const TABLE = /^\d+\.(ldb|sst)$/
const LOG = /^\d+\.log$/

/**
 * Copies a LevelDB directory that another process may be writing. The copy has the state of one moment, with whole batches only.
 * Tables never change and are hard-linked, so it takes little time and room. The copy can be opened and deleted independently.
 * @param to a directory that does not exist, on the same file system
 * @throws Error when the directory is not a database, or changes too fast
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await mkdir(to)
    if (await tryCopy(from, to)) return
    await rm(to, { recursive: true })
  }
  throw new Error(`${from} changes so fast that it cannot be copied: try again, or stop the node`)
}

/** Returns false when tables or their list changed meanwhile: then something may be missing. */
async function tryCopy(from: string, to: string): Promise<boolean> {
  const before = await describe(from)
  try {
    // A segment that the tables list was complete before them, and may be removed after them. So those that are there before and after are
    // linked; one that is not listed is removed from the copy at its first start.
    await linkSegments(from, to)
    for (const name of await readdir(from)) {
      if (TABLE.test(name)) await link(join(from, name), join(to, name))
      // The end of a log may be cut off: LevelDB drops an incomplete batch.
      else if (LOG.test(name) || name === before.manifest) await copyFile(join(from, name), join(to, name))
    }
    await copyFile(join(from, 'CURRENT'), join(to, 'CURRENT'))
    await linkSegments(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  const after = await describe(from)
  return after.manifest === before.manifest && after.size === before.size && after.logs === before.logs
}

/** Links complete segments, which never change either. */
async function linkSegments(from: string, to: string): Promise<void> {
  const files = segmentFiles(from)
  if (files.length > 0) await mkdir(segmentsDirectory(to), { recursive: true })
  for (const file of files) {
    const target = join(segmentsDirectory(to), basename(file))
    if (!existsSync(target)) await link(file, target)
  }
}

/** Returns values that change with any change of the tables: the file that lists them, and the names of the logs. */
async function describe(from: string): Promise<{ manifest: string; size: number; logs: string }> {
  const manifest = (await readFile(join(from, 'CURRENT'), 'utf8')).trim()
  const { size } = await stat(join(from, manifest))
  const names = await readdir(from)
  return { manifest, size, logs: names.filter((name) => LOG.test(name)).join() }
}
