import { describe, expect, it } from 'vitest'
import { PostponedTransactions } from '../../../src/app/proposal.ts'
import { sha256 } from '../../../src/primitives/hash.ts'

const hashOf = (number: number) => sha256(Uint8Array.of(number >> 16, number >> 8, number))

describe('postponed transactions', () => {
  it('may be tried again where a sixteenth of the limit more is left', () => {
    const postponed = new PostponedTransactions(1_600n)
    expect(postponed.shouldRetry(hashOf(1), 0n)).toBe(true)
    postponed.add(hashOf(1), 500n)
    expect([0n, 500n, 599n, 600n].map((left) => postponed.shouldRetry(hashOf(1), left))).toEqual([
      false,
      false,
      false,
      true,
    ])
    expect(postponed.shouldRetry(hashOf(2), 0n)).toBe(true)
    postponed.add(hashOf(1), 700n)
    expect(postponed.shouldRetry(hashOf(1), 799n)).toBe(false)
    postponed.delete(hashOf(1))
    expect(postponed.shouldRetry(hashOf(1), 0n)).toBe(true)
  })

  it('are forgotten, the oldest first, when they are very many', () => {
    const postponed = new PostponedTransactions(1_600n)
    for (let number = 0; number < 10_001; number++) postponed.add(hashOf(number), 500n)
    expect([0, 1, 10_000].map((number) => postponed.shouldRetry(hashOf(number), 500n))).toEqual([true, false, false])
  })
})
