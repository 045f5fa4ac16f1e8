import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../config/configError.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'

const NOTE =
  'This directory is a copy of a running node. A validator started from it does not sign until it has verified that the original ' +
  'no longer signs. See docs/operations.md, "Backup". Do not remove this file by hand.'

const MARK = z.object({ format: z.literal(1), height: z.int().min(0), note: z.string() })

/**
 * Marks a data directory as a copy, durably.
 * @param height of its newest block
 */
export function writeCopyMark(path: string, height: number): void {
  writeFileDurably(path, `${JSON.stringify({ format: 1, height, note: NOTE }, undefined, 2)}\n`, 0o644)
}

/**
 * Returns the mark of a data directory that is a copy; undefined when the directory is not, or no longer, a copy.
 * @throws ConfigError when the file cannot be read, so that it does not pass for a directory without a mark
 */
export function readCopyMark(path: string): { readonly height: number; remove(): void } | undefined {
  if (!existsSync(path)) return undefined
  try {
    const { height } = MARK.parse(JSON.parse(readFileSync(path, 'utf8')))
    return { height, remove: () => removeCopyMark(path) }
  } catch {
    throw new ConfigError(
      `${path}, which marks this directory as a copy, is damaged: restore it from the backup, or, if the original of this ` +
        'validator has stopped for good, run coind start --signer-moved',
    )
  }
}

/** Makes the directory no longer a copy, durably. */
export function removeCopyMark(path: string): void {
  rmSync(path, { force: true })
  syncDirectory(dirname(path))
}
