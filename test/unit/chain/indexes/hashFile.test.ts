import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  checkHashFile,
  FileHashes,
  type HashFile,
  hashFilePath,
  hashPrefix,
  heightsInFile,
  MergedHashes,
  readHashFile,
  SortedHashes,
  writeHashFile,
} from '../../../../src/chain/indexes/hashFile.ts'
import { findHashHeights, nextMerge, writeHashFiles } from '../../../../src/chain/indexes/hashFileList.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { heightBytes } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { runs } from '../../../propertyRuns.ts'

const pause = async (): Promise<void> => undefined

let location: string
beforeEach(() => {
  location = mkdtempSync(join(tmpdir(), 'coind-hashes-'))
})
afterEach(() => rmSync(location, { recursive: true }))

interface Item {
  readonly prefix: number
  readonly height: number
}

async function write(first: number, last: number, items: readonly Item[]): Promise<HashFile> {
  const sortable = items.map(({ prefix, height }) => (BigInt(prefix) << 16n) | BigInt(height - first))
  const hashes = new SortedHashes(BigUint64Array.from(sortable), first)
  const source = { of: 'blocks', first, last, isMerged: false, count: items.length, hashes } as const
  return await writeHashFile(location, source, pause)
}

async function merge(a: HashFile, b: HashFile): Promise<HashFile> {
  const [from, to] = [a, b].map((file) => new FileHashes(hashFilePath(location, file), file))
  const source = { of: a.of, first: a.first, last: b.last, isMerged: true, count: a.count + b.count }
  return await writeHashFile(location, { ...source, hashes: new MergedHashes(from!, to!) }, pause)
}

/** Spread as hashes are. */
function usual(first: number, blocks: number, each: number): readonly Item[] {
  return Array.from({ length: blocks * each }, (_, index) => {
    const number = first * each + index
    // No two are the same, since odd numbers have no divisor in common with the ranges.
    return {
      prefix: ((number * 40_503) % 2 ** 16) * 2 ** 32 + ((number * 9_973) % 2 ** 32),
      height: first + Math.floor(index / each),
    }
  })
}

const heightsOf = (items: readonly Item[], prefix: number): readonly number[] =>
  items
    .filter((item) => item.prefix === prefix)
    .map(({ height }) => height)
    .sort((a, b) => a - b)

describe('a file of hashes', () => {
  const anyItems = (first: number, last: number) =>
    fc.array(
      fc.record({
        prefix: fc.oneof(fc.nat(5), fc.nat(2 ** 48 - 1), fc.constantFrom(0, 2 ** 48 - 1, 2 ** 47, 2 ** 47 - 1)),
        height: fc.integer({ min: first, max: last }),
      }),
      { maxLength: 60 },
    )

  it('gives the heights of each, whatever they are, also when it was made of two', async () => {
    await fc.assert(
      fc.asyncProperty(anyItems(1_000, 9_191), anyItems(9_192, 9_192), async (older, newer) => {
        const merged = await merge(await write(1_000, 9_191, older), await write(9_192, 9_192, newer))
        const items = [...older, ...newer]
        for (const { prefix } of items)
          expect(heightsInFile(location, merged, prefix)).toEqual(heightsOf(items, prefix))
        expect(heightsInFile(location, merged, 77)).toEqual([])
        expect(readHashFile(hashFilePath(location, merged))).toEqual(merged)
      }),
      { numRuns: runs(10) },
    )
  })

  it('takes some seven bytes a hash, has the same bytes however it was made, and few of one page are read', async () => {
    const items = usual(0, 2_700, 25)
    const [a, b, c] = [
      await write(0, 999, items.slice(0, 25_000)),
      await write(1_000, 1_999, items.slice(25_000, 50_000)),
      await write(2_000, 2_699, items.slice(50_000)),
    ]
    const merged = await merge(await merge(a, b), c)
    const bytes = readFileSync(hashFilePath(location, merged))
    const other = await merge(a, await merge(b, c))
    expect([other, bytes.equals(readFileSync(hashFilePath(location, other)))]).toEqual([merged, true])
    expect(merged.bytes / items.length).toBeLessThan(7.2)
    // 512 pages, which are two frames.
    expect(bytes.readUIntBE(merged.directory + 511 * 10, 6)).toBeGreaterThan(merged.bytes / 2)
    for (let i = 0; i < items.length; i += 750) {
      expect(heightsInFile(location, merged, items[i]!.prefix)).toEqual([items[i]!.height])
    }
    const absent = usual(5_000, 5, 25).flatMap(({ prefix }) => heightsInFile(location, merged, prefix))
    expect(absent).toEqual([])
    expect(Array.from(checkHashFile(location, merged)).length).toBeGreaterThan(1)
  })

  it('is named when it is damaged anywhere, or gives what it had', async () => {
    const items = usual(0, 100, 15)
    const file = await write(0, 99, items)
    const path = hashFilePath(location, file)
    const whole = readFileSync(path)
    const damaged = expect.objectContaining({ code: 'corrupt', message: expect.stringContaining(path) })
    let refused = 0
    for (let i = 0; i < 60; i++) {
      const at = Math.floor((i * whole.length) / 60)
      const flipped = Uint8Array.from(whole)
      flipped[at]! ^= 1 << (i % 8)
      for (const changed of [flipped, whole.subarray(0, at)]) {
        writeFileSync(path, changed)
        expect(() => Array.from(checkHashFile(location, file))).toThrow(damaged)
        for (const { prefix, height } of [items[0]!, items[i]!]) {
          try {
            expect(heightsInFile(location, file, prefix)).toEqual([height])
          } catch (error) {
            expect(error).toEqual(damaged)
            refused++
          }
        }
      }
    }
    expect(refused).toBeGreaterThan(60)
    const other = await write(
      0,
      99,
      usual(300, 100, 15).map(({ prefix, height }) => ({ prefix, height: height - 300 })),
    )
    expect(() => Array.from(checkHashFile(location, { ...file, sha256: other.sha256 }))).not.toThrow()
    expect(() => Array.from(checkHashFile(location, file))).toThrow(/it is not the file that the database lists/)
  })

  it('is not completed when it does not have as many as it should, or not in their order', async () => {
    const source = { of: 'blocks', first: 0, last: 9, isMerged: false, count: 3 } as const
    const hashes = new SortedHashes(BigUint64Array.of(5n << 16n, 9n << 40n), 0)
    await expect(writeHashFile(location, { ...source, hashes }, pause)).rejects.toThrow(/has 2 hashes instead of 3/)
  })
})

