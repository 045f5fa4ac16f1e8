import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tarArchive, tarHeader } from '../../../../scripts/tarArchive.ts'
import { dataPaths } from '../../../../src/datadir/dataDirectory.ts'
import { parseGivenChecksums } from '../../../../src/operator/supervise/checksums.ts'
import { PACE, superviseNode } from '../../../../src/operator/supervise/superviseNode.ts'
import {
  archiveOf,
  askFor,
  entry,
  planInfo,
  putArchive,
  sha256Of,
} from '../../../support/operator/supervise/fakeVersions.ts'

const QUICK = { ...PACE, firstDelayMs: 2, longestDelayMs: 8, lookMs: 20, tellMs: 10_000, endMs: 100, leftoverMs: 100 }
/** What a node does that runs until it is stopped. */
const RUN = 'trap "echo stopped >> $HOMEDIR/ran; exit 0" TERM\necho up >> $HOMEDIR/ran\nwhile :; do sleep 0.02; done'
const V2 = archiveOf('v2', RUN)

let homedir: string
let stop: AbortController
let lines: { readonly msg: string; readonly [field: string]: unknown }[]
/** versions that the operator says checksums of; the first one always */
let given: string[]

beforeEach(() => {
  homedir = mkdtempSync(join(tmpdir(), 'coind-supervise-'))
  stop = new AbortController()
  lines = []
  given = []
})
afterEach(() => rmSync(homedir, { recursive: true, force: true }))

/** Puts the version there that a chain begins with. */
function begin(script: string): void {
  const archive = archiveOf('genesis', script)
  putArchive(homedir, 'genesis', archive)
  given.push(`genesis=${sha256Of(archive)}`)
}

function run(flags: readonly string[] = [], pace = QUICK): Promise<void> {
  return superviseNode({
    paths: dataPaths(homedir),
    flags,
    environment: { PATH: process.env.PATH },
    checksums: parseGivenChecksums(given),
    logger: pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) }),
    signal: stop.signal,
    pace,
  })
}

const ran = (): readonly string[] => {
  const path = join(homedir, 'ran')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
}
const current = (): string => readlinkSync(join(homedir, 'versions/current'))
const versionFiles = (): readonly string[] => readdirSync(join(homedir, 'versions')).toSorted()
const logged = (text: string) => lines.filter(({ msg }) => msg.includes(text))

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Supervises until the node of the newest version is up, then stops it. */
async function runUntilUp(): Promise<void> {
  const supervision = run()
  // A failure ends the wait too.
  await Promise.race([supervision, until(() => ran().at(-1) === 'up')])
  stop.abort()
  await supervision
  stop = new AbortController()
}

