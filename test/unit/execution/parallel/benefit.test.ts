import { describe, expect, it } from 'vitest'
import { Benefit } from '../../../../src/execution/parallel/benefit.ts'

const signed = (to: number) =>
  ({ transaction: { to: new Uint8Array(20).fill(to) }, sender: new Uint8Array(20) }) as unknown as Parameters<
    Benefit['costsOf']
  >[0]

interface Times {
  readonly executedMs: number
  readonly speculatedMs: number
  readonly overheadMs: number
  readonly isRight?: boolean
}

/** A block of calls of one contract, half of which others execute. */
function block(benefit: Benefit, to: number, { executedMs, speculatedMs, overheadMs, isRight = true }: Times): void {
  const costs = benefit.costsOf(signed(to))
  for (let i = 0; i < 20; i++) {
    benefit.executed(costs, executedMs, 0)
    benefit.guessed(costs, isRight, speculatedMs, overheadMs)
  }
  benefit.endBlock()
}

/** Blocks until calls of the contract are offered again. */
function rest(benefit: Benefit, to: number): number {
  let blocks = 0
  for (; !benefit.isWorthwhile(benefit.costsOf(signed(to))); blocks++) benefit.endBlock()
  return blocks
}

describe('the benefit of guesses', () => {
  it('is tried for calls of which nothing is known', () => {
    expect(rest(new Benefit(1), 1)).toBe(0)
  })

  it.each<[string, Times, number]>([
    ['is there where little is spent beside', { executedMs: 50, speculatedMs: 50, overheadMs: 5 }, 0],
    ['is not there where checks take as long as executions', { executedMs: 10, speculatedMs: 0, overheadMs: 11 }, 4],
    [
      'is not there where processors have too much to do for it',
      { executedMs: 10, speculatedMs: 12, overheadMs: 5 },
      4,
    ],
    ['is not there where guesses are wrong', { executedMs: 50, speculatedMs: 50, overheadMs: 1, isRight: false }, 4],
  ])('%s', (_, times, blocks) => {
    const benefit = new Benefit(1)
    block(benefit, 1, times)
    expect(rest(benefit, 1)).toBe(blocks)
    expect(rest(benefit, 2)).toBe(0)
  })

  it('may take more of the processors where there are more threads', () => {
    const times = { executedMs: 10, speculatedMs: 12, overheadMs: 5 }
    const benefit = new Benefit(7)
    block(benefit, 1, times)
    expect(rest(benefit, 1)).toBe(0)
  })

  it('is looked for after longer and longer rests, and after short ones again once it was there', () => {
    const benefit = new Benefit(1)
    const bad = { executedMs: 10, speculatedMs: 12, overheadMs: 11 }
    const rests = Array.from({ length: 9 }, () => {
      block(benefit, 1, bad)
      return rest(benefit, 1)
    })
    expect(rests).toEqual([4, 8, 16, 32, 64, 128, 256, 256, 256])
    block(benefit, 1, { executedMs: 10, speculatedMs: 10, overheadMs: 1 })
    block(benefit, 1, bad)
    expect(rest(benefit, 1)).toBe(4)
  })
})
