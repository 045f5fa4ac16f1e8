import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ZERO_HASH } from '../../../src/primitives/hash.ts'
import {
  chunkName,
  encodeManifest,
  keyAfter,
  MAX_MANIFEST_BYTES,
  type Manifest,
  type ManifestChunk,
  ManifestError,
  readManifest,
} from '../../../src/snapshot/manifest.ts'
import { runs } from '../../propertyRuns.ts'
import { keyOf, LAST_KEY, OWNERS, testChunks, testManifest } from '../../support/snapshot/testManifest.ts'

/** The manifest as JSON, with changes, as bytes. */
function changed(change: (json: Record<string, unknown> & { chunks: Record<string, unknown>[] }) => void): Uint8Array {
  const json = JSON.parse(new TextDecoder().decode(encodeManifest(testManifest())))
  change(json)
  return new TextEncoder().encode(JSON.stringify(json))
}

/** Reads a manifest whose chunks were changed. */
function withChunks(change: (chunks: ManifestChunk[]) => readonly ManifestChunk[]): Manifest {
  return readManifest(encodeManifest(testManifest({ chunks: change(testChunks()) })))
}

/** The chunk at `index` with other fields. */
function replaced(index: number, fields: Record<string, unknown>): () => Manifest {
  return () => withChunks((chunks) => chunks.with(index, { ...chunks[index]!, ...fields } as ManifestChunk))
}

