import { crc32 } from 'node:zlib'
import { expect, it } from 'vitest'
import { CHECKSUM_BYTES, checkedValue, writeChecksum } from '../../../src/storage/checksum.ts'

/** `length` bytes of any kind, with room for a checksum, in the midst of a larger array. */
function entryOf(length: number): Uint8Array {
  const memory = Uint8Array.from({ length: length + CHECKSUM_BYTES + 7 }, (_, i) => (i * 7_919 + length) >> 3)
  return memory.subarray(3, 3 + length + CHECKSUM_BYTES)
}

it("is zlib's crc32 of key and value, the lowest byte first, whatever their lengths", () => {
  for (let length = 0; length < 300; length++) {
    const stored = entryOf(length)
    writeChecksum(stored, 0, length)
    const expected = crc32(stored.subarray(0, length))
    expect(new DataView(stored.buffer, stored.byteOffset).getUint32(length, true)).toBe(expected)
    for (const keyLength of [0, 1, 5, length >> 1, length]) {
      if (keyLength > length) continue
      const value = checkedValue(stored.subarray(0, keyLength), stored.subarray(keyLength))
      expect(value).toEqual(stored.subarray(keyLength, length))
    }
  }
})

it('finds each changed bit of key, value and checksum', () => {
  for (const length of [0, 1, 6, 33, 127, 128, 150]) {
    const stored = entryOf(length)
    writeChecksum(stored, 0, length)
    const keyLength = length >> 1
    for (let bit = 0; bit < stored.length * 8; bit++) {
      stored[bit >> 3]! ^= 1 << (bit & 7)
      expect(checkedValue(stored.subarray(0, keyLength), stored.subarray(keyLength))).toBeUndefined()
      stored[bit >> 3]! ^= 1 << (bit & 7)
    }
    expect(checkedValue(stored.subarray(0, keyLength), stored.subarray(keyLength, -1))).toBeUndefined()
  }
  expect(checkedValue(new Uint8Array(0), new Uint8Array(3))).toBeUndefined()
})