describe('coind supervise', () => {
  it('runs the version of the beginning with flags, and stops it', async () => {
    begin(RUN)
    const supervision = run(['--rpc-port', '1'])
    await until(() => ran().includes('up'))
    expect(current()).toBe('genesis')
    stop.abort()
    await supervision
    expect(ran()).toEqual(['genesis start --rpc-port 1', 'up', 'stopped'])
  })

  it('goes over to the version of a plan, and stays there', async () => {
    begin(askFor('v2', planInfo(V2)))
    putArchive(homedir, 'v2', V2)
    await runUntilUp()
    expect(ran()).toEqual(['genesis start', 'v2 start', 'up', 'stopped'])
    expect(current()).toBe('v2')
    expect(versionFiles()).toEqual(['current', 'genesis', 'genesis.tar.gz', 'lock', 'v2', 'v2.tar.gz'])
    await runUntilUp()
    expect(ran().slice(4)).toEqual(['v2 start', 'up', 'stopped'])
  })

  it('goes through several versions, each from its own plan', async () => {
    const v3 = archiveOf('v3', RUN)
    const v2 = archiveOf('v2', askFor('v3', 'see the forum'))
    begin(askFor('v2', planInfo(v2)))
    putArchive(homedir, 'v2', v2)
    writeFileSync(`${putArchive(homedir, 'v3', v3)}.sha256`, `${sha256Of(v3)}  v3.tar.gz\n`)
    await runUntilUp()
    expect(ran()).toEqual(['genesis start', 'v2 start', 'v3 start', 'up', 'stopped'])
  })

  it('does not take what an earlier version asked for as a wish of this one', async () => {
    begin(RUN)
    mkdirSync(join(homedir, 'data'))
    writeFileSync(join(homedir, 'data/upgrade-info.json'), JSON.stringify({ name: 'v2', height: 7, info: '' }))
    await runUntilUp()
    expect(current()).toBe('genesis')
  })

  it('starts it again after failures, with delays that grow up to a limit, for ever', async () => {
    begin('[ $(wc -l < "$HOMEDIR/ran") -ge 7 ] && kill -9 $$\nexit 1')
    const supervision = run()
    await until(() => ran().length >= 8)
    stop.abort()
    await supervision
    const restarts = logged('is restarted')
    expect(restarts.slice(0, 5).map(({ delayMs }) => delayMs)).toEqual([2, 4, 8, 8, 8])
    expect(restarts[0]).toMatchObject({ code: 1, signal: null, level: 50 })
    expect(logged('is restarted').slice(6, 7)).toMatchObject([{ code: null, signal: 'SIGKILL' }])
  })

  it('does not start it again when a person is needed, or when somebody else has stopped it', async () => {
    begin('[ $(wc -l < "$HOMEDIR/ran") = 1 ] && exit 65\nexit 0')
    await expect(run()).rejects.toMatchObject({ name: 'NodeEnded', exitCode: 65 })
    await run()
    expect(ran()).toHaveLength(2)
  })

  it('ends a node that has asked for another version and hangs', async () => {
    begin(askFor('v2', planInfo(V2)).replace('exit 75', 'trap "" TERM\nwhile :; do sleep 0.02; done'))
    putArchive(homedir, 'v2', V2)
    await runUntilUp()
    expect(logged('has not exited').map(({ signal }) => signal)).toContain('SIGKILL')
    expect(current()).toBe('v2')
  })

  it('passes SIGHUP, SIGQUIT and SIGUSR2 on', async () => {
    begin(`trap 'echo hup >> $HOMEDIR/ran' HUP\ntrap 'echo usr2 >> $HOMEDIR/ran' USR2\n${RUN}`)
    const supervision = run()
    await until(() => ran().includes('up'))
    for (const [signal, text] of [
      ['SIGHUP', 'hup'],
      ['SIGUSR2', 'usr2'],
    ] as const) {
      process.kill(process.pid, signal)
      await until(() => ran().includes(text))
    }
    stop.abort()
    await supervision
  })
})

/** Another process that uses the data directory, until it is killed. */
async function holdHome(): Promise<ChildProcess> {
  const module = new URL('../../../../src/datadir/dataDirectory.ts', import.meta.url).href
  const script = `import { dataPaths, lockHome } from '${module}'
    await lockHome(dataPaths(${JSON.stringify(homedir)}), process.pid)
    console.log('held')
    setInterval(() => undefined, 1_000_000)`
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(holder.stdout, 'data')
  return holder
}

it('a stop ends the wait for a node that a killed supervisor has left', async () => {
  begin(RUN)
  const holder = await holdHome()
  const supervision = run([], { ...QUICK, leftoverMs: 3_600_000 })
  await until(() => existsSync(join(homedir, 'versions/current')))
  stop.abort()
  await supervision
  holder.kill()
  expect(ran()).toEqual([])
})

