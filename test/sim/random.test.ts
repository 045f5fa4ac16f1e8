import { expect, test } from 'vitest'
import { firstSeed, runs, variants } from '../propertyRuns.ts'
import { describeViolation } from './describeViolation.ts'
import { type Mode, randomRun } from './randomRun.ts'

/** A slice of what `npm run test:sim-full` runs, with other seeds; there the large networks have 50 validators. */
const SLICES: readonly { readonly validators: number; readonly mode: Mode; readonly seeds: number }[] = [
  { validators: 4, mode: 'liveness', seeds: runs(8) },
  { validators: 4, mode: 'safety', seeds: runs(4) },
  { validators: 7, mode: 'liveness', seeds: runs(3) },
  { validators: 7, mode: 'safety', seeds: runs(2) },
  { validators: 20, mode: 'liveness', seeds: runs(1) },
]
const FIRST_SEED = firstSeed(1_000_000)

for (const { validators, mode, seeds } of SLICES) {
  test(`${seeds} runs of mixed faults with ${validators} validators (${mode})`, () => {
    let heights = 0
    for (let seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) {
      const report = randomRun({ seed, validators, mode })
      heights += report.height
      expect(report.violations.length, describeViolation(report)).toBe(0)
    }
    expect(heights).toBeGreaterThan(seeds * 3)
  })
}

test('runs of mixed faults with keys in remote signers, which a crash does not make forget', () => {
  const seeds = runs(4)
  let heights = 0
  for (let seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) {
    const mode = seed % 4 === 3 ? 'safety' : 'liveness'
    const report = randomRun({ seed, validators: 4, mode, overrides: { remoteSigners: true } })
    heights += report.height
    expect(report.violations.length, describeViolation(report)).toBe(0)
  }
  expect(heights).toBeGreaterThan(seeds * 3)
})

test('the same seed gives the same run', () => {
  for (const seed of variants([5, 6, 7], 1)) {
    const traces = [1, 2].map(() => {
      const lines: string[] = []
      randomRun({ seed, validators: 4, mode: 'liveness', trace: (line) => lines.push(line) })
      return lines.join('\n')
    })
    expect(traces[0]).toBe(traces[1])
    expect(traces[0]!.length).toBeGreaterThan(1000)
  }
})
