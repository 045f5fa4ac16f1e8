import { describe, expect, it } from 'vitest'
import { bytesKey, equalBytes } from '../../../src/primitives/bytes.ts'
import { addChange, dropChange, previousAfter, undoChange } from '../../../src/state/history.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { createRandom } from '../../support/state/randomChain.ts'

/** The value before the change at `height`: of any length, also none, and now and then long. */
function valueBefore(height: number): Uint8Array {
  const length = height % 97 === 0 ? 700 : height % 23
  return new Uint8Array(length).fill(height)
}

class Store {
  readonly entries = new Map<string, Uint8Array>()
  reads = 0

  get(key: Uint8Array): Uint8Array | undefined {
    this.reads++
    return this.entries.get(bytesKey(key))
  }

  write(batch: WriteBatch): void {
    batch.forEach((key, value) => {
      if (value === undefined) this.entries.delete(bytesKey(key))
      else this.entries.set(bytesKey(key), value)
    })
  }
}

const ENTRY = Uint8Array.of(2, 1, 1, 1)

function filled(count: number, gap: (below: number) => number): { store: Store; heights: number[] } {
  const store = new Store()
  const heights: number[] = []
  for (let height = 0; heights.length < count; ) {
    height += 1 + gap(4)
    heights.push(height)
    const batch = new WriteBatch()
    addChange(store, batch, ENTRY, { height, previous: valueBefore(height) }, 0)
    store.write(batch)
  }
  return { store, heights }
}

/** By definition: the value before the first of `heights` above `height`. */
function expected(heights: readonly number[], height: number): Uint8Array | undefined {
  const change = heights.find((each) => each > height)
  return change === undefined ? undefined : valueBefore(change)
}

describe('change index', () => {
  it.each([1, 2, 15, 16, 17, 255, 256, 257, 600, 5000])('finds the next of %i changes', (count) => {
    const { store, heights } = filled(count, createRandom(count))
    for (let height = 0; height <= heights.at(-1)! + 1; height += 1 + (height >> 9)) {
      expect(previousAfter(store, ENTRY, height)).toEqual(expected(heights, height))
    }
    expect(previousAfter(store, Uint8Array.of(2, 1, 1), 0)).toBeUndefined()
  })

  it('reads at most a record and two shards for 66,500 changes, and drops them all', () => {
    const { store, heights } = filled(66_500, () => 0)
    for (const height of [0, 1, 15, 16, 255, 256, 4_095, 4_096, 65_535, 65_536, 66_499]) {
      store.reads = 0
      expect(previousAfter(store, ENTRY, height)).toEqual(valueBefore(height + 1))
      expect(store.reads).toBeLessThanOrEqual(3)
    }
    expect(previousAfter(store, ENTRY, 66_500)).toBeUndefined()
    for (const height of heights) {
      const batch = new WriteBatch()
      dropChange(store, batch, ENTRY, height)
      store.write(batch)
      if (height % 997 === 0 && height < 66_500) {
        expect(previousAfter(store, ENTRY, height)).toEqual(valueBefore(height + 1))
      }
    }
    expect(store.entries.size).toBe(0)
  })

  it('stays small while changes are added and old ones dropped', () => {
    const store = new Store()
    for (let height = 1; height <= 20_000; height++) {
      const batch = new WriteBatch()
      if (height > 1000) dropChange(store, batch, ENTRY, height - 1000)
      addChange(store, batch, ENTRY, { height, previous: valueBefore(height) }, height - 1000)
      store.write(batch)
      if (height > 1000 && height % 333 === 0) {
        for (const back of [999, 700, 256, 3, 1])
          expect(previousAfter(store, ENTRY, height - back)).toEqual(valueBefore(height - back + 1))
      }
    }
    expect(store.entries.size).toBeLessThanOrEqual(1000 / 14 + 4)
    const bytes = [...store.entries.values()].reduce((sum, value) => sum + value.length, 0)
    expect(bytes).toBeLessThan(1000 * 24 + 3000)
  })

  it.each([1, 17, 40, 257, 5_000])('takes the newest of %i changes back, byte by byte', (count) => {
    const store = new Store()
    const former = new Map<number, Map<string, Uint8Array>>()
    const taken = Math.min(count, 300)
    for (let height = 1; height <= count; height++) {
      if (height > count - taken) former.set(height, new Map(store.entries))
      const batch = new WriteBatch()
      addChange(store, batch, ENTRY, { height, previous: valueBefore(height) }, 0)
      store.write(batch)
    }
    for (let height = count; height > count - taken; height--) {
      const batch = new WriteBatch()
      expect(undoChange(store, batch, ENTRY, height)).toEqual(valueBefore(height))
      store.write(batch)
      expect(same(store.entries, former.get(height)!)).toBe(true)
    }
    expect(() => undoChange(store, new WriteBatch(), ENTRY, count)).toThrow(`lacks a change of block ${count}`)
  })

  it('takes changes back while old ones are dropped, and goes on', () => {
    const random = createRandom(5)
    const store = new Store()
    const heights: number[] = []
    let oldest = 0
    let height = 1
    for (let step = 0; step < 8_000; step++) {
      const batch = new WriteBatch()
      if (random(200) === 0) {
        for (let back = random(100); back > 0 && heights.length > 0 && heights.at(-1)! > oldest; back--) {
          const undone = new WriteBatch()
          height = heights.pop()!
          expect(undoChange(store, undone, ENTRY, height)).toEqual(valueBefore(height))
          store.write(undone)
        }
      }
      if (height - 1000 > oldest) dropChange(store, batch, ENTRY, ++oldest)
      addChange(store, batch, ENTRY, { height, previous: valueBefore(height) }, oldest)
      store.write(batch)
      heights.push(height++)
    }
    expect(oldest).toBeGreaterThan(4_000)
    for (let at = oldest; at <= height; at += 7) expect(previousAfter(store, ENTRY, at)).toEqual(expected(heights, at))
  })
})

function same(a: ReadonlyMap<string, Uint8Array>, b: ReadonlyMap<string, Uint8Array>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.has(key) && equalBytes(value, b.get(key)!))
}
