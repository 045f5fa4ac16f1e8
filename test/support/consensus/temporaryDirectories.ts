import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const directories: string[] = []

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'coind-wal-'))
  directories.push(directory)
  return directory
}

export function copyDirectory(source: string): string {
  const directory = temporaryDirectory()
  cpSync(source, directory, { recursive: true })
  return directory
}

export function removeDirectories(): void {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
}
