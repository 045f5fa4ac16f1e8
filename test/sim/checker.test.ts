import { describe, expect, test } from 'vitest'
import { PROPERTY_RUNS, runs } from '../propertyRuns.ts'
import { BROKEN_ENGINES } from './brokenEngines.ts'
import { colluders } from './byzantine/colluders.ts'
import { amnesiac } from './byzantine/voters.ts'
import { randomRun } from './randomRun.ts'
import { Simulation } from './simulation.ts'

/** The first seed that shows a fault, where that is not one of the first: `npm test` starts there, and the long run with seed 1. */
const KNOWN_SEEDS: Readonly<Record<string, number>> = {
  'forgets its lock': 6,
  'believes any proof of lock': 6,
  'takes any signature': 13,
  'forgets what it signed when it starts': 14,
  'votes without asking the application': 66,
  'never hears that the log has failed': 14,
}

/** First seed whose run breaks a rule, with the rule; undefined: none of them. */
function firstViolation(seeds: number, run: (seed: number) => Simulation): { seed: number; rule: string } | undefined {
  for (let seed = 1; seed <= seeds; seed++) {
    const [violation] = run(seed).violations
    if (violation !== undefined) return { seed, rule: violation.rule }
  }
  return undefined
}

/** Halves of the honest nodes: 0 and 3 of four, 0, 4 and 5, 6 of seven. */
const isFirstHalf = (validators: number, node: number): boolean => (validators === 4 ? node < 3 : node < 5)

function collusion(seed: number, validators: number, bad: readonly number[]): Simulation {
  const strategies = colluders(bad.length, (node) => isFirstHalf(validators, node))
  const byzantine = new Map(bad.map((index, position) => [index, strategies[position]!]))
  const simulation = new Simulation({ seed, validators, byzantine })
  simulation.startAll()
  simulation.connectAll()
  simulation.run(20_000)
  return simulation
}

function forgetfulness(seed: number, validators: number, bad: readonly number[]): Simulation {
  const byzantine = new Map(bad.map((index) => [index, amnesiac()]))
  const simulation = new Simulation({ seed, validators, byzantine })
  // Honest nodes of one half hear nothing of those of the other.
  simulation.network.setLinks(
    { blocked: true },
    (from, to) =>
      !bad.includes(from) && !bad.includes(to) && isFirstHalf(validators, from) !== isFirstHalf(validators, to),
  )
  simulation.startAll()
  simulation.connectAll()
  simulation.run(20_000)
  return simulation
}

describe('the checks find', () => {
  test('a fork that more than a third make by voting twice, and none by a third', () => {
    expect(firstViolation(5, (seed) => collusion(seed, 4, [1, 2]))?.rule).toBe('agreement')
    expect(firstViolation(5, (seed) => collusion(seed, 7, [1, 2, 3]))?.rule).toBe('agreement')
    expect(firstViolation(runs(2), (seed) => collusion(seed, 4, [1]))).toBe(undefined)
    expect(firstViolation(runs(2), (seed) => collusion(seed, 7, [1, 2]))).toBe(undefined)
  })

  test('10: a fork that more than a third make by forgetting their locks, and none by a third', () => {
    expect(firstViolation(20, (seed) => forgetfulness(seed, 4, [1, 2]))?.rule).toBe('agreement')
    expect(firstViolation(runs(8), (seed) => forgetfulness(seed, 4, [1]))).toBe(undefined)
  })

  for (const [fault, createEngine] of Object.entries(BROKEN_ENGINES)) {
    test(`an engine that ${fault}`, () => {
      let found: string | undefined
      const first = PROPERTY_RUNS > 1 ? 1 : (KNOWN_SEEDS[fault] ?? 1)
      for (let seed = first; seed <= 400 && found === undefined; seed++) {
        found = randomRun({ seed, validators: 4, mode: 'safety', overrides: { createEngine } }).violations[0]?.rule
      }
      expect(found).toBeDefined()
    })
  }
})
