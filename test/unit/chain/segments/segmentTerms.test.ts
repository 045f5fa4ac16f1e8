import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { indexedHeights } from '../../../../src/chain/indexes/termHeights.ts'
import { SEGMENT_BLOCKS } from '../../../../src/chain/segments/segments.ts'
import {
  checkTermsFile,
  findTerms,
  type ListedTerms,
  readTermHeights,
  readTermsFile,
  termsEntry,
  termsPath,
  writeTerms,
} from '../../../../src/chain/segments/segmentTerms.ts'
import { concatBytes, EMPTY_BYTES } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { createSegmentFile } from '../../../../src/storage/segmentFile.ts'
import { runs } from '../../../propertyRuns.ts'

const genesisHash = new Uint8Array(32).fill(3)
const pause = async (): Promise<void> => undefined

let directory: string
let database: Database
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-terms-'))
  database = await Database.open(join(directory, 'db'))
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

const term = (number: number): Uint8Array => columnKey(Column.logTerm, sha256(heightBytes(number)).subarray(0, 9))

/** Which blocks have a term, by its number. */
type Lists = ReadonlyMap<number, readonly number[]>

/** Writes and lists the terms of blocks. */
async function write(first: number, last: number, lists: Lists, maxSorted?: number): Promise<ListedTerms> {
  const byHeight = new Map<number, Uint8Array[]>()
  for (const [number, heights] of lists) {
    for (const height of heights) {
      const keys = byHeight.get(height) ?? []
      byHeight.set(height, keys)
      keys.push(concatBytes(term(number), heightBytes(height)))
    }
  }
  const keysAt = (height: number) => byHeight.get(height) ?? []
  const source = { first, last, genesisHash, keysAt, ...(maxSorted === undefined ? {} : { maxSorted }) }
  const listed = await writeTerms(database.location, source, pause)
  const batch = new WriteBatch()
  batch.put(...termsEntry(listed))
  await database.write(batch, { sync: false })
  return listed
}

/** Terms from one that every block has to those that few have. */
function usualLists(first: number, count: number): Lists {
  return new Map(
    Array.from({ length: count }, (_, number) => {
      const step = number === 0 ? 1 : 150 + 13 * number
      const heights = []
      for (let height = first + (number % 50); height < first + SEGMENT_BLOCKS; height += step) heights.push(height)
      return [number, heights]
    }),
  )
}

