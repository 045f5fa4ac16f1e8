import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { SnapshotError } from './manifest.ts'
import type { SnapshotFiles } from './verifySnapshot.ts'
import { WebFiles, type WebFilesOptions } from './webFiles.ts'

/** Returns the files of a snapshot in a directory. */
export function filesIn(directory: string): SnapshotFiles {
  return {
    place: directory,
    read: async (name, maxBytes) => {
      const path = join(directory, name)
      try {
        const file = await open(path)
        try {
          const { size } = await file.stat()
          if (size > maxBytes) throw new SnapshotError(`${name} has ${size} bytes, over ${maxBytes}`)
          return new Uint8Array(await file.readFile())
        } finally {
          await file.close()
        }
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        if (code === 'ENOENT') return undefined
        throw error instanceof SnapshotError ? error : new SnapshotError(`${path} cannot be read: ${message}`)
      }
    },
  }
}

/**
 * Returns the files of a snapshot on a web server, as they are: nothing is known of their bytes.
 * @param url http(s), of the manifest, or of the directory with the files
 */
export function filesAt(
  url: URL,
  signal: AbortSignal,
  time: Pick<WebFilesOptions, 'sleep' | 'nowMs'> = REAL_TIME,
): SnapshotFiles {
  const files = new WebFiles({ address: url, signal, ...time })
  return { place: files.name, read: (name, maxBytes) => files.read({ name, maxBytes }) }
}

export const REAL_TIME: Pick<WebFilesOptions, 'sleep' | 'nowMs'> = {
  sleep: async (ms, signal) => {
    await setTimeout(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
  },
  nowMs: () => performance.now(),
}
