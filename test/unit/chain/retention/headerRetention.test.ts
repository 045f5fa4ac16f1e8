import { describe, expect, it } from 'vitest'
import { type HeaderRules, headerRules, isHeaderNeeded } from '../../../../src/chain/retention/headerRetention.ts'

const BLOCK_MS = 400
/** A block of each 400 ms; the newest one is 10 million. */
const HEAD = 10_000_000
const at = (height: number) => ({ height, timeMs: height * BLOCK_MS })
const SETTINGS = {
  pruning: 1_000,
  blockHistory: 50_000,
  snapshots: { interval: 0, keep: 2 },
  evidence: { maxAgeBlocks: 100_000, maxAgeMs: 100_000 * BLOCK_MS },
  trustPeriodMs: 60_000 * BLOCK_MS,
} as const

/** The lowest height that is needed. */
function lowestNeeded(rules: HeaderRules): number {
  let low = 0
  let high = HEAD
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isHeaderNeeded(at(middle), at(HEAD), rules)) high = middle
    else low = middle + 1
  }
  return low
}

describe('headers are needed as long as', () => {
  it.each<[string, Partial<Parameters<typeof headerRules>[0]>, number]>([
    ['evidence about them', {}, 100_000],
    ['evidence, of slow blocks by time', { evidence: { maxAgeBlocks: 10, maxAgeMs: 70_000 * BLOCK_MS } }, 70_000],
    ['evidence, of fast blocks by height', { evidence: { maxAgeBlocks: 80_000, maxAgeMs: 50_000 * BLOCK_MS } }, 80_000],
    [
      'evidence, of very slow blocks by twice the time',
      { evidence: { maxAgeBlocks: 1e9, maxAgeMs: 40_000 * BLOCK_MS } },
      80_000,
    ],
    ['the trust of light clients', { trustPeriodMs: 200_000 * BLOCK_MS }, 200_000],
    ['the blocks themselves', { blockHistory: 300_000 }, 300_000],
    ['the states of the blocks', { pruning: 400_000 }, 400_000],
    ['all of them, where all states are kept', { pruning: 'archive' }, HEAD],
    ['the snapshots that are kept', { snapshots: { interval: 100_000, keep: 2 } }, 301_024],
    [
      'blocks that may still change',
      { blockHistory: 1, pruning: 1, trustPeriodMs: 0, evidence: { maxAgeBlocks: 0, maxAgeMs: 0 } },
      1_024,
    ],
  ])('%s', (_, other, blocks) => {
    expect(HEAD - lowestNeeded(headerRules({ ...SETTINGS, ...other }))).toBe(blocks)
  })
})
