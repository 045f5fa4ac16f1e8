import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runCoind } from '../e2e/runCoind.ts'
import { PROPERTY_RUNS } from '../propertyRuns.ts'
import { archiveOf, askFor, entry, planInfo, putArchive, sha256Of } from '../support/operator/supervise/fakeVersions.ts'

/** Of a version: unpacking it takes long enough to be killed in the middle of it. */
const VERSION_BYTES = 16 << 20
const FILES = 64
const LATEST_KILL_MS = 15

let homedir: string
beforeEach(() => {
  homedir = mkdtempSync(join(tmpdir(), 'coind-supervise-'))
})
afterEach(() => rmSync(homedir, { recursive: true, force: true }))

/** What is seen of an upgrade from outside, in its order. */
const MOMENTS: readonly (() => boolean)[] = [
  () => existsSync(join(homedir, 'versions/genesis~')),
  () => existsSync(join(homedir, 'versions/genesis')),
  () => existsSync(join(homedir, 'ran')),
  () => existsSync(join(homedir, 'versions/v2~')),
  () => existsSync(join(homedir, 'versions/v2')),
  () => existsSync(join(homedir, 'versions/current')) && readlinkSync(join(homedir, 'versions/current')) === 'v2',
]

it.each(Array.from({ length: PROPERTY_RUNS }, (_, round) => round))(
  'survives kills at each moment of an upgrade: a version that runs is whole, and none runs again that was left (round %i)',
  async () => {
    const files = Array.from({ length: FILES }, (_, i) => entry(`lib/${i}`, randomBytes(VERSION_BYTES / FILES)))
    // It runs only with all of its files, and ends by itself.
    const check = `cd "$(dirname "$0")/.." && [ $(cat lib/* | wc -c) = ${VERSION_BYTES} ] || { echo BROKEN >> "$HOMEDIR/ran"; exit 65; }`
    const v2 = archiveOf('v2', check, files)
    const genesis = archiveOf('genesis', askFor('v2', planInfo(v2)), files)
    putArchive(homedir, 'genesis', genesis)
    putArchive(homedir, 'v2', v2)
    const args = ['supervise', '--homedir', homedir, '--sha256', `genesis=${sha256Of(genesis)}`, '--log-level', 'error']
    for (const hasCome of MOMENTS) {
      const { code, output } = await runCoind(args, { onSpawn: (child) => killWhen(child, hasCome) })
      // The node of v2 may have ended before, and the supervisor with it.
      expect([code, output]).toEqual([code === null ? null : 0, ''])
    }
    expect(await runCoind(args)).toEqual({ code: 0, output: '' })
    const starts = readFileSync(join(homedir, 'ran'), 'utf8').trim().split('\n')
    expect(starts).not.toContain('BROKEN')
    expect(starts.slice(starts.indexOf('v2 start')).every((line) => line === 'v2 start')).toBe(true)
    expect(starts.at(-1)).toBe('v2 start')
    expect(readlinkSync(join(homedir, 'versions/current'))).toBe('v2')
    const left = readdirSync(join(homedir, 'versions')).toSorted()
    expect(left).toEqual(['current', 'genesis', 'genesis.tar.gz', 'lock', 'v2', 'v2.tar.gz'])
  },
)

/** Kills the process up to a few milliseconds after the moment has come. */
function killWhen(child: ChildProcess, hasCome: () => boolean): void {
  const timer = setInterval(() => {
    if (!hasCome()) return
    clearInterval(timer)
    setTimeout(() => child.kill('SIGKILL'), Math.random() * LATEST_KILL_MS)
  }, 1)
  child.once('exit', () => clearInterval(timer))
}

it('is one alone in a data directory, and ends with a code of its own where a version cannot be installed', async () => {
  const v2 = archiveOf('v2', 'exit 0')
  const genesis = archiveOf('genesis', askFor('v2', planInfo(v2)))
  writeFileSync(`${putArchive(homedir, 'genesis', genesis)}.sha256`, `${sha256Of(genesis)}  genesis.tar.gz\n`)
  const args = ['supervise', '--homedir', homedir, '--log-format', 'json']
  const waits = Promise.withResolvers<ChildProcess>()
  const waiting = runCoind(args, {
    onSpawn: (child) =>
      child.stdout?.on('data', (text: Buffer) => {
        if (text.includes('is stopped until the archive of the next version is present')) waits.resolve(child)
      }),
  })
  const first = await waits.promise
  const second = await runCoind(args)
  expect(second).toMatchObject({ code: 64, output: expect.stringContaining('another coind supervise is using') })
  first.kill('SIGTERM')
  expect((await waiting).code).toBe(0)

  const noPlan = archiveOf('genesis', askFor('v2'))
  rmSync(join(homedir, 'versions'), { recursive: true })
  putArchive(homedir, 'genesis', noPlan)
  putArchive(homedir, 'v2', v2)
  const refused = await runCoind([...args, '--sha256', `genesis=${sha256Of(noPlan)}`])
  expect(refused).toMatchObject({ code: 78, output: expect.stringContaining('coind: the checksum of') })
})
