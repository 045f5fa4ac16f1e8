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
  readSegmentPieces,
  SEGMENT_MAGIC,
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
const CONTENT = {
  first: 7,
  label: Uint8Array.of(1, 2, 3),
  dictionary: new Uint8Array(500).fill(3),
  frames: FRAMES,
  end: Uint8Array.of(4, 5),
}

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
    expect(index).toMatchObject({ first: 7, last: 12, label: CONTENT.label, dictionary: CONTENT.dictionary })
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
    const places = [
      0,
      8,
      9,
      13,
      17,
      21,
      40,
      500,
      1_009,
      1_100,
      200_000,
      ...Array.from({ length: 120 }, (_, i) => whole.length - 1 - i),
    ]
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

/** A part with its checksum. */
function piece(number: number, content: Uint8Array): Uint8Array {
  const head = new Uint8Array(12)
  const view = new DataView(head.buffer)
  view.setUint32(0, number)
  view.setUint32(4, content.length)
  view.setUint32(8, crc32(content, crc32(head.subarray(0, 8))))
  return concatBytes(head, content)
}

function forge(pieces: readonly Uint8Array[], footer: RLPInput): void {
  const encoded = encodeRLP(footer)
  const ends = new Uint8Array(8)
  new DataView(ends.buffer).setUint32(0, encoded.length)
  new DataView(ends.buffer).setUint32(4, crc32(encoded))
  const content = concatBytes(SEGMENT_MAGIC, ...pieces, encoded, ends)
  writeFileSync(path, concatBytes(content, createHash('sha256').update(content).digest(), SEGMENT_MAGIC))
}

/** Reads a file as an import does. */
async function stream(bytes: Uint8Array): Promise<readonly unknown[]> {
  let offset = SEGMENT_MAGIC.length
  const read = async (length: number): Promise<Uint8Array> => {
    if (offset + length > bytes.length) throw new Error('it is cut off')
    offset += length
    return bytes.subarray(offset - length, offset)
  }
  const pieces: unknown[] = []
  for await (const found of readSegmentPieces(read, (what) => new Error(`it is wrong: ${what}`))) pieces.push(found)
  return pieces
}

it('a file is read from its start as far as it is whole', async () => {
  await createSegmentFile(path, CONTENT, async () => undefined, pause)
  const whole = new Uint8Array(readFileSync(path))
  const { first, label, dictionary, end } = CONTENT
  expect(await stream(whole)).toEqual([
    { kind: 'start', first, label, dictionary },
    ...FRAMES.map((frame) => ({ kind: 'frame', ...frame })),
    { kind: 'end', content: end },
  ])
  await expect(stream(whole.subarray(0, 1_000))).rejects.toThrow('it is cut off')
  for (const at of [9, 13, 17, 22, 70, 1_100, 200_000]) {
    const flipped = whole.slice()
    flipped[at]! ^= 1
    await expect(stream(flipped)).rejects.toThrow(/it is (wrong|cut off)/)
  }
})

describe('a file that somebody made, with all its checksums', () => {
  beforeEach(async () => {
    await createSegmentFile(path, CONTENT, async () => undefined, pause)
  })
  const bomb = zstdCompressSync(new Uint8Array(50 << 20))
  const none = new Uint8Array(0)
  const start = piece(0, encodeRLP([1n, none]))
  const dictionary = piece(0, none)
  const frame = piece(1, new Uint8Array(10))
  const end = piece(0, none)
  const usual = [start, dictionary, frame, end]

  it.each<[string, readonly Uint8Array[], RLPInput, string]>([
    ['frames beyond the end', usual, [[1n, 2n ** 40n]], 'its footer names what is not there'],
    ['frames that are too short', usual, [[1n, 9n]], 'a part'],
    [
      'frames that leave a gap',
      [start, dictionary, frame, frame, end],
      [[1n, 10n]],
      'its footer names what is not there',
    ],
    ['no end', [start, dictionary, frame], [[1n, 10n]], 'a part is cut off'],
    ['no start', [], [[1n, 10n]], 'a part is cut off'],
    ['no frame', [start, dictionary, end], [], 'its footer names what is not there'],
    ['an empty frame', usual, [[0n, 10n]], 'a frame is empty'],
    ['a number that is too large', usual, [[2n ** 60n, 10n]], 'it cannot be decoded'],
    ['a footer of another form', usual, [[1n]], 'it cannot be decoded'],
    ['a footer that is no list', usual, 5n, 'it cannot be decoded'],
    ['a start of another form', [piece(0, encodeRLP([1n, [1n]])), dictionary, frame, end], [[1n, 10n]], 'it cannot be'],
    ['a dictionary that is too long', [start, piece(2 ** 31, bomb), frame, end], [[1n, 10n]], 'it cannot be decoded'],
    [
      'a dictionary that is longer than it says',
      [start, piece(9, bomb), frame, end],
      [[1n, 10n]],
      'it cannot be decoded',
    ],
  ])('with %s is refused', async (_, pieces, footer, what) => {
    forge(pieces, footer)
    expect(() => readSegmentIndex(path)).toThrow(damaged(what))
  })

  it('names a frame as it is, or its frame is refused', () => {
    forge(usual, [[2n, 10n]])
    const index = readSegmentIndex(path)
    expect(() => readFrame(index, frameOf(index, 1)!)).toThrow(damaged('it is not the frame of its footer'))
  })
})
