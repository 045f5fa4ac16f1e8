import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type ArchiveEntry, tarArchive } from '../../../../scripts/tarArchive.ts'

export const entry = (path: string, contents: string | Uint8Array, isExecutable = false): ArchiveEntry => ({
  path,
  isExecutable,
  contents: typeof contents === 'string' ? Buffer.from(contents) : contents,
})

/** A program that notes its name and flags in HOMEDIR/ran, and does the rest of a shell script. */
const program = (name: string, script: string): string => `#!/bin/sh\necho ${name} "$@" >> "$HOMEDIR/ran"\n${script}\n`

/** What a node does that needs another version. */
export const askFor = (name: string, info = '', height = 7): string => {
  const text = JSON.stringify({ name, height, info })
  return `mkdir -p "$HOMEDIR/data"\ncat > "$HOMEDIR/data/upgrade-info.json" <<'END'\n${text}\nEND\nexit 75`
}

/** The archive of a version whose program does this, and more files. */
export function archiveOf(name: string, script: string, more: readonly ArchiveEntry[] = []): Buffer {
  const entries = [entry('bin/coind', program(name, script), true), entry('LICENSE', 'as you like'), ...more]
  return gzipSync(tarArchive(entries, 0), { level: 1 })
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The info of a plan whose archive this is, on every platform. */
export const planInfo = (archive: Uint8Array, platform = 'any'): string =>
  JSON.stringify({ binaries: { [platform]: `https://example.org/coind.tar.gz?checksum=sha256:${sha256Of(archive)}` } })

/** Puts an archive below HOMEDIR/versions, as an operator does. */
export function putArchive(homedir: string, name: string, archive: Uint8Array): string {
  const path = join(homedir, 'versions', `${name}.tar.gz`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, archive)
  return path
}
