import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  acceptedChecksums,
  parseGivenChecksums,
  plannedChecksum,
  planPlatform,
} from '../../../../src/operator/supervise/checksums.ts'

const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string]
const url = (checksum: string): string => `https://example.org/coind.tar.gz?archive=tar.gz&checksum=${checksum}`
const infoOf = (binaries: unknown): string => JSON.stringify({ binaries })

describe("a plan's checksum", () => {
  it.each<{ name: string; info: string; found: string | undefined }>([
    {
      name: 'of this platform',
      info: infoOf({ 'linux/amd64': url(`sha256:${A}`), any: url(`sha256:${B}`) }),
      found: `sha256:${A}`,
    },
    {
      name: 'of any',
      info: infoOf({ 'linux/arm64': url(`sha256:${A}`), any: url(`sha256:${B}`) }),
      found: `sha256:${B}`,
    },
    { name: 'of what is no URL', info: infoOf({ any: `v2.tar.gz?checksum=sha256:${A}#x` }), found: `sha256:${A}` },
    { name: 'in any form', info: infoOf({ any: url('md5:aa') }), found: 'md5:aa' },
    { name: 'that is empty', info: infoOf({ any: url('') }), found: '' },
    { name: 'of another platform', info: infoOf({ 'linux/arm64': url(`sha256:${A}`) }), found: undefined },
    { name: 'without a query', info: infoOf({ any: `sha256:${A}` }), found: undefined },
    { name: 'of a number', info: infoOf({ any: 5 }), found: undefined },
    { name: 'inherited', info: JSON.stringify({ binaries: {} }), found: undefined },
    { name: 'in no object', info: '[]', found: undefined },
    { name: 'in null', info: 'null', found: undefined },
    { name: 'in null binaries', info: infoOf(null), found: undefined },
    { name: 'in a text', info: 'https://example.org/v2', found: undefined },
    { name: 'in nothing', info: '', found: undefined },
  ])('$name', ({ info, found }) => expect(plannedChecksum(info, 'linux/amd64')).toBe(found))

  it("is under Go's names of platforms", () => {
    expect([planPlatform('linux', 'x64'), planPlatform('darwin', 'arm64')]).toEqual(['linux/amd64', 'darwin/arm64'])
    expect(plannedChecksum(infoOf({}), 'constructor')).toBeUndefined()
  })
})

describe('the checksums of an archive', () => {
  let directory: string
  let checksumFile: string
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'coind-checksums-'))
    checksumFile = join(directory, 'v2.tar.gz.sha256')
    writeFileSync(checksumFile, `${C.toUpperCase()}  v2.tar.gz\n`)
  })
  afterAll(() => rmSync(directory, { recursive: true }))

  const PLAN = infoOf({ any: url(`sha256:${B}`) })
  it.each<{ name: string; given: string | undefined; info: string | undefined; found: readonly string[] }>([
    { name: "are the plan's, not those of a file beside it", given: undefined, info: PLAN, found: [B] },
    { name: 'are the given one and the plan’s', given: A, info: PLAN, found: [A, B] },
    {
      name: 'may be in capital letters',
      given: undefined,
      info: infoOf({ any: url(`sha256:${B.toUpperCase()}`) }),
      found: [B],
    },
    { name: 'are in a file where the plan has none', given: undefined, info: 'see the forum', found: [C] },
    { name: 'are in a file for a first version', given: undefined, info: undefined, found: [C] },
  ])('$name', ({ given, info, found }) => {
    const { accepted, unusable } = acceptedChecksums({ given, info, checksumFile }, 'linux/amd64')
    expect(unusable).toBeUndefined()
    expect(accepted.map(({ sha256 }) => sha256)).toEqual(found)
  })

  it('are none where nobody says one', () => {
    const absent = { given: undefined, info: '', checksumFile: join(directory, 'absent') }
    expect(acceptedChecksums(absent, 'linux/amd64')).toEqual({ accepted: [] })
  })

  it.each(['', A, 'sha256:aa', `sha256:${A}a`, `sha256:${'g'.repeat(64)}`, `md5:${'a'.repeat(32)}`, `sha512:${A}${A}`])(
    'are not in a file where the plan has %j, only given',
    (unusable) => {
      const plan = { info: infoOf({ any: url(unusable) }), checksumFile }
      expect(acceptedChecksums({ ...plan, given: undefined }, 'linux/amd64')).toEqual({ accepted: [], unusable })
      const { accepted } = acceptedChecksums({ ...plan, given: A }, 'linux/amd64')
      expect(accepted.map(({ sha256 }) => sha256)).toEqual([A])
    },
  )

  it('are given as NAME=HEX', () => {
    expect(parseGivenChecksums([`v2=${A.toUpperCase()}`, `v3=${B}`])).toEqual(
      new Map([
        ['v2', A],
        ['v3', B],
      ]),
    )
    for (const wrong of ['v2', `=${A}`, 'v2=ab', `v2=${A}=`, `v2=${A}a`]) {
      expect(() => parseGivenChecksums([wrong])).toThrow('--sha256 is')
    }
  })
})
