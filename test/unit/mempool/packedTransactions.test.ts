import fc from 'fast-check'
import { expect, it } from 'vitest'
import { packTransactions, unpackTransactions } from '../../../src/mempool/packedMessages.ts'
import { bytesKey } from '../../../src/primitives/bytes.ts'

const bytes = (minLength: number, maxLength = minLength) => fc.uint8Array({ minLength, maxLength })
const transactions = fc.array(fc.record({ raw: bytes(1, 300), hash: bytes(32), sender: bytes(20) }), { maxLength: 20 })

it('gives back what was packed, given as bytes or as keys', () => {
  fc.assert(
    fc.property(transactions, (list) => {
      const keys = list.map(({ raw, hash, sender }) => ({ raw: bytesKey(raw), hash: bytesKey(hash), sender }))
      for (const input of [list, keys]) {
        const packed = packTransactions(input)
        expect(packed.length).toBe(packed.buffer.byteLength)
        const unpacked = unpackTransactions(packed)
        expect(unpacked.map(({ raw, hash, sender }) => [raw, hash, sender].map(bytesKey))).toEqual(
          list.map(({ raw, hash, sender }) => [raw, hash, sender].map(bytesKey)),
        )
        for (const { raw } of unpacked) expect(raw.buffer).toBe(packed.buffer)
      }
    }),
  )
})

it('reads a part of a larger buffer', () => {
  const packed = packTransactions([
    { raw: Uint8Array.of(1, 2, 3), hash: new Uint8Array(32).fill(4), sender: new Uint8Array(20).fill(5) },
  ])
  const larger = new Uint8Array(packed.length + 7)
  larger.set(packed, 7)
  const [only] = unpackTransactions(larger.subarray(7))
  expect([...only!.raw]).toEqual([1, 2, 3])
  expect([...only!.hash]).toEqual(Array(32).fill(4))
  expect([...only!.sender]).toEqual(Array(20).fill(5))
})
