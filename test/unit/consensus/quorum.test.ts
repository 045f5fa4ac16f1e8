import { describe, expect, it } from 'vitest'
import { exceedsThird, isQuorum } from '../../../src/consensus/quorum.ts'

describe('of voting power', () => {
  it.each([
    { totalPower: 1n, quorum: 1n, third: 1n },
    { totalPower: 3n, quorum: 3n, third: 2n },
    { totalPower: 4n, quorum: 3n, third: 2n },
    { totalPower: 9n, quorum: 7n, third: 4n },
    { totalPower: 100n, quorum: 67n, third: 34n },
    { totalPower: 2n ** 60n - 1n, quorum: (2n ** 61n - 2n) / 3n + 1n, third: (2n ** 60n - 1n) / 3n + 1n },
  ])('$totalPower, $quorum are more than two thirds and $third more than one', ({ totalPower, quorum, third }) => {
    expect(isQuorum(quorum, { totalPower })).toBe(true)
    expect(isQuorum(quorum - 1n, { totalPower })).toBe(false)
    expect(exceedsThird(third, { totalPower })).toBe(true)
    expect(exceedsThird(third - 1n, { totalPower })).toBe(false)
  })
})