describe('the list of files', () => {
  const file = (first: number, last: number): HashFile => ({
    ...{ of: 'transactions', first, last, isMerged: false, bytes: 1, sha256: sha256(new Uint8Array()) },
    ...{ count: last - first + 1, pages: 0, directory: 0 },
  })
  /** Merges as long as there is something to merge. @returns the lengths of files, and how many blocks were written again */
  function settle(files: readonly HashFile[]) {
    let written = 0
    let rest = files
    for (let pair = nextMerge(rest); pair !== undefined; pair = nextMerge(rest)) {
      const [a, b] = pair
      written += b.last - a.first + 1
      rest = [...rest.filter((other) => other !== a && other !== b), file(a.first, b.last)]
      rest = rest.toSorted((x, y) => x.first - y.first)
    }
    return { files: rest, written }
  }

  it('stays short while blocks are added above and below, in parts of any lengths, and each is written again a few times', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ isAbove: fc.boolean(), length: fc.integer({ min: 1, max: 9 }) }), {
          minLength: 100,
          maxLength: 300,
        }),
        fc.boolean(),
        (parts, isGrowing) => {
          let files = [file(1_000_000, 1_000_000)]
          let written = 0
          for (const { isAbove, length } of parts) {
            const added =
              isAbove || isGrowing
                ? file(files.at(-1)!.last + 1, files.at(-1)!.last + length)
                : file(files[0]!.first - length, files[0]!.first - 1)
            const settled = settle([...files, added].toSorted((x, y) => x.first - y.first))
            files = [...settled.files]
            written += settled.written
          }
          const blocks = files.at(-1)!.last - files[0]!.first + 1
          expect(files.reduce((sum, { first, last }) => sum + last - first + 1, 0)).toBe(blocks)
          const doublings = Math.log2(blocks) + 1
          expect(files.length).toBeLessThanOrEqual(2 * doublings)
          expect(written / blocks).toBeLessThan(2 * doublings)
        },
      ),
      { numRuns: runs(20) },
    )
  })

  it('merges no files with a gap between them, nor what would be too long', () => {
    expect(nextMerge([file(0, 9), file(11, 20)])).toBeUndefined()
    const [a, b] = [file(0, 9), file(10, 20)]
    expect(nextMerge([a, b])).toEqual([a, b])
    expect(nextMerge([a, { ...b, count: 2 ** 28 }])).toBeUndefined()
  })

  it('is read anew when a snapshot lists a file that was removed; one that is listed must be there', async () => {
    const database = await Database.open(join(location, 'db'))
    location = join(location, 'db')
    const hash = sha256(heightBytes(1))
    const [older, newer] = [usual(0, 10, 2), [...usual(10, 10, 2), { prefix: hashPrefix(hash)!, height: 12 }]]
    const [a, b] = [await write(0, 9, older), await write(10, 19, newer)]
    const list = async (files: readonly HashFile[]): Promise<void> => {
      const batch = new WriteBatch()
      writeHashFiles(batch, 'blocks', files)
      await database.write(batch, { sync: false })
    }
    await list([a, b])
    const view = database.snapshot()
    const merged = await merge(a, b)
    await list([merged])
    expect(findHashHeights(view, 'blocks', hash)).toEqual([12])
    for (const short of [hash.subarray(0, 5), hash.subarray(0, 0)]) {
      expect(findHashHeights(view, 'blocks', short)).toEqual([])
    }
    rmSync(hashFilePath(location, a))
    for (const db of [view, database]) expect(findHashHeights(db, 'blocks', hash)).toEqual([12])
    rmSync(hashFilePath(location, merged))
    for (const db of [view, database]) expect(() => findHashHeights(db, 'blocks', hash)).toThrow(/it is missing/)
    await list([])
    expect(findHashHeights(view, 'blocks', hash)).toEqual([])
    await view.close()
    await database.close()
    location = join(location, '..')
  })
})
