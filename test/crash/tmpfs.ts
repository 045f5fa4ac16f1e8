import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whether this process may mount file systems. */
export function canMount(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'coind-mount-'))
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4096', 'tmpfs', probe]).status === 0
  if (isMounted) execFileSync('umount', [probe])
  rmSync(probe, { recursive: true })
  return isMounted
}

/** Mounts a disk of this size, in memory, on a new directory while `use` runs. */
export async function withDisk<T>(path: string, bytes: number, use: () => Promise<T>): Promise<T> {
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path])
  try {
    return await use()
  } finally {
    execFileSync('umount', [path])
    rmSync(path, { recursive: true })
  }
}
