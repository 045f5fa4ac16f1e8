import { describe, expect, it } from 'vitest'
import { BoundedCache } from '../../../src/primitives/boundedCache.ts'

describe('BoundedCache', () => {
  it('keeps what is used and at most its limit', () => {
    const cache = new BoundedCache<number>(100, () => 1)
    for (let i = 0; i < 1000; i++) {
      cache.set(`${i}`, i)
      cache.set('again', i)
      expect(cache.get('again')).toBe(i)
      if (i > 0) expect(cache.get('0') ?? 0).toBe(0)
    }
    let kept = 0
    for (let i = 0; i < 1000; i++) if (cache.get(`${i}`) !== undefined) kept++
    expect(kept).toBeGreaterThan(40)
    expect(kept).toBeLessThanOrEqual(100)
    expect(cache.get('999')).toBe(999)
  })
})
