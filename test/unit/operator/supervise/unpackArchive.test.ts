import { execFileSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tarArchive, tarHeader } from '../../../../scripts/tarArchive.ts'
import { BadArchive, unpackArchive } from '../../../../src/operator/supervise/unpackArchive.ts'
import { entry, sha256Of } from '../../../support/operator/supervise/fakeVersions.ts'

let directory: string
let target: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-unpack-'))
  target = join(directory, 'target')
  mkdirSync(target)
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

async function unpack(archive: Uint8Array): Promise<string> {
  const path = join(directory, 'archive')
  writeFileSync(path, archive)
  const file = openSync(path, 'r')
  try {
    return await unpackArchive(file, target)
  } finally {
    closeSync(file)
  }
}

type Header = Partial<Parameters<typeof tarHeader>[0]>
const header = (fields: Header): Buffer => tarHeader({ path: 'a', mode: 0o644, size: 0, timeSeconds: 0, ...fields })
const END = Buffer.alloc(1024)
const withHeaders = (...headers: readonly Header[]): Buffer => gzipSync(Buffer.concat([...headers.map(header), END]))

describe('an archive', () => {
  it('is unpacked with its contents and what may be executed, and gives its checksum', async () => {
    const long = `${'d'.repeat(99)}/${'f'.repeat(90)}`
    const archive = gzipSync(
      tarArchive([entry('bin/coind', 'run', true), entry(long, new Uint8Array(1025)), entry('empty', '')], 5),
    )
    expect(await unpack(archive)).toBe(sha256Of(archive))
    expect(readFileSync(join(target, 'bin/coind'), 'utf8')).toBe('run')
    expect(readFileSync(join(target, long))).toHaveLength(1025)
    expect(['bin/coind', 'empty'].map((name) => statSync(join(target, name)).mode & 0o100)).toEqual([0o100, 0])
  })

  it('of Debian’s tar is unpacked too, and Debian’s tar unpacks ours', async () => {
    const source = join(directory, 'source')
    mkdirSync(join(source, 'bin'), { recursive: true })
    writeFileSync(join(source, 'bin/coind'), 'run', { mode: 0o755 })
    const theirs = join(directory, 'theirs.tar.gz')
    execFileSync('tar', ['czf', theirs, '-C', source, '.'])
    await unpack(readFileSync(theirs))
    expect(readFileSync(join(target, 'bin/coind'), 'utf8')).toBe('run')
    const ours = join(directory, 'ours.tar')
    writeFileSync(ours, tarArchive([entry(`${'x'.repeat(120)}/${'y'.repeat(60)}`, 'text')], 1_700_000_000))
    execFileSync('tar', ['xf', ours, '-C', source])
    expect(readFileSync(join(source, 'x'.repeat(120), 'y'.repeat(60)), 'utf8')).toBe('text')
  })

  it.each<{ name: string; archive: Buffer; problem: RegExp }>([
    {
      name: 'a symbolic link',
      archive: withHeaders({ kind: '2', linkTarget: '/etc' }),
      problem: /"a" is a symbolic link/,
    },
    { name: 'a hard link', archive: withHeaders({ kind: '1', linkTarget: 'b' }), problem: /"a" is a hard link/ },
    { name: 'a device', archive: withHeaders({ kind: '3' }), problem: /a character device/ },
    { name: 'a block device', archive: withHeaders({ kind: '4' }), problem: /a block device/ },
    { name: 'a FIFO', archive: withHeaders({ kind: '6' }), problem: /a FIFO/ },
    { name: "pax's header", archive: withHeaders({ kind: 'x' }), problem: /neither a file nor a directory/ },
    { name: 'an absolute path', archive: withHeaders({ path: '/a' }), problem: /"\/a" is an absolute path/ },
    { name: '..', archive: withHeaders({ path: '../a' }), problem: /"\.\.\/a" is a path with "\.\."/ },
    { name: '.. inside', archive: withHeaders({ path: 'b/../../a' }), problem: /a path with "\.\."/ },
    {
      name: '.. at the end of a directory',
      archive: withHeaders({ path: 'b/../', kind: '5' }),
      problem: /a path with/,
    },
    { name: 'a directory upwards', archive: withHeaders({ path: '..', kind: '5' }), problem: /a path with/ },
    { name: 'an empty name', archive: withHeaders({ path: 'b//a' }), problem: /an empty name/ },
    { name: 'no name', archive: withHeaders({ path: '' }), problem: /an empty name/ },
    { name: 'a backslash', archive: withHeaders({ path: '..\\a' }), problem: /characters/ },
    { name: 'a control character', archive: withHeaders({ path: 'a\x1b' }), problem: /characters/ },
    { name: 'setuid', archive: withHeaders({ mode: 0o4755 }), problem: /setuid, setgid or sticky bit/ },
    { name: 'setgid', archive: withHeaders({ mode: 0o2755 }), problem: /setuid, setgid or sticky bit/ },
    { name: 'a sticky directory', archive: withHeaders({ mode: 0o1755, kind: '5' }), problem: /sticky/ },
    { name: 'a directory with contents', archive: withHeaders({ kind: '5', size: 512 }), problem: /has contents/ },
    { name: 'a file twice', archive: withHeaders({}, {}), problem: /twice/ },
    { name: 'a file below a file', archive: withHeaders({}, { path: 'a/b' }), problem: /twice/ },
    { name: 'more than there may be', archive: withHeaders({ size: 2 ** 33 - 1 }), problem: /larger than the limit/ },
    { name: 'less than it says', archive: gzipSync(header({ size: 600 })), problem: /its end is missing/ },
    { name: 'no end', archive: gzipSync(header({})), problem: /its end is missing/ },
    {
      name: 'more after its end',
      archive: gzipSync(Buffer.concat([header({}), END, header({})])),
      problem: /after its end/,
    },
    { name: 'no tar in it', archive: gzipSync('x'.repeat(512)), problem: /not a tar archive/ },
    { name: 'no gzip', archive: Buffer.from('x'.repeat(600)), problem: /not a complete gzip/ },
    { name: 'half of a gzip', archive: withHeaders({}).subarray(0, 30), problem: /not a complete gzip/ },
  ])('with $name is refused', async ({ archive, problem }) => {
    const refused = expect(unpack(archive)).rejects
    await refused.toThrow(problem)
    await expect(unpack(archive).catch((error: unknown) => (error as Error).name)).resolves.toMatch(/BadArchive/)
    expect(readdirSync(directory).toSorted()).toEqual(['archive', 'target'])
  })

  it('with any bit changed is the same or refused, and nothing else is thrown', async () => {
    const tar = tarArchive([entry('bin/coind', 'run', true), entry('b', 'text')], 5)
    await fc.assert(
      fc.asyncProperty(fc.nat(tar.length - 1), fc.nat(7), async (at, bit) => {
        const changed = Buffer.from(tar)
        changed[at]! ^= 1 << bit
        rmSync(target, { recursive: true })
        mkdirSync(target)
        await unpack(gzipSync(changed, { level: 1 })).catch((error: unknown) => {
          if (!(error instanceof BadArchive)) throw error
        })
      }),
      { numRuns: 200 },
    )
    expect(readdirSync(directory).toSorted()).toEqual(['archive', 'target'])
  })
})
