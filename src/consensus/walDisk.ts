import { mkdir, open, readdir, readFile, rename, rm, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory } from '../storage/writeFileDurably.ts'

/** What is needed of an open file: `node:fs/promises` gives it. */
export interface WalFile {
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>
  datasync(): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

/**
 * The file system as the write-ahead log uses it. What was written to a file is on stable storage after its `sync` or
 * `datasync`, a name in a directory after `syncDirectory`; a simulator's disk loses everything else in a crash.
 */
export interface WalDisk {
  /** Makes the directory where it is absent, so that power loss does not take it away again. */
  makeDirectory(path: string): Promise<void>
  /** names, in any order */
  list(directory: string): Promise<readonly string[]>
  read(path: string): Promise<Uint8Array>
  /** @param flags `wx`: a new file; `w`: a new or emptied one; `r+`: one that is there */
  open(path: string, flags: 'wx' | 'w' | 'r+'): Promise<WalFile>
  rename(from: string, to: string): Promise<void>
  /** does nothing when there is no such file */
  remove(path: string): Promise<void>
  truncate(path: string, length: number): Promise<void>
  syncDirectory(path: string): Promise<void>
}

/** Only the owner may read what the log holds. */
const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700

export const nodeDisk: WalDisk = {
  makeDirectory: async (path) => {
    const made = await mkdir(path, { recursive: true, mode: DIRECTORY_MODE })
    // A log that power loss takes away with its directory would be a signer without memory.
    if (made !== undefined) syncDirectory(dirname(made))
  },
  list: (directory) => readdir(directory),
  read: async (path) => {
    const file = await readFile(path)
    return new Uint8Array(file.buffer, file.byteOffset, file.length)
  },
  open: (path, flags) => open(path, flags, FILE_MODE),
  rename,
  remove: (path) => rm(path, { force: true }),
  truncate,
  syncDirectory: async (path) => {
    const directory = await open(path, 'r')
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  },
}
