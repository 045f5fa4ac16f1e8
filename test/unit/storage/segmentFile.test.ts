import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { encodeRLP, type RLPInput } from '../../../src/primitives/rlp.ts'
import {
  createSegmentFile,
  frameOf,
  readFrame,
  readSegmentIndex,
  segmentFiles,
  verifySegmentFile,
} from '../../../src/storage/segmentFile.ts'

let directory: string
let path: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-segment-'))
  path = join(directory, 'segments', 'a.segment')
})
afterEach(() => rmSync(directory, { recursive: true }))

const pause = async (): Promise<void> => undefined
const FRAMES = [
  { count: 3, bytes: new Uint8Array(1_000).fill(1) },
  { count: 1, bytes: new Uint8Array(0) },
  { count: 2, bytes: new Uint8Array(400_000).fill(2) },
]
const CONTENT = { first: 7, dictionary: new Uint8Array(500).fill(3), frames: FRAMES }

const damaged = (what: string) =>
  expect.objectContaining({
    name: 'DatabaseError',
    code: 'corrupt',
    message: expect.stringMatching(new RegExp(`a\\.segment.* is damaged \\(${what}`)),
  })

function verify(): number {
  let bytes = 0
  for (const read of verifySegmentFile(path)) bytes += read
  return bytes
}

describe('a segment file', () => {
  it('gives the frame of each item', async () => {
    const written = await createSegmentFile(path, CONTENT, async () => undefined, pause)
    const index = readSegmentIndex(path)
    expect(index).toEqual(written)
    expect(index).toMatchObject({ first: 7, last: 12, dictionary: CONTENT.dictionary })
    const found = [6, 7, 9, 10, 11, 12, 13].map((item) => frameOf(index, item))
    expect(found.map((frame) => frame && [frame.first, readFrame(index, frame).length])).toEqual([
      undefined,
      [7, 1_000],
      [7, 1_000],
      [10, 0],
      [11, 400_000],
      [11, 400_000],
      undefined,
    ])
    expect(verify()).toBe(index.bytes - 32 - 9)
    expect(segmentFiles(directory)).toEqual([path])
  })

  it('is not there until it was checked', async () => {
    const check = async (): Promise<void> => {
      expect(existsSync(path)).toBe(false)
      throw new Error('it is wrong')
    }
    await expect(createSegmentFile(path, CONTENT, check, pause)).rejects.toThrow('it is wrong')
    const stop = async (): Promise<void> => {
      throw new Error('stopped')
    }
    await expect(createSegmentFile(path, CONTENT, async () => undefined, stop)).rejects.toThrow('stopped')
    expect(readdirSync(join(directory, 'segments'))).toEqual(['a.segment.new'])
    expect(segmentFiles(directory)).toEqual([])
    await createSegmentFile(path, CONTENT, async () => undefined, pause)
    expect(readdirSync(join(directory, 'segments'))).toEqual(['a.segment'])
  })

  it('that was changed or cut off anywhere is found', async () => {
    await createSegmentFile(path, CONTENT, async () => undefined, pause)
    const whole = new Uint8Array(readFileSync(path))
    const places = [0, 8, 9, 500, 1_009, 200_000, ...Array.from({ length: 120 }, (_, i) => whole.length - 1 - i)]
    for (const at of places) {
      const flipped = whole.slice()
      flipped[at]! ^= 0x10
      for (const changed of [flipped, whole.subarray(0, at)]) {
        writeFileSync(path, changed)
        expect(verify).toThrow(damaged(''))
      }
    }
    rmSync(path)
    expect(verify).toThrow(damaged('it is missing'))
  })
})

const MAGIC = Uint8Array.of(...new TextEncoder().encode('COINDSEG'), 1)

function forge(body: Uint8Array, footer: RLPInput): void {
  const encoded = encodeRLP(footer)
  const ends = new Uint8Array(8)
  new DataView(ends.buffer).setUint32(0, encoded.length)
  new DataView(ends.buffer).setUint32(4, crc32(encoded))
  const content = concatBytes(MAGIC, body, encoded, ends)
  writeFileSync(path, concatBytes(content, createHash('sha256').update(content).digest(), MAGIC))
}

describe('a file that somebody made, with all its checksums', () => {
  beforeEach(async () => {
    await createSegmentFile(path, CONTENT, async () => undefined, pause)
  })
  const bomb = zstdCompressSync(new Uint8Array(50 << 20))
  const body = new Uint8Array(10)
  const frame = (count: bigint, bytes: bigint) => [count, bytes, BigInt(crc32(body))]
  const none = [0n, 0n, 0n]

  it.each<[string, Uint8Array, RLPInput, string]>([
    ['frames beyond the end', body, [1n, none, [frame(1n, 2n ** 40n)]], 'its footer names what is not there'],
    ['frames that leave a gap', body, [1n, none, [frame(1n, 9n)]], 'its footer names what is not there'],
    ['no frame', new Uint8Array(0), [1n, none, []], 'its footer names what is not there'],
    ['an empty frame', body, [1n, none, [frame(0n, 10n)]], 'a frame is empty'],
    ['a number that is too large', body, [1n, none, [frame(2n ** 60n, 10n)]], 'it cannot be decoded'],
    ['a footer of another form', body, [1n, none, [[1n]]], 'it cannot be decoded'],
    ['a footer that is no list', body, 5n, 'it cannot be decoded'],
    [
      'a dictionary that is too long',
      bomb,
      [1n, [BigInt(bomb.length), 2n ** 40n, 0n], [[1n, 0n, 0n]]],
      'its dictionary cannot',
    ],
    [
      'a dictionary that unpacks to more than it says',
      bomb,
      [1n, [BigInt(bomb.length), 9n, BigInt(crc32(bomb))], [[1n, 0n, 0n]]],
      'it cannot be decoded',
    ],
  ])('with %s is refused', (_, content, footer, what) => {
    forge(content, footer)
    expect(() => readSegmentIndex(path)).toThrow(damaged(what))
  })
})
