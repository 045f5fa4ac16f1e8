import { describe, expect, it } from 'vitest'
import { FillTime, isTooLong } from '../../../src/execution/buildTime.ts'

describe('a transaction', () => {
  it('is not held to a pace that too little gas has shown', () => {
    expect(isTooLong(2n ** 24n, { gas: 999_999n, ms: 50 }, 100)).toBe(false)
    expect(isTooLong(2n ** 24n, { gas: 1_000_000n, ms: 50 }, 100)).toBe(true)
    expect(isTooLong(2n ** 24n, { gas: 1_000_000n, ms: 5 }, 100)).toBe(false)
  })
})

describe('the time for transactions', () => {
  it('leaves out what followed them in the blocks before: more at once, less little by little', () => {
    const time = new FillTime()
    expect(time.within(200)).toBe(200)
    time.measured({ filledMs: 100, builtMs: 200, budgetMs: 200 })
    expect(time.within(200)).toBe(100)
    time.measured({ filledMs: 90, builtMs: 100, budgetMs: 200 })
    expect(time.within(200)).toBeCloseTo(110)
    time.measured({ filledMs: 1, builtMs: 100, budgetMs: 200 })
    expect(time.within(200)).toBe(50)
  })

  it('is not judged by nearly empty blocks', () => {
    const time = new FillTime()
    time.measured({ filledMs: 1, builtMs: 24, budgetMs: 200 })
    expect(time.within(200)).toBe(200)
  })
})
