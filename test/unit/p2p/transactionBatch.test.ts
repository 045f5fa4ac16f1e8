import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SeenHashes } from '../../../src/p2p/seenHashes.ts'
import { BatchError, batchLength, decodeBatch, encodeBatch } from '../../../src/p2p/transactionBatch.ts'

describe('batches of transactions', () => {
  test('come back as they were', () => {
    const transactions = fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), { minLength: 1, maxLength: 20 })
    const batches = fc.record({
      isRepeated: fc.boolean(),
      number: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      transactions,
    })
    fc.assert(
      fc.property(batches, (batch) => {
        const bytes = encodeBatch(batch)
        expect(bytes).toHaveLength(batchLength(batch.transactions))
        expect(decodeBatch(bytes)).toEqual(batch)
      }),
    )
  })

  test('no bytes do anything but decode or fail as they should', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (input) => {
        try {
          const batch = decodeBatch(input)
          expect(encodeBatch(batch)).toEqual(input)
        } catch (error) {
          expect(error).toBeInstanceOf(BatchError)
        }
      }),
    )
  })
})

test('SeenHashes remembers for a while, and never more than it may', () => {
  const seen = new SeenHashes({ maxSize: 10, lifetimeMs: 1_000 }, 0)
  for (let i = 0; i < 100; i++) seen.add(`a${i}`, 0)
  const known = Array.from({ length: 100 }, (_, i) => seen.has(`a${i}`))
  expect(known.filter(Boolean).length).toBeLessThanOrEqual(10)
  expect(known.slice(95)).toEqual([true, true, true, true, true])
  seen.add('b', 501)
  expect(seen.has('a99')).toBe(true)
  seen.add('c', 1_002)
  expect([seen.has('a99'), seen.has('b'), seen.has('c')]).toEqual([false, true, true])
})
