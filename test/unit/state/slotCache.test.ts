import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, bytesKey, stripZeros } from '../../../src/primitives/bytes.ts'
import { SlotCache } from '../../../src/state/slotCache.ts'
import { keyBytesOf, NAME_WORDS, VALUE_WORDS, valueBytes, writeName, writeValue } from '../../../src/state/slotWords.ts'
import { runs } from '../../propertyRuns.ts'

const word = fc.oneof(fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }), fc.bigInt({ min: 0n, max: 9n }))

function nameOf(index: number): Int32Array {
  const name = new Int32Array(NAME_WORDS)
  writeName(name, new Uint8Array(20).fill(index & 3), bigIntToBytes(BigInt(index) << 240n, 32))
  return name
}

function wordOf(number: number): Int32Array {
  const value = new Int32Array(VALUE_WORDS)
  writeValue(value, bigIntToBytes(BigInt(number), 32))
  return value
}

function read(cache: SlotCache, index: number): number | undefined {
  const value = new Int32Array(VALUE_WORDS).fill(-1)
  return cache.read(nameOf(index), value) ? Number(`0x0${Buffer.from(valueBytes(value)).toString('hex')}`) : undefined
}

describe('slots as numbers', () => {
  it('are the bytes again', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), word, word, (address, key, stored) => {
        const name = new Int32Array(NAME_WORDS)
        writeName(name, address, bigIntToBytes(key, 32))
        expect(bytesKey(new Uint8Array(name.buffer, 0, 20))).toBe(bytesKey(address))
        expect(keyBytesOf(name)).toEqual(bigIntToBytes(key, 32))
        const value = new Int32Array(VALUE_WORDS).fill(-1)
        const minimal = stripZeros(bigIntToBytes(stored, 32))
        writeValue(value, minimal)
        expect(bytesKey(valueBytes(value))).toBe(bytesKey(minimal))
      }),
    )
  })
})

describe('SlotCache', () => {
  it('has what was written last, or nothing', () => {
    const operation = fc.tuple(fc.constantFrom('write', 'write', 'read', 'read', 'delete'), fc.nat(60), fc.nat(999))
    fc.assert(
      fc.property(
        fc.array(operation, { maxLength: 300 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        (steps, seed) => {
          // it is full with 16 slots
          const cache = new SlotCache(1, seed)
          const written = new Map<number, number>()
          for (const [name, index, number] of steps) {
            if (name === 'write') {
              cache.write(nameOf(index), wordOf(number))
              written.set(index, number)
              expect(read(cache, index)).toBe(number)
            } else if (name === 'delete') {
              cache.delete(nameOf(index))
              written.delete(index)
              expect(read(cache, index)).toBeUndefined()
            } else {
              const found = read(cache, index)
              if (found !== undefined) expect(found).toBe(written.get(index))
            }
          }
        },
      ),
      { numRuns: runs(300) },
    )
  })

  it('keeps what is used while it grows, and forgets the rest', () => {
    const cache = new SlotCache(1 << 20, 5n)
    const most = 20_000
    for (let index = 0; index < most; index++) {
      cache.write(nameOf(index), wordOf(index))
      if (index % 1_000 === 0) expect(read(cache, 7)).toBe(index < 7 ? undefined : 7)
      if (index === 900) cache.delete(nameOf(450))
      if (index > 900) expect(read(cache, index - 1)).toBe(index - 1)
    }
    expect(read(cache, 450)).toBeUndefined()
    let kept = 0
    for (let index = 0; index < most; index++) if (read(cache, index) !== undefined) kept++
    expect(kept).toBeGreaterThan(2_000)
    expect(kept).toBeLessThan(most / 2)
    cache.clear()
    expect(read(cache, 7)).toBeUndefined()
  })
})
