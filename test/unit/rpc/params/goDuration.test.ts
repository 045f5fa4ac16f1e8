import { describe, expect, it } from 'vitest'
import { parseGoDuration } from '../../../../src/rpc/params/goDuration.ts'

describe('durations as Go writes them', () => {
  it.each([
    ['5s', 5_000],
    ['300ms', 300],
    ['1.5h', 5_400_000],
    ['1m30s', 90_000],
    ['2h45m', 9_900_000],
    ['.5s', 500],
    ['1.s', 1_000],
    ['-1s', -1_000],
    ['+1s', 1_000],
    ['0', 0],
    ['250us', 0.25],
    ['250µs', 0.25],
  ])('%s is %d ms', (text, ms) => {
    expect(parseGoDuration(text)).toBe(ms)
  })

  it.each(['', '5', 's', '5 s', '5x', '-', '1s5', '.s', '1..5s'])('%j is none', (text) => {
    expect(() => parseGoDuration(text)).toThrow(`time: invalid duration ${JSON.stringify(text)}`)
  })
})
