import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { compressBytes } from '../../../../src/rpc/transport/compressBytes.ts'
import { chooseEncoding, type Encoding, ONE_PIECE_BYTES } from '../../../../src/rpc/transport/compression.ts'

describe('the form of an answer', () => {
  test.each([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['deflate, compress', undefined],
    ['gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['br', 'br'],
    ['zstd', 'zstd'],
    // Browsers, curl --compressed, Go.
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=0.5, br;q=0.8', 'br'],
    ['gzip;q=0.001', 'gzip'],
    ['gzip; q=1.000 , zstd ; q=0.999', 'gzip'],
    ['gzip;q=0', undefined],
    ['gzip;q=0.000, br', 'br'],
    // The client prefers the answer as it is.
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['identity;q=0.1, gzip;q=0.5', 'gzip'],
    ['identity;q=0', undefined],
    ['*', 'zstd'],
    ['*;q=0', undefined],
    ['*;q=0.5, gzip', 'gzip'],
    ['zstd;q=0, *', 'br'],
    ['gzip, *;q=0', 'gzip'],
    ['identity;q=0, *;q=0', undefined],
    // What is no weight is no wish.
    ['gzip;q=2', undefined],
    ['gzip;q=-1, br', 'br'],
    ['gzip;level=9', undefined],
    ['gzip;q=', undefined],
    ['gzipped', undefined],
    [',,gzip,,', 'gzip'],
    [`${'a'.repeat(1_000)}, gzip`, 'gzip'],
    [`${'a'.repeat(1_025)}, gzip`, undefined],
  ] as const)('for %s is %s', (header, encoding) => {
    expect(chooseEncoding(header, 5_000)).toBe(encoding)
  })

  test('of a long one is gzip, which is made piece by piece, or none', () => {
    const { zstd, br } = ONE_PIECE_BYTES
    expect(chooseEncoding('gzip, br, zstd', zstd)).toBe('zstd')
    expect(chooseEncoding('gzip, br, zstd', zstd + 1)).toBe('gzip')
    expect(chooseEncoding('gzip;q=0.1, br', br + 1)).toBe('gzip')
    expect(chooseEncoding('zstd', zstd + 1)).toBeUndefined()
    expect(chooseEncoding('br', br + 1)).toBeUndefined()
  })
})

describe('compressed bytes', () => {
  const DECODERS: Readonly<Record<Encoding, (bytes: Uint8Array) => Buffer>> = {
    gzip: gunzipSync,
    br: brotliDecompressSync,
    zstd: zstdDecompressSync,
  }
  /** Lines of hex, of which each is new, as an answer's. */
  const answerOf = (length: number): Buffer => {
    let state = 1
    const bytes = Buffer.alloc(length)
    for (let at = 0; at < length; at++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      bytes[at] = '0123456789abcdef'.charCodeAt(state >>> 28)
    }
    return bytes
  }

  test.each(['gzip', 'br', 'zstd'] as const)(
    '%s: decode to what they were, in little more than half',
    async (encoding) => {
      for (const length of [1, 5_000, 524_288]) {
        const bytes = answerOf(length)
        const compressed = await compressBytes(encoding, bytes, async () => undefined)
        expect(DECODERS[encoding](compressed).equals(bytes)).toBe(true)
        if (length > 1_000) expect(compressed.length).toBeLessThan(length * 0.66)
      }
    },
  )

  test.each([524_289, 1_048_576, 1_400_001])('gzip of %i bytes is one stream, made in turns', async (length) => {
    const bytes = answerOf(length)
    let turns = 0
    const compressed = await compressBytes('gzip', bytes, async () => void turns++)
    expect(turns).toBe(Math.ceil(length / 524_288) - 1)
    expect(gunzipSync(compressed).equals(bytes)).toBe(true)
    // One member: its length is at the end.
    expect(Buffer.from(compressed).readUInt32LE(compressed.length - 4)).toBe(length)
    // A browser's decoder, which is another one.
    const stream = new Blob([compressed as Uint8Array<ArrayBuffer>])
      .stream()
      .pipeThrough(new DecompressionStream('gzip'))
    expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(bytes)).toBe(true)
    expect(compressed.length).toBeLessThan(length * 0.66)
  })

  test('ends when the caller does not wait any more', async () => {
    let turns = 0
    const turn = async (): Promise<void> => {
      if (++turns === 2) throw new Error('left')
    }
    await expect(compressBytes('gzip', answerOf(2_000_000), turn)).rejects.toThrow('left')
    expect(turns).toBe(2)
  })
})
