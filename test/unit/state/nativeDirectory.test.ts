import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKey, compareKeys, EMPTY_BYTES, keyBytes } from '../../../src/primitives/bytes.ts'
import { DirectoryBuilder, updateDirectory, walkKeys } from '../../../src/state/nativeDirectory.ts'
import { runs } from '../../propertyRuns.ts'
import { createRandom } from '../../support/state/randomChain.ts'

const key = fc
  .tuple(fc.nat(3), fc.nat(40), fc.nat(255), fc.constantFrom(0, 1, 30, 200))
  .map(([module, middle, last, padding]) =>
    bytesKey(Uint8Array.of(module, middle, ...new Uint8Array(padding).fill(middle), last)),
  )

class Directory {
  readonly pages = new Map<number, Uint8Array>()
  readonly keys = new Set<string>()

  readonly read = (page: number) => this.pages.get(page)

  update(names: readonly string[], present: boolean): void {
    const changed = [...new Set(names)].filter((name) => this.keys.has(name) !== present).sort(compareKeys)
    for (const name of changed) {
      if (present) this.keys.add(name)
      else this.keys.delete(name)
    }
    const changes = changed.map((name) => ({ key: keyBytes(name), present }))
    for (const [page, bytes] of updateDirectory(this.read, changes)) {
      expect(bytes.length).toBeLessThanOrEqual(4096)
      if (bytes.length === 0) this.pages.delete(page)
      else this.pages.set(page, bytes)
    }
  }

  /** The same keys in pages that are made at once. */
  rebuild(): void {
    this.pages.clear()
    const builder = new DirectoryBuilder((page, bytes) => {
      expect(this.pages.has(page)).toBe(false)
      expect(bytes.length).toBeLessThanOrEqual(2048)
      this.pages.set(page, bytes)
    })
    for (const name of [...this.keys].sort(compareKeys)) builder.add(keyBytes(name))
    builder.finish()
  }

  check(prefix: string): void {
    const expected = [...this.keys].filter((name) => name.startsWith(prefix)).sort(compareKeys)
    expect(this.walk(prefix)).toEqual(expected)
    const outside = [...this.keys].filter((name) => !name.startsWith(prefix))
    const starts = [expected[1], expected.at(-2), outside[0], outside.at(-1), prefix, `${prefix}\x08`, '\x01\x05']
    for (const start of [undefined, ...starts]) {
      const isIn = (name: string) => start === undefined || name >= start
      expect(this.walk(prefix, start)).toEqual(expected.filter(isIn))
      const down = expected.filter((name) => start === undefined || name <= start).toReversed()
      expect(this.walk(prefix, start, true)).toEqual(down)
    }
  }

  walk(prefix: string, start?: string, reverse = false): string[] {
    const from = start === undefined ? undefined : keyBytes(start)
    return [...walkKeys(this.read, keyBytes(prefix), from, reverse)].map(bytesKey)
  }
}

describe('native directory', () => {
  it('lists the keys with a prefix after any inserts and deletes', () => {
    const block = fc.tuple(fc.array(key, { maxLength: 200 }), fc.boolean(), key)
    fc.assert(
      fc.property(fc.array(block, { maxLength: 10 }), (blocks) => {
        const directory = new Directory()
        for (const [names, present, some] of blocks) {
          directory.update(names, present)
          for (const prefix of ['', some.slice(0, 1), some.slice(0, 2), some.slice(0, 20), some])
            directory.check(prefix)
        }
      }),
      { numRuns: runs(60) },
    )
  })

  it('is the same when it is made at once, and goes on changing', () => {
    fc.assert(
      fc.property(
        fc.array(key, { maxLength: 300 }),
        fc.array(key, { maxLength: 50 }),
        fc.boolean(),
        (all, some, present) => {
          const directory = new Directory()
          directory.update(all, true)
          directory.rebuild()
          for (const prefix of ['', '\x01', '\x02\x05']) directory.check(prefix)
          directory.update(present ? some : all.slice(0, 200), present)
          for (const prefix of ['', '\x01']) directory.check(prefix)
        },
      ),
      { numRuns: runs(15) },
    )
  })

  it('made at once has pages as full as a split leaves them, in as many levels as it needs', () => {
    const directory = new Directory()
    const names = Array.from({ length: 20_000 }, (_, i) =>
      bytesKey(Uint8Array.of(i >> 8, i, ...new Uint8Array(30).fill(i * 7))),
    )
    directory.update(names, true)
    const split = [...directory.pages.values()].toSorted((a, b) => Buffer.compare(a, b))
    directory.rebuild()
    expect(directory.pages.get(0)![0]).toBe(2)
    expect(directory.pages.size).toBeLessThanOrEqual(split.length)
    for (const name of names.slice(0, 20)) directory.check(name.slice(0, 1))
    directory.keys.clear()
    directory.rebuild()
    expect(directory.pages.size).toBe(0)
    directory.check('')
  })

  it('finds no key among 300,000 with one page for each level, searched as it is encoded', () => {
    const pages = new Map<number, Uint8Array>()
    const builder = new DirectoryBuilder((page, bytes) => void pages.set(page, bytes))
    const random = createRandom(2)
    for (let i = 0; i < 300_000; i++) {
      builder.add(Uint8Array.from({ length: 44 }, (_, at) => (at < 4 ? i >> (8 * (3 - at)) : random(256))))
    }
    builder.finish()
    const levels = pages.get(0)![0]! + 1
    expect(levels).toBe(4)
    for (const reverse of [false, true]) {
      for (let i = 0; i < 1_000; i++) {
        const read: number[] = []
        const counting = (page: number) => {
          read.push(page)
          return pages.get(page)
        }
        const prefix = Uint8Array.of(0, random(4), random(256), random(256), 1, random(256), 3, 4)
        for (const key of walkKeys(counting, prefix, undefined, reverse)) expect(key.length).toBe(44)
        // A page below a bound that is just above the keys that are sought is read, too.
        expect(read.length).toBeLessThanOrEqual(2 * levels)
        expect(new Set(read).size).toBe(read.length)
      }
    }
  })

  it('grows to three levels of pages and shrinks to one', () => {
    const directory = new Directory()
    const random = createRandom(1)
    const names = Array.from({ length: 20_000 }, () =>
      bytesKey(Uint8Array.from({ length: 40 }, (_, i) => (i < 2 ? i : random(256)))),
    )
    for (let at = 0; at < names.length; at += 2500) directory.update(names.slice(at, at + 2500), true)
    expect(directory.pages.get(0)![0]).toBe(2)
    for (const name of names.slice(0, 50)) directory.check(name.slice(0, 3))
    directory.check('')
    let read = 0
    const counting = (page: number) => {
      read++
      return directory.read(page)
    }
    expect([...walkKeys(counting, keyBytes(names[0]!))]).toHaveLength(1)
    expect(read).toBe(3)
    read = 0
    expect(walkKeys(counting, EMPTY_BYTES).next().done).toBe(false)
    expect(read).toBe(3)
    for (let at = 0; at < names.length; at += 2500) directory.update(names.slice(at, at + 2500), false)
    expect(directory.pages.size).toBe(1)
    directory.check('')
  })
})
