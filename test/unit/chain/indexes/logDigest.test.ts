import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logDigest } from '../../../../src/chain/indexes/logDigest.ts'
import { keccak256 } from '../../../../src/primitives/hash.ts'

it('is the start of the keccak256 of an item, whichever items came before', () => {
  const first = fc.constantFrom(0, 1)
  // Of few values, so that many share an entry, differ in one byte or in their length alone.
  const item = fc.tuple(first, first, fc.constantFrom(0, 1, 20, 31, 32, 33)).map(([start, end, length]) => {
    const bytes = new Uint8Array(length)
    bytes[0] = start
    bytes[length - 9] = end
    return bytes
  })
  const other = fc.uint8Array({ minLength: 20, maxLength: 32 })
  fc.assert(
    fc.property(fc.array(fc.oneof(item, other), { maxLength: 200 }), (items) => {
      for (const bytes of [...items, ...items]) {
        expect([...logDigest(bytes).subarray(0, 8)]).toEqual([...keccak256(bytes).subarray(0, 8)])
      }
    }),
  )
})
