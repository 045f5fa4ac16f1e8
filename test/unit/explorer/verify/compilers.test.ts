import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { INSTALLED_COMPILER, openCompilers } from '../../../../explorer/verify/compilers.ts'

const OTHER = '0.8.20+commit.a1b79de6'
const FILE = `soljson-v${OTHER}.js`
const TEXT = 'var Module = {}'
const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex')

let folder: string
let server: Server
let mirror: string
let served: { status: number; body: string }
const asked: string[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'compilers-'))
  served = { status: 200, body: TEXT }
  asked.length = 0
  server = createServer((request, response) => {
    asked.push(request.url!)
    response.writeHead(served.status, { location: '/elsewhere' }).end(served.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  mirror = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bin`
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
  rmSync(folder, { recursive: true })
})

function open(list: unknown, withMirror = true) {
  const path = join(folder, 'list.json')
  writeFileSync(path, typeof list === 'string' ? list : JSON.stringify(list))
  return openCompilers({ list: path, cache: join(folder, 'cache'), mirror: withMirror ? mirror : undefined })
}
const own = { [OTHER]: { file: FILE, sha256: sha256(TEXT) } }

it('has the installed compiler, whose hash and version are those in the source', async () => {
  const compilers = await openCompilers({ list: undefined, cache: folder, mirror: undefined })
  expect(compilers.versions).toEqual([INSTALLED_COMPILER.version])
  const { version } = createRequire(import.meta.url)('solc/package.json') as { version: string }
  expect(INSTALLED_COMPILER.version.split('+')[0]).toBe(version)
  expect(sha256(await compilers.load(INSTALLED_COMPILER.version))).toBe(INSTALLED_COMPILER.sha256)
})

it('takes a compiler from the mirror once, and then from the cache', async () => {
  const compilers = await open(own)
  expect(compilers.versions).toEqual([INSTALLED_COMPILER.version, OTHER])
  expect(compilers.find(`v${OTHER}`)).toBe(OTHER)
  for (let times = 0; times < 2; times++) expect(Buffer.from(await compilers.load(OTHER)).toString()).toBe(TEXT)
  expect(asked).toEqual([`/bin/${encodeURIComponent(FILE).replace('%2B', '+')}`])
  expect(readdirSync(join(folder, 'cache'))).toEqual([FILE])
})

it('runs the installed compiler when the list names it, too, but for another file of that version', async () => {
  const { version, sha256: installed } = INSTALLED_COMPILER
  const same = await open({ [version]: { file: FILE, sha256: installed } }, false)
  expect(sha256(await same.load(version))).toBe(installed)
  const other = await open({ [version]: { file: FILE, sha256: sha256(TEXT) } })
  expect(Buffer.from(await other.load(version)).toString()).toBe(TEXT)
})

it('reads the list of solc-bin', async () => {
  const build = {
    path: FILE,
    version: '0.8.20',
    longVersion: OTHER,
    sha256: `0x${sha256(TEXT)}`,
    urls: [],
    keccak256: '0x',
  }
  const compilers = await open({ builds: [build], releases: { '0.8.20': FILE }, latestRelease: '0.8.20' })
  expect(Buffer.from(await compilers.load(OTHER)).toString()).toBe(TEXT)
})

it('runs nothing with another hash: from the mirror, from the cache', async () => {
  served.body = `${TEXT} // changed`
  const compilers = await open(own)
  await expect(compilers.load(OTHER)).rejects.toThrow('differs from the list')
  served.body = TEXT
  await compilers.load(OTHER)
  writeFileSync(join(folder, 'cache', FILE), 'changed')
  await expect((await open(own, false)).load(OTHER)).rejects.toThrow('differs from the list')
  // With a mirror the file is put right.
  await compilers.load(OTHER)
  expect(readFileSync(join(folder, 'cache', FILE), 'utf8')).toBe(TEXT)
})

it('follows no redirect, and says what is missing', async () => {
  served.status = 302
  await expect((await open(own)).load(OTHER)).rejects.toThrow('cannot download')
  served.status = 404
  await expect((await open(own)).load(OTHER)).rejects.toThrow('status 404')
  await expect((await open(own, false)).load(OTHER)).rejects.toThrow('EXPLORER_COMPILER_MIRROR')
})

it('looks versions up, whatever they look like', async () => {
  const compilers = await open(own)
  for (const version of [
    '../../etc/passwd',
    `${OTHER}/../..`,
    '__proto__',
    'constructor',
    '',
    'v',
    '0.8.20',
    FILE,
    `vv${OTHER}`,
  ])
    expect(compilers.find(version)).toBeUndefined()
  expect(asked).toEqual([])
})

it.each([
  ['no JSON', 'no JSON'],
  ['{}]', 'JSON'],
  [{ [OTHER]: { file: '../soljson.js', sha256: sha256('') } }, 'file must be a name without a folder'],
  [{ [OTHER]: { file: '.hidden', sha256: sha256('') } }, 'file must be a name without a folder'],
  [{ [OTHER]: { file: FILE, sha256: 'abc' } }, 'sha256 must have 64 hex digits'],
  [{ '../x': { file: FILE, sha256: sha256('') } }, 'a version must look like'],
  [
    { builds: [{ path: '/etc/passwd', longVersion: OTHER, sha256: sha256('') }] },
    'file must be a name without a folder',
  ],
  [{ builds: 'all' }, 'builds'],
])('refuses the list %j', async (list, reason) => {
  await expect(open(list)).rejects.toThrow(reason)
})
