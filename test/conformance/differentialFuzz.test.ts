import { describe, expect, it } from 'vitest'
import { type Finding, fuzzRange } from '../fuzz/fuzzRange.ts'

/** Other cases than those of the long runs; a run of each takes some seconds. */
const SEED = 20_261_121

/** `npm run test:fuzz` runs as many as one likes. */
describe('generated cases', () => {
  it.each([
    ['wasm', 4_000, false],
    ['wasm-blocks', 2_000, false],
    ['wasm-plain', 1_000, false],
    ['wasm', 600, true],
  ] as const)('%s and reference agree on %i of them (each step too: %s)', async (engine, runs, comparesSteps) => {
    const findings: Finding[] = []
    let done = 0
    await fuzzRange(
      { seed: SEED, first: 0, runs, engines: [engine, 'reference'], comparesSteps, minimises: false },
      { onProgress: (count) => (done += count), onFinding: (finding) => findings.push(finding) },
    )
    const texts = findings.map(({ index, differences, steps }) => [`case ${index}`, ...differences, steps].join('\n'))
    expect(texts).toEqual([])
    expect(done).toBe(runs)
  })
})
