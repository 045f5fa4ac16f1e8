import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LinearMemory } from '../../../../../src/evm/engines/wasm/linearMemory.ts'
import { bigIntToBytes, bytesToBigInt } from '../../../../../src/primitives/bytes.ts'
import { WebAssembly } from '../../../../../src/primitives/webAssembly.ts'

const AT = 40
const word = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }),
  fc.bigInt({ min: 0n, max: (1n << 70n) - 1n }),
  fc.constantFrom(0n, 1n, (1n << 64n) - 1n, 1n << 64n, 1n << 128n, 1n << 192n, (1n << 256n) - 1n),
)

/** A memory full of ones, so that what is not written shows. */
function createMemory() {
  const raw = new WebAssembly.Memory({ initial: 1 })
  const memory = new LinearMemory(raw)
  memory.bytes.fill(0xff)
  return { raw, memory }
}

describe('LinearMemory', () => {
  it('writes words lowest byte first and reads them again', () => {
    const { memory } = createMemory()
    fc.assert(
      fc.property(word, (value) => {
        memory.writeWord(AT, value)
        expect(memory.readWord(AT)).toBe(value)
        expect(memory.copy(AT, 32).reverse()).toEqual(bigIntToBytes(value, 32))
        expect(memory.isZeroWord(AT)).toBe(value === 0n)
      }),
    )
  })

  it('writes big-endian integers of any length as words, and nothing beside them', () => {
    const { memory } = createMemory()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 32 }), (bytes) => {
        memory.writeBytesAsWord(AT, bytes)
        expect(memory.readWord(AT)).toBe(bytesToBigInt(bytes))
        expect([memory.bytes[AT - 1], memory.bytes[AT + 32]]).toEqual([0xff, 0xff])
      }),
    )
  })

  it('goes on after the memory has grown', () => {
    const { raw, memory } = createMemory()
    memory.writeWord(AT, 7n)
    raw.grow(3)
    expect(memory.readWord(AT)).toBe(7n)
    memory.write(3 * 65_536, Uint8Array.of(1, 2))
    expect(memory.copy(3 * 65_536, 2)).toEqual(Uint8Array.of(1, 2))
    raw.grow(1)
    expect(memory.bytes).toHaveLength(5 * 65_536)
  })

  it('gives copies that stay what they are', () => {
    const { memory } = createMemory()
    const copy = memory.copy(AT, 4)
    memory.write(AT, new Uint8Array(4))
    expect(copy).toEqual(new Uint8Array(4).fill(0xff))
  })
})