describe('the terms of a segment', () => {
  it('are found with all their heights, whatever they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 3 }),
        fc.nat(SEGMENT_BLOCKS - 1),
        fc.array(fc.uniqueArray(fc.nat(SEGMENT_BLOCKS - 1), { minLength: 1, maxLength: 40 }), { maxLength: 40 }),
        async (segment, skipped, offsets) => {
          const start = segment * SEGMENT_BLOCKS
          const [first, last] = [start + skipped, start + SEGMENT_BLOCKS - 1]
          const lists: Lists = new Map(
            offsets.map((list, number) => [
              number,
              list
                .map((offset) => start + offset)
                .filter((height) => height >= first)
                .sort((a, b) => a - b),
            ]),
          )
          await write(first, last, lists)
          for (const [number, heights] of lists) {
            expect(readTermHeights(database, last, term(number))).toEqual(heights)
          }
          expect(readTermHeights(database, first, term(lists.size))).toEqual([])
          expect(readTermHeights(database, 9 * SEGMENT_BLOCKS, term(0))).toEqual([])
        },
      ),
      { numRuns: runs(5) },
    )
  })

  it('fill several pages, which are the same when they are made of few at a time', async () => {
    const lists = usualLists(0, 3_500)
    const listed = await write(0, SEGMENT_BLOCKS - 1, lists)
    expect(listed.pages.length / 8).toBeGreaterThan(2)
    const bytes = readFileSync(termsPath(database.location, listed))
    for (const [number, heights] of lists) expect(readTermHeights(database, 5, term(number))).toEqual(heights)
    const absent = Array.from({ length: 500 }, (_, at) => readTermHeights(database, 5, term(lists.size + at)))
    expect(absent.flat().length).toBeLessThan(5)
    expect(readTermsFile(database.location, listed)).toEqual(listed)
    expect(findTerms(database, 77)).toEqual({ ...listed, sha256: new Uint8Array(listed.sha256) })

    const again = await write(0, SEGMENT_BLOCKS - 1, lists, 25_000)
    // A page also ends where a range of fingerprints does that was sorted at once.
    expect(again.pages.length).toBeGreaterThanOrEqual(listed.pages.length)
    for (const [number, heights] of lists) expect(readTermHeights(database, 5, term(number))).toEqual(heights)
    await write(0, SEGMENT_BLOCKS - 1, lists)
    expect(readFileSync(termsPath(database.location, listed))).toEqual(bytes)
  })

  it('are in a file of one empty page where no block has any', async () => {
    const listed = await write(8_000, 8_191, new Map())
    expect(readTermHeights(database, 8_100, term(1))).toEqual([])
    expect([...checkTermsFile(database.location, listed)].length).toBeGreaterThan(0)
  })

  it('are given in one order with those that LevelDB has, each height once', async () => {
    await write(
      0,
      SEGMENT_BLOCKS - 1,
      new Map([
        [1, [5, 8, 8_000]],
        [2, [6]],
      ]),
    )
    await write(SEGMENT_BLOCKS, 2 * SEGMENT_BLOCKS - 1, new Map([[1, [SEGMENT_BLOCKS, 9_000]]]))
    const batch = new WriteBatch()
    const stored = [3, 8, 8_001, 9_000, 20_000]
    for (const height of stored) batch.put(concatBytes(term(1), heightBytes(height)), EMPTY_BYTES)
    await database.write(batch, { sync: false })
    const all = [3, 5, 8, 8_000, 8_001, SEGMENT_BLOCKS, 9_000, 20_000]
    for (const [from, to] of [
      [0, 30_000],
      [4, 8_999],
      [8, 8],
      [8_001, 19_999],
      [10_000, 15_000],
    ] as const) {
      const found = await Array.fromAsync(indexedHeights(database, term(1), from, to))
      expect(found).toEqual(all.filter((height) => height >= from && height <= to))
    }
  })

  it('are searched in small steps, which end when the time is over', async () => {
    const over = indexedHeights(database, term(1), 0, 1_000 * SEGMENT_BLOCKS, {
      pause: () => Promise.reject(new Error('over')),
    })
    await expect(Array.fromAsync(over)).rejects.toThrow('over')
  })

  it('leave nothing that counts when the work is interrupted', async () => {
    let steps = 0
    const stop = async (): Promise<void> => {
      if (++steps > 150) throw new Error('stopped')
    }
    const keysAt = (height: number) => [concatBytes(term(height), heightBytes(height))]
    const interrupted = writeTerms(database.location, { first: 0, last: 145, genesisHash, keysAt }, stop)
    await expect(interrupted).rejects.toThrow('stopped')
    const names = readdirSync(join(database.location, 'segments'))
    expect(names.filter((name) => name.endsWith('.terms'))).toEqual([])
  })
})

describe('a file of terms that is damaged', () => {
  it('is named, or the page that is read is whole', async () => {
    const lists = usualLists(0, 500)
    const listed = await write(0, SEGMENT_BLOCKS - 1, lists)
    const path = termsPath(database.location, listed)
    const whole = new Uint8Array(readFileSync(path))
    const places = runs(12)
    let refused = 0
    for (let i = 0; i < places; i++) {
      const at = Math.floor((i * whole.length) / places)
      const flipped = whole.slice()
      flipped[at]! ^= 1 << (i % 8)
      for (const changed of [flipped, whole.slice(0, at)]) {
        writeFileSync(path, changed)
        expect(() => [...checkTermsFile(database.location, listed)]).toThrow(/\.terms .*damaged/)
        for (const number of [0, 1, 499]) {
          try {
            expect(readTermHeights(database, 0, term(number))).toEqual(lists.get(number))
          } catch (error) {
            expect(error).toMatchObject({ code: 'corrupt', message: expect.stringMatching(/\.terms .*damaged/) })
            refused++
          }
        }
      }
    }
    expect(refused).toBeGreaterThan(0)
    rmSync(path)
    expect(() => readTermHeights(database, 0, term(0))).toThrow(/\.terms is damaged \(it is missing/)
  })

  it('or whose pages are no terms although their checksums are right, is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 60 }), async (bytes) => {
        const list = concatBytes(new Uint8Array(4), Uint8Array.of(0, 0, 0, bytes.length))
        const range = { first: 0, last: SEGMENT_BLOCKS - 1 }
        const content = {
          first: 0,
          label: EMPTY_BYTES,
          dictionary: EMPTY_BYTES,
          frames: [{ count: 1, bytes }],
          end: list,
        }
        await createSegmentFile(termsPath(database.location, range), content, pause, pause)
        const batch = new WriteBatch()
        batch.put(...termsEntry(readTermsFile(database.location, range)))
        await database.write(batch, { sync: false })
        try {
          for (const height of readTermHeights(database, 0, term(1))) expect(height).toBeLessThan(SEGMENT_BLOCKS)
        } catch (error) {
          expect(error).toMatchObject({ code: 'corrupt', message: expect.stringContaining('cannot be decoded') })
        }
      }),
      { numRuns: runs(15) },
    )
  })
})
