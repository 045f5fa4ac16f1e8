import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TokenBucket } from '../../../src/p2p/limits.ts'

describe('TokenBucket', () => {
  test('gives a burst, then so much a second', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, 1_000)
    expect([1, 1, 1, 1].map((count) => bucket.take(count, 1_000))).toEqual([true, true, true, false])
    expect(bucket.take(1, 1_099)).toBe(false)
    expect(bucket.take(1, 1_100)).toBe(true)
    expect(bucket.take(4, 100_000)).toBe(false)
    expect(bucket.take(3, 100_000)).toBe(true)
  })

  test('says how long whoever overdraws it should wait', () => {
    const bucket = new TokenBucket({ perSecond: 100, burst: 10 }, 0)
    expect(bucket.draw(10, 0)).toBe(0)
    expect(bucket.draw(50, 0)).toBe(500)
    expect(bucket.take(0, 499)).toBe(false)
    expect(bucket.take(0, 501)).toBe(true)
  })

  test('never gives more than burst and rate allow', () => {
    const steps = fc.array(fc.tuple(fc.nat(500), fc.integer({ min: 1, max: 5 })), { maxLength: 100 })
    fc.assert(
      fc.property(steps, (steps) => {
        const bucket = new TokenBucket({ perSecond: 7, burst: 20 }, 0)
        let nowMs = 0
        let taken = 0
        for (const [afterMs, count] of steps) {
          nowMs += afterMs
          if (bucket.take(count, nowMs)) taken += count
          expect(taken).toBeLessThanOrEqual(20 + (7 * nowMs) / 1000 + 1e-6)
        }
      }),
    )
  })
})
