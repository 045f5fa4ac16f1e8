import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes a file atomically and durably: after a crash the whole file exists or nothing, and once
 * this returns it stays. Replaces an existing file.
 * @param mode permissions, e.g. 0o600 for one that holds a secret
 */
export function writeFileDurably(path: string, text: string, mode: number): void {
  const temporary = `${path}.new`
  rmSync(temporary, { force: true })
  const file = openSync(temporary, 'wx', mode)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
  syncDirectory(dirname(path))
}

/** Syncs a directory, so that the names in it are on stable storage. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
