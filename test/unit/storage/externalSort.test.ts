import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, symlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bytesKey, compareBytes } from '../../../src/primitives/bytes.ts'
import { type SortEntry, sortEntries } from '../../../src/storage/externalSort.ts'
import { runs } from '../../propertyRuns.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-sort-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function text(entries: readonly SortEntry[]): string[] {
  return entries.map(([key, value]) => `${Buffer.from(key).toString('hex')} ${bytesKey(value)}`)
}

async function sorted(entries: readonly SortEntry[], memoryBytes: number): Promise<string[]> {
  return text(await Array.fromAsync(sortEntries(entries, { directory, memoryBytes })))
}

/** Array's sort is stable. */
function expected(entries: readonly SortEntry[]): string[] {
  return text(entries.toSorted(([a], [b]) => compareBytes(a, b)))
}

function numbered(count: number): SortEntry[] {
  return Array.from({ length: count }, (_, i) => {
    const key = Buffer.alloc(4)
    key.writeUInt32BE(Math.imul(i, 2_654_435_761) >>> 0)
    return [new Uint8Array(key), Uint8Array.of(i >> 8, i)]
  })
}

const fullDiskThere = (() => {
  try {
    const file = openSync('/dev/full', 'w')
    try {
      writeSync(file, 'x')
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOSPC'
    } finally {
      closeSync(file)
    }
  } catch {
    return false
  }
  return false
})()

describe('a sort on disk', () => {
  it('gives what a sort in memory gives, whatever its limit', async () => {
    const key = fc.oneof(fc.uint8Array({ maxLength: 3 }), fc.uint8Array({ minLength: 6, maxLength: 9 }))
    const value = fc.oneof(fc.uint8Array({ maxLength: 4 }), fc.uint8Array({ minLength: 100, maxLength: 400 }))
    const entries = fc.array(fc.tuple(key, value), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(entries, fc.integer({ min: 1, max: 2000 }), async (list, memoryBytes) => {
        expect(await sorted(list, memoryBytes)).toEqual(expected(list))
        expect(readdirSync(directory)).toEqual([])
      }),
      { numRuns: runs(60) },
    )
  })

  it('compares all of keys that begin alike, and keeps the order of equal ones', async () => {
    const keys = ['', '00', '0000', '000000000000', '00000000000000', '000000000000ff', 'ff', 'ffffffffffff00']
    const list = [...keys, ...keys.toReversed(), ...keys].map(
      (hex, i): SortEntry => [new Uint8Array(Buffer.from(hex, 'hex')), Uint8Array.of(i)],
    )
    for (const memoryBytes of [1, 100, 10_000]) expect(await sorted(list, memoryBytes)).toEqual(expected(list))
  })

  it('merges in several levels when there are many files', async () => {
    const list = numbered(700)
    // One entry a file: 700 files need three levels of 16.
    expect(await sorted(list, 1)).toEqual(expected(list))
    expect(readdirSync(directory)).toEqual([])
  })

  it('makes no file of what fits the memory', async () => {
    const sort = sortEntries(numbered(100), { directory })
    await sort.next()
    expect(readdirSync(directory)).toEqual([])
    await sort.return()
  })

  it('leaves no files when its consumer stops early, or its source throws', async () => {
    const sort = sortEntries(numbered(300), { directory, memoryBytes: 1000 })
    await sort.next()
    expect(readdirSync(directory).length).toBeGreaterThan(1)
    await sort.return()
    expect(readdirSync(directory)).toEqual([])

    function* broken(): Generator<SortEntry> {
      yield* numbered(100)
      expect(readdirSync(directory).length).toBeGreaterThan(1)
      throw new Error('the source broke')
    }
    await expect(sortEntries(broken(), { directory, memoryBytes: 500 }).next()).rejects.toThrow('the source broke')
    expect(readdirSync(directory)).toEqual([])
  })

  it.skipIf(!fullDiskThere)('ends with the error of a full disk, and leaves no files', async () => {
    symlinkSync('/dev/full', join(directory, 'sort-3'))
    const sort = sortEntries(numbered(300), { directory, memoryBytes: 500 })
    await expect(sort.next()).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(readdirSync(directory)).toEqual([])
  })
})