describe('a manifest', () => {
  it('is read as it was written', () => {
    const manifest = testManifest()
    expect(readManifest(encodeManifest(manifest))).toEqual(manifest)
    expect(encodeManifest(readManifest(encodeManifest(manifest)))).toEqual(encodeManifest(manifest))
    const text = new TextDecoder().decode(encodeManifest(testManifest({ mirrors: [] })))
    expect(text).toMatch(/^\{"format":2,"chain_id":"coin_76287-1","evm_chain_id":76287,"genesis_hash":"0x0101/)
    expect(text).not.toContain('mirrors')
    expect(readManifest(new TextEncoder().encode(text)).mirrors).toEqual([])
    expect(chunkName(manifest.chunks[0]!)).toBe(`${'40'.repeat(32)}.zst`)
  })

  it.each<[string, () => Manifest, RegExp]>([
    ['a gap between accounts', replaced(1, { first: keyOf('8', '1') }), /accounts: expected a range from 0x8000/],
    ['accounts twice', replaced(1, { first: keyOf('7', '0') }), /accounts: expected a range from 0x8000/],
    ['no first account', () => withChunks((c) => c.slice(1)), /accounts: expected a range from 0x0000/],
    ['no last account', () => withChunks((c) => c.toSpliced(1, 1)), /accounts: the ranges end before 0x8000/],
    ['no accounts', () => withChunks((c) => c.slice(2)), /accounts: the ranges end before 0x0000/],
    ['no native entries', () => withChunks((c) => c.toSpliced(5, 1)), /native: the ranges end before 0x0000/],
    ['a range backwards', replaced(1, { last: keyOf('7', '0') }), /ends before/],
    [
      'half of a storage',
      () => withChunks((c) => c.toSpliced(3, 1)),
      /storage of 0x[0-9a-f]{40}: the ranges end before/,
    ],
    ['a storage twice', replaced(4, { address: OWNERS[0] }), /storage of .*: a range follows the last key/],
    [
      'storages out of order',
      () => withChunks((c) => [...c.slice(0, 2), c[4]!, ...c.slice(2, 4), ...c.slice(5)]),
      /it comes before storage/,
    ],
    [
      'kinds out of order',
      () => withChunks((c) => [...c.slice(1), c[0]!]),
      /accounts from 0x00000000… on: it comes before blocks/,
    ],
    [
      'a file twice',
      replaced(7, { sha256: testChunks()[6]!.sha256 }),
      /chunks\.7: contract code: the same file is listed twice/,
    ],
    ['a missing block', replaced(9, { from: 4502 }), /blocks 4502 to 5000 are not those from 4501 on/],
    ['blocks from elsewhere', replaced(8, { from: 3976 }), /blocks 3976 to 4500 are not those from 3977 on/],
    ['blocks above its own', replaced(9, { to: 5001 }), /blocks 4501 to 5001 are not/],
    ['no newest blocks', () => withChunks((c) => c.slice(0, 9)), /the blocks from 4501 on are missing/],
    ['no blocks', () => withChunks((c) => c.slice(0, 8)), /the blocks from 3977 on are missing/],
    ['no chunks', () => withChunks(() => []), /chunks: /],
    ['a chunk without bytes', replaced(0, { bytes: 0 }), /chunks\.0\.bytes/],
    ['a large file', replaced(0, { bytes: (16 << 20) + 1 }), /chunks\.0\.bytes/],
    ['a large chunk', replaced(0, { unpackedBytes: (32 << 20) + 1 }), /chunks\.0\.unpacked_bytes/],
    ['an address of 19 bytes', replaced(4, { address: new Uint8Array(19) }), /chunks\.4\.address: expected 0x and 40/],
    [
      'another header',
      () => readManifest(encodeManifest(testManifest({ ethereumHash: ZERO_HASH }))),
      /ethereum_hash is not/,
    ],
    ['another root', () => readManifest(encodeManifest(testManifest({ stateRoot: ZERO_HASH }))), /state_root is not/],
    [
      'another height',
      () => readManifest(encodeManifest(testManifest({ height: 4999 }))),
      /is of block 5000, the manifest of 4999/,
    ],
  ])('is refused with %s', (_, read, message) => {
    expect(read).toThrow(ManifestError)
    expect(read).toThrow(message)
  })

  it.each<[string, Parameters<typeof changed>[0], RegExp]>([
    [
      'an older format',
      (json) => (json['format'] = 1),
      /^the manifest of the snapshot cannot be used: it has format 1: an older version of coind wrote it, whose rules differ\. Name /,
    ],
    [
      'a newer format',
      (json) => (json['format'] = 3),
      /it has format 3: a newer version of coind wrote it\. Use that version$/,
    ],
    ['a format in a string', (json) => (json['format'] = '2'), /format: /],
    [
      'hex in capitals',
      (json) => (json['genesis_hash'] = `0x${'AB'.repeat(32)}`),
      /genesis_hash: expected 0x and 64 lower-case/,
    ],
    ['hex without 0x', (json) => (json['state_root'] = 'ab'.repeat(32)), /state_root: expected 0x/],
    [
      'a name with a path',
      (json) => (json.chunks[0]!['sha256'] = `../${'a'.repeat(63)}`),
      /chunks\.0\.sha256: expected/,
    ],
    ['an unknown field', (json) => (json['path'] = '/etc'), /path/],
    ['an unknown field of a chunk', (json) => (json.chunks[6]!['first'] = '0x'), /chunks\.6: .*first/],
    ['an unknown kind', (json) => (json.chunks[6]!['kind'] = 'receipts'), /chunks\.6\.kind/],
    ['a mirror of another protocol', (json) => (json['mirrors'] = ['file:///etc/passwd']), /mirrors\.0/],
    ['two light blocks', (json) => (json['light_blocks'] = ['AA==', 'AA==']), /light_blocks/],
    ['a height in a string', (json) => (json['height'] = '5000'), /height/],
    ['a height that is not whole', (json) => (json['height'] = 5000.5), /height/],
    ['a field with a long name', (json) => (json['x'.repeat(1e6)] = 1), /^.{200,400}$/],
    ['a field that clears the screen', (json) => (json['\u001b[2J\n'] = 1), /^[\x20-\x7e]+$/],
    [
      'a chain of several lines',
      (json) => (json['chain_id'] = 'coin\n\u001b[2J'),
      /chain_id: expected a line of text$/,
    ],
  ])('is refused with %s', (_, change, message) => {
    expect(() => readManifest(changed(change))).toThrow(message)
  })

  it('is refused in one line where it is no JSON, cut off, or huge', () => {
    const bytes = encodeManifest(testManifest())
    fc.assert(
      fc.property(fc.integer({ min: 0, max: bytes.length - 2 }), (length) => {
        expect(() => readManifest(bytes.subarray(0, length))).toThrow(
          /^the manifest of the snapshot cannot be used: .+$/,
        )
      }),
      { numRuns: runs(50) },
    )
    for (const text of ['null', '7', '[]', '"x"', '{}', '{"chunks":{}}', '{"chunks":[[],[]]}']) {
      expect(() => readManifest(new TextEncoder().encode(text))).toThrow(ManifestError)
    }
    expect(() => readManifest(Uint8Array.of(0x22, 0xff, 0x22))).toThrow('not UTF-8')
    expect(() => readManifest(new Uint8Array(MAX_MANIFEST_BYTES + 1))).toThrow('over 16777216')
    const lists = new TextEncoder().encode(`{"chunks":[${'0,'.repeat(1_000_000)}0]}`)
    expect(() => readManifest(lists)).toThrow('more than 65536 elements')
  })

  it('knows the key after a key', () => {
    expect(keyAfter(ZERO_HASH)).toEqual(new Uint8Array(32).with(31, 1))
    expect(keyAfter(keyOf('7', 'f'))).toEqual(keyOf('8', '0'))
    expect(keyAfter(LAST_KEY.with(31, 0xfe))).toEqual(LAST_KEY)
  })
})
