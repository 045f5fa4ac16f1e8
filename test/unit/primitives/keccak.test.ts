import { createKeccak } from 'hash-wasm'
import { describe, expect, it } from 'vitest'
import { bytesKey, bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import { keccakInput, keccakKey, keccakKeyOfInput, keccakOfInput } from '../../../src/primitives/keccak.ts'

const other = await createKeccak(256)
const keccakOf = (bytes: Uint8Array) => other.init().update(bytes).digest('binary')
const bytesOf = (length: number) => Uint8Array.from({ length }, (_, i) => i * 31 + length)

describe('keccak256', () => {
  it.each([
    ['', '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'],
    ['616263', '0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45'],
  ])('of 0x%s is the known one', (hex, hash) => {
    expect(bytesToHex(keccak256(hexToBytes(hex)))).toBe(hash)
  })

  it('agrees with hash-wasm on all short lengths, and on both sides of what its memory takes', () => {
    const lengths = Array.from({ length: 600 }, (_, length) => length)
    for (const length of [...lengths, keccakInput.length - 1, keccakInput.length, keccakInput.length + 1, 200_000]) {
      const bytes = bytesOf(length)
      expect(bytesToHex(keccak256(bytes)), `${length} bytes`).toBe(bytesToHex(keccakOf(bytes)))
    }
  })

  it('hashes what is written to its memory', () => {
    const bytes = bytesOf(532)
    keccakInput.set(bytes)
    expect(keccakOfInput(532)).toEqual(keccakOf(bytes))
    expect(keccakKeyOfInput(100)).toBe(bytesKey(keccakOf(bytes.subarray(0, 100))))
    expect(keccakKey(bytes.subarray(7, 27))).toBe(bytesKey(keccakOf(bytes.subarray(7, 27))))
  })

  it('takes views, and gives arrays that the next hash does not change', () => {
    const first = keccak256(bytesOf(80).subarray(3, 50))
    const copy = first.slice()
    keccak256(bytesOf(90))
    expect(first).toEqual(copy)
    expect(first).toEqual(keccakOf(bytesOf(80).slice(3, 50)))
  })
})
