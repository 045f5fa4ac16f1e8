import { constants, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { encodeRLP, type RLPInput } from '../../../src/primitives/rlp.ts'
import {
  type Chunk,
  ChunkError,
  decodeChunk,
  encodeChunk,
  MAX_CHUNK_ENTRIES,
  MAX_PACKED_BYTES,
  MAX_UNPACKED_BYTES,
  packChunk,
  unpackChunk,
} from '../../../src/snapshot/chunk.ts'
import { runs } from '../../propertyRuns.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const filled = fc.uint8Array({ minLength: 1, maxLength: 70 })
const proof = fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 4 })
const value = fc.uint8Array({ minLength: 1, maxLength: 32 }).filter((content) => content[0] !== 0)
const slots = fc.array(fc.record({ slot: bytes(32), value }), { maxLength: 4 })
const range = { first: bytes(32), last: bytes(32), proof }
const account = fc.record({
  address: bytes(20),
  nonce: fc.bigInt(0n, 2n ** 64n - 1n),
  balance: fc.bigInt(0n, 2n ** 256n - 1n),
  codeHash: bytes(32),
  storageRoot: bytes(32),
  slots: fc.option(slots, { nil: undefined }),
})
const chunk: fc.Arbitrary<Chunk> = fc.oneof(
  fc.record({ kind: fc.constant('accounts' as const), ...range, accounts: fc.array(account, { maxLength: 4 }) }),
  fc.record({ kind: fc.constant('storage' as const), ...range, address: bytes(20), accountProof: proof, slots }),
  fc.record({
    kind: fc.constant('native' as const),
    ...range,
    accountProof: proof,
    entries: fc.array(fc.record({ key: fc.uint8Array({ maxLength: 40 }), value: filled }), { maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('codes' as const), codes: fc.array(filled, { maxLength: 4 }) }),
  fc.record({
    kind: fc.constant('blocks' as const),
    from: fc.nat({ max: 2 ** 48 - 1 }),
    blocks: fc.array(fc.record({ block: filled, header: filled }), { maxLength: 4 }),
  }),
)

function reasonOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(ChunkError)
    expect((error as Error).message).not.toContain('\n')
    return (error as Error).message
  }
  return 'accepted'
}

describe('the codec of chunks', () => {
  it('gives back what it was given, packed too, and has one encoding for it', () => {
    fc.assert(
      fc.property(chunk, (given) => {
        const content = encodeChunk(given)
        expect(decodeChunk(content)).toEqual(given)
        expect(unpackChunk(packChunk(content))).toEqual(Buffer.from(content))
      }),
      { numRuns: runs(100) },
    )
  })

  it('refuses any other bytes, or gives a chunk that has exactly these', () => {
    fc.assert(
      fc.property(chunk, fc.nat(), fc.nat(255), fc.constantFrom('flip', 'cut', 'insert'), (given, at, byte, how) => {
        const content = encodeChunk(given)
        const place = at % content.length
        const changed =
          how === 'flip'
            ? content.with(place, byte)
            : how === 'cut'
              ? content.slice(0, place)
              : concatBytes(content.slice(0, place), Uint8Array.of(byte), content.slice(place))
        let decoded: Chunk
        try {
          decoded = decodeChunk(changed)
        } catch (error) {
          expect(error).toBeInstanceOf(ChunkError)
          return
        }
        expect(encodeChunk(decoded)).toEqual(changed)
      }),
      { numRuns: runs(300) },
    )
  })

  it.each<[string, RLPInput, RegExp]>([
    ['bytes', Uint8Array.of(1, 2), /expected input list for chunk/],
    ['a list of nothing', [], /too few elements for chunk/],
    ['an unknown kind', [5n], /kind is not known/],
    ['a kind that is no number', [Uint8Array.of(0)], /leading zero/],
    ['fields missing', [3n], /too few elements for chunk/],
    ['fields too many', [3n, [], []], /too many elements for chunk/],
    ['a bound of 31 bytes', [0n, new Uint8Array(31), new Uint8Array(32), [], []], /too short for bound/],
    ['an empty code', [3n, [new Uint8Array(0)]], /empty part/],
    ['a native entry without a value', [2n, [], new Uint8Array(32), new Uint8Array(32), [[1n, 0n]], []], /empty part/],
    [
      'a slot of zero',
      [1n, new Uint8Array(20), [], new Uint8Array(32), new Uint8Array(32), [[new Uint8Array(32), 0n]], []],
      /empty part/,
    ],
    [
      'a slot above 256 bits',
      [1n, new Uint8Array(20), [], new Uint8Array(32), new Uint8Array(32), [[new Uint8Array(32), 1n << 256n]], []],
      /another value than 1 to/,
    ],
    [
      'too many proof nodes',
      [2n, new Array(131).fill(1n), new Uint8Array(32), new Uint8Array(32), [], []],
      /more than 130 nodes/,
    ],
    ['too many entries', [3n, new Array(MAX_CHUNK_ENTRIES + 1).fill(1n)], /more than 524288 entries/],
  ])('refuses %s', (_, content, reason) => {
    expect(reasonOf(() => decodeChunk(encodeRLP(content)))).toMatch(reason)
  })

  it('refuses bytes after the chunk, and more bytes than a chunk may have', () => {
    const content = encodeChunk({ kind: 'codes', codes: [] })
    expect(reasonOf(() => decodeChunk(concatBytes(content, Uint8Array.of(0x80))))).toContain('bytes follow')
    expect(reasonOf(() => decodeChunk(new Uint8Array(MAX_UNPACKED_BYTES + 1)))).toContain('more than 33554432 bytes')
  })
})

describe('a packed chunk', () => {
  const packed = packChunk(encodeChunk({ kind: 'codes', codes: [new Uint8Array(5000).fill(7)] }))

  it('is refused when it is cut off, changed, empty or not compressed', () => {
    for (let length = 0; length < packed.length; length++) {
      expect(reasonOf(() => unpackChunk(packed.slice(0, length)))).toContain('invalid chunk')
    }
    expect(reasonOf(() => unpackChunk(new Uint8Array(100).fill(65)))).toContain('invalid chunk')
    for (let i = 0; i < packed.length; i++) {
      const reason = reasonOf(() => decodeChunk(unpackChunk(packed.with(i, packed[i]! ^ 0x55))))
      expect(reason).toMatch(/accepted|invalid chunk|more than/)
    }
  })

  it('is refused when it is too large, would become too large or asks for too much memory', () => {
    const bomb = zstdCompressSync(new Uint8Array(MAX_UNPACKED_BYTES + 1))
    expect(bomb.length).toBeLessThan(5000)
    expect(reasonOf(() => unpackChunk(bomb))).toContain('more than 33554432 bytes')
    expect(reasonOf(() => unpackChunk(new Uint8Array(MAX_PACKED_BYTES + 1)))).toContain('more than 16777216 bytes')
    const window = { params: { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_contentSizeFlag]: 0 } }
    // The header of a frame without its size, as a stream has it: a window of 128 MiB.
    const frame = zstdCompressSync(new Uint8Array(1000), window)
    const streamed = Uint8Array.of(...frame.subarray(0, 4), 0x00, (27 - 10) << 3, ...frame.subarray(6))
    expect(reasonOf(() => unpackChunk(streamed))).toContain('too much memory')
  })
})
