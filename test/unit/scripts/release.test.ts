import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NODE_PACKAGE, operatorFiles } from '../../../scripts/releaseArchive.ts'
import { runtimePackageFiles } from '../../../scripts/runtimeFiles.js'
import { tarArchive } from '../../../scripts/tarArchive.ts'

const ROOT = join(import.meta.dirname, '../../..')
const LAUNCHER = join(ROOT, 'scripts/releasedCoind.sh')

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-release-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('bin/coind of a release', () => {
  it('runs the Node.js beside it with all arguments, by its path, by a link to it, and by one to its directory', () => {
    const release = join(directory, 'versions', 'v 2')
    const node = join(release, 'node_modules', NODE_PACKAGE, 'bin')
    for (const path of [join(release, 'bin'), node]) mkdirSync(path, { recursive: true })
    copyFileSync(LAUNCHER, join(release, 'bin/coind'))
    chmodSync(join(release, 'bin/coind'), 0o755)
    writeFileSync(join(node, 'node'), '#!/bin/sh\nshift\nprintf "%s|" "$@"\n', { mode: 0o755 })
    symlinkSync('v 2', join(directory, 'versions/current'))
    symlinkSync(join(directory, 'versions/current/bin/coind'), join(directory, 'coind'))
    for (const program of ['versions/v 2/bin/coind', 'versions/current/bin/coind', 'coind']) {
      const output = execFileSync(join(directory, program), ['start', '--moniker', 'a b'], { encoding: 'utf8' })
      expect(output, program).toBe('start|--moniker|a b|')
    }
  })
})

describe('the archive of a release', () => {
  it('has the same bytes in whatever order its files come', () => {
    const entries = ['b', 'a/c', 'a'].map((path) => ({ path, isExecutable: false, contents: Buffer.from(path) }))
    expect(tarArchive(entries, 5)).toEqual(tarArchive(entries.toReversed(), 5))
    expect(tarArchive(entries, 5)).not.toEqual(tarArchive(entries, 6))
  })

  it('has each file that a service of systemd, or its head, names below /opt/coind', () => {
    const services = globSync('deploy/systemd/*.service', { cwd: ROOT })
    const files = ['bin/coind', ...operatorFiles()]
    expect(files).toEqual(expect.arrayContaining(services))
    for (const service of services) {
      const named = readFileSync(join(ROOT, service), 'utf8').matchAll(/\/opt\/coind\/([\w./-]+)/g)
      expect(files, service).toEqual(expect.arrayContaining([...named].map(([, path]) => path)))
    }
  })

  it('has the packages that the bundle loads, with binaries for this system, and no sources of theirs', () => {
    const files = runtimePackageFiles()
    const has = (pattern: RegExp): boolean => files.some((file) => pattern.test(file))
    expect(
      [/^classic-level\/package\.json$/, /^secp256k1\//, /^solc\/soljson\.js$/].filter((file) => !has(file)),
    ).toEqual([])
    expect(has(new RegExp(`^classic-level/prebuilds/${process.platform}-${process.arch}/.*\\.node$`))).toBe(true)
    expect(files.filter((file) => /\.cc$|\.d\.ts$|\/prebuilds\/(?:win32|darwin)/.test(file))).toEqual([])
    expect(files.filter((file) => /^(?:typescript|vitest|rolldown|viem)\//.test(file))).toEqual([])
  })
})
