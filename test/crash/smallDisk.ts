import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of a few megabytes. */
export interface SmallDisk {
  readonly path: string
  /** Leaves so many bytes free. */
  fill(leftBytes: number): void
  /** Takes the filling away. */
  free(): void
}

/** Whether this process may mount a file system in memory: as root, and not in every container. */
export function canMount(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'coind-mount-'))
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4096', 'tmpfs', probe]).status === 0
  if (isMounted) execFileSync('umount', [probe])
  rmSync(probe, { recursive: true })
  if (!isMounted) console.log('tests of a full disk are left out: this process may not mount a file system')
  return isMounted
}

/** Mounts a disk of this size at `path`, which must not exist, while `run` works. */
export async function onSmallDisk(path: string, bytes: number, run: (disk: SmallDisk) => Promise<void>): Promise<void> {
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path])
  const ballast = join(path, 'ballast')
  try {
    await run({
      path,
      fill: (leftBytes) => {
        const { bavail, bsize } = statfsSync(path)
        writeFileSync(ballast, Buffer.alloc(bavail * bsize - leftBytes))
      },
      free: () => rmSync(ballast),
    })
  } finally {
    execFileSync('umount', [path])
  }
}
