import { globSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { filesBelow, MANIFEST, runtimePackageFiles, SEALED_MANIFEST } from './runtimeFiles.js'
import { type ArchiveEntry, tarArchive } from './tarArchive.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LAUNCHER = 'scripts/releasedCoind.sh'

interface ReleaseOptions {
  /** directory of the bundle; dist/node of this package by default */
  readonly bundle?: string
  /** of all files, seconds since the epoch */
  readonly timeSeconds: number
  /** of gzip, 1 to 9; 9 by default */
  readonly level?: number
}

/** The package that has the pinned Node.js for this machine. */
export const NODE_PACKAGE = `node-${process.platform}-${process.arch}`

/**
 * Packs a version of the software into one gzipped tar archive, for machines without Node.js. It has the pinned Node.js, the
 * bundle, the packages that the bundle loads, WebAssembly, and the explorer's pages. It also has `bin/coind`, where cosmovisor looks
 * for it, and the files that an operator reads and copies. The same sources, packages and time yield the same bytes.
 */
export function releaseArchive({ bundle = join(ROOT, 'dist/node'), timeSeconds, level = 9 }: ReleaseOptions): Buffer {
  const entries: readonly ArchiveEntry[] = [
    { path: 'bin/coind', isExecutable: true, contents: readFileSync(join(ROOT, LAUNCHER)) },
    ...globSync('bin/*.js', { cwd: ROOT }).map((file) => entryOf(ROOT, file)),
    ...['package.json', 'LICENSE', ...operatorFiles()].map((file) => entryOf(ROOT, file)),
    ...filesBelow(ROOT, 'dist')
      .filter((file) => !file.startsWith('dist/node/'))
      .map((file) => entryOf(ROOT, file)),
    { path: `dist/node/${MANIFEST}`, isExecutable: false, contents: Buffer.from(SEALED_MANIFEST) },
    ...filesBelow(bundle, '.')
      .map((file) => relative('.', file))
      .filter((file) => file !== MANIFEST)
      .map((file) => ({ ...entryOf(bundle, file), path: `dist/node/${file}` })),
    ...[...runtimePackageFiles(), ...nodeFiles()].map((file) => entryOf(ROOT, `node_modules/${file}`)),
  ]
  return gzipSync(tarArchive(entries, timeSeconds), { level })
}

/** Services of systemd, the settings that a file for them begins with, and the documentation. */
export function operatorFiles(): readonly string[] {
  return ['.env.example', ...globSync(['deploy/systemd/*.service', 'docs/*.md'], { cwd: ROOT })]
}

function nodeFiles(): readonly string[] {
  return ['package.json', 'LICENSE', 'bin/node'].map((file) => `${NODE_PACKAGE}/${file}`)
}

function entryOf(root: string, path: string): ArchiveEntry {
  const full = join(root, path)
  return { path, isExecutable: (statSync(full).mode & 0o100) !== 0, contents: readFileSync(full) }
}
