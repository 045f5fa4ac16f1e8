import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'
import type { EvidenceStore } from './evidencePool.ts'

const SUFFIX = '.evidence'

/**
 * Keeps evidence in files of `directory`, which is made when absent.
 * @throws Error when it cannot be made or read
 */
export function openEvidenceFiles(directory: string): EvidenceStore {
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (made !== undefined) syncDirectory(dirname(made))
  // Begun when the process died.
  for (const name of readdirSync(directory)) if (name.endsWith('.new')) rmSync(join(directory, name))
  return {
    read: () =>
      readdirSync(directory)
        .filter((name) => name.endsWith(SUFFIX))
        .sort()
        .map((name) => ({
          name: name.slice(0, -SUFFIX.length),
          text: readFileSync(join(directory, name), 'latin1'),
        })),
    write: (name, text) => writeFileDurably(join(directory, `${name}${SUFFIX}`), text, 0o600),
    // Not synced: a file that comes back after power loss holds committed evidence, which the application refuses.
    remove: (name) => rmSync(join(directory, `${name}${SUFFIX}`), { force: true }),
  }
}