describe('an archive', () => {
  it('with another checksum stops it, and does so again at each start', async () => {
    begin(askFor('v2', planInfo(archiveOf('other', RUN))))
    putArchive(homedir, 'v2', V2)
    for (let start = 0; start < 2; start++) {
      const refused = expect(run()).rejects
      await refused.toMatchObject({
        name: 'VersionRefused',
        message: expect.stringMatching(/checksum of .*v2\.tar\.gz is wrong/),
      })
      expect(current()).toBe('genesis')
    }
    expect(ran()).toEqual(['genesis start', 'genesis start'])
    expect(versionFiles()).toEqual(['current', 'genesis', 'genesis.tar.gz', 'lock', 'v2.tar.gz'])
    // The operator puts the right one there, or says that this one is.
    given.push(`v2=${sha256Of(V2)}`)
    await runUntilUp()
    expect(current()).toBe('v2')
  })

  it('that is not there, or comes in pieces, is waited for', async () => {
    begin(askFor('v2', planInfo(V2)))
    const supervision = run([], { ...QUICK, lookMs: 60 })
    await until(() => logged('is stopped until').length > 0)
    const path = putArchive(homedir, 'v2', V2.subarray(0, 100))
    await new Promise((resolve) => setTimeout(resolve, 70))
    writeFileSync(path, V2)
    await Promise.race([supervision, until(() => ran().at(-1) === 'up')])
    stop.abort()
    await supervision
    expect(current()).toBe('v2')
    expect(logged('is stopped until')).toHaveLength(1)
  })

  it('that is not there ends no stop', async () => {
    begin(askFor('v2', planInfo(V2)))
    const supervision = run()
    await until(() => logged('is stopped until').length > 0)
    stop.abort()
    await supervision
    expect(current()).toBe('genesis')
  })

  it.each<{ name: string; plan: string; archive?: Buffer; problem: RegExp; beside?: string }>([
    { name: 'without a checksum', plan: '', problem: /the checksum of .*--sha256 v2=/ },
    {
      name: 'with a checksum that is none, and a file that has its own,',
      plan: JSON.stringify({ binaries: { any: 'https://example.org/coind.tar.gz?checksum=sha256:abc' } }),
      problem: /the plan's info has the checksum "sha256:abc" for .*64 hex digits.*--sha256 v2=/,
      beside: `${sha256Of(V2)}  v2.tar.gz\n`,
    },
    {
      name: 'with a link',
      plan: 'own',
      archive: gzipSync(
        tarHeader({ path: 'bin/coind', mode: 0o755, size: 0, timeSeconds: 0, kind: '2', linkTarget: '/bin/sh' }),
      ),
      problem: /cannot unpack .*: "bin\/coind" is a symbolic link/,
    },
    {
      name: 'without a program',
      plan: 'own',
      archive: gzipSync(tarArchive([entry('bin/coind', 'text')], 0)),
      problem: /no program bin\/coind/,
    },
  ])('$name is refused', async ({ plan, archive = V2, problem, beside }) => {
    begin(askFor('v2', plan === 'own' ? planInfo(archive) : plan))
    const path = putArchive(homedir, 'v2', archive)
    if (beside !== undefined) writeFileSync(`${path}.sha256`, beside)
    const files = versionFiles()
    await expect(run()).rejects.toMatchObject({ name: 'VersionRefused', message: expect.stringMatching(problem) })
    expect(current()).toBe('genesis')
    expect(versionFiles()).toEqual([...files, 'current', 'genesis', 'lock'].toSorted())
  })

  it.each(['..', '.', '', 'a/b', '../../etc', 'v 2', 'v2~', 'current', 'lock', 'v2.tar.gz', 'ü', 'a'.repeat(65)])(
    'of a version named %j is not looked for',
    async (name) => {
      begin(askFor(name, planInfo(V2)))
      await expect(run()).rejects.toThrow(/is not a valid version name/)
      expect(ran()).toEqual(['genesis start'])
    },
  )

  it('of the version that asks is not unpacked again', async () => {
    const v2 = archiveOf('v2', askFor('v2'))
    begin(askFor('v2', planInfo(v2)))
    putArchive(homedir, 'v2', v2)
    await expect(run()).rejects.toThrow('the installed version "v2" does not support the upgrade "v2"')
  })
})

describe('what a killed one has left', () => {
  beforeEach(async () => {
    begin(askFor('v2', planInfo(V2)))
    putArchive(homedir, 'v2', V2)
  })

  const versions = (name: string): string => join(homedir, 'versions', name)
  it.each<{ name: string; leave: () => void }>([
    {
      name: 'half of a version',
      leave: () => {
        mkdirSync(versions('v2~/bin'), { recursive: true })
        writeFileSync(versions('v2~/bin/coind'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
      },
    },
    { name: 'the link that it was making', leave: () => symlinkSync('v2', versions('current~')) },
  ])('$name is removed', async ({ leave }) => {
    leave()
    await runUntilUp()
    expect(ran().slice(0, 2)).toEqual(['genesis start', 'v2 start'])
    expect(versionFiles()).toEqual(['current', 'genesis', 'genesis.tar.gz', 'lock', 'v2', 'v2.tar.gz'])
  })

  it('a whole version is taken without its archive', async () => {
    await runUntilUp()
    rmSync(versions('current'))
    rmSync(versions('v2.tar.gz'))
    await runUntilUp()
    expect(ran().slice(4)).toEqual(['genesis start', 'v2 start', 'up', 'stopped'])
  })

  it('a version from another archive is unpacked anew, and one from nowhere is left', async () => {
    const former = archiveOf('former', RUN)
    given.push(`v2=${sha256Of(former)}`)
    putArchive(homedir, 'v2', former)
    await runUntilUp()
    expect(ran().at(1)).toBe('former start')
    given.pop()
    rmSync(versions('current'))
    putArchive(homedir, 'v2', V2)
    await runUntilUp()
    expect(ran().at(5)).toBe('v2 start')
    rmSync(versions('current'))
    rmSync(versions('v2/.archive-sha256'))
    await expect(run()).rejects.toThrow(/v2 exists and was not unpacked by coind supervise/)
    expect(existsSync(versions('v2/bin/coind'))).toBe(true)
  })
})
