import { describe, expect, it } from 'vitest'
import { type Finding, fuzzRange } from '../fuzz/fuzzRange.ts'
import { firstSeed, runs } from '../propertyRuns.ts'

/** Other cases than those of `npm run test:fuzz`, which runs as many as one likes. */
const SEED = firstSeed(20_261_121)

describe('generated cases', () => {
  it.each([
    ['wasm', runs(400), false],
    ['wasm-blocks', runs(250), false],
    ['wasm-plain', runs(200), false],
    ['wasm', runs(50), true],
  ] as const)('%s and reference agree on %i of them (each step too: %s)', async (engine, runs, comparesSteps) => {
    const findings: Finding[] = []
    let done = 0
    await fuzzRange(
      { seed: SEED, first: 0, runs, engines: [engine, 'reference'], comparesSteps, minimises: false },
      { onProgress: (count) => (done += count), onFinding: (finding) => findings.push(finding) },
    )
    const texts = findings.map(({ index, differences, steps }) =>
      [`seed ${SEED}, case ${index}`, ...differences, steps].join('\n'),
    )
    expect(texts).toEqual([])
    expect(done).toBe(runs)
  })
})
