import { expect } from 'vitest'
import { runs } from '../../propertyRuns.ts'
import { silent } from '../byzantine/voters.ts'
import { wideArea } from '../wideArea.ts'
import { decisionTimes, expectClean, expectHeight, proposers, roundOf, type Scenario, world } from './scenario.ts'

const HEIGHTS = runs(150)
const WIDE_HEIGHTS = runs(3)

/** Scenarios of networks that work, and of proposers that do not answer. */
export const normalScenarios: readonly Scenario[] = [
  {
    number: 1,
    name: `4 validators, perfect network, ${HEIGHTS} heights: first round always, 400 ms on average`,
    run: () => {
      const simulation = world({ validators: 4 })
      expectHeight(simulation, HEIGHTS, HEIGHTS * 440)
      expect(simulation.monitor.maxRound).toBe(0)
      const times = decisionTimes(simulation)
      const average = (times.at(-1)! - times[0]!) / (times.length - 1)
      expect(average).toBeGreaterThan(360)
      expect(average).toBeLessThan(440)
    },
  },
  {
    number: 2,
    name: '50 validators on 20 to 150 ms links: no fork, few later rounds',
    run: () => {
      const { simulation, laterRounds, heights } = wideArea({ seed: 2, validators: 50, heights: WIDE_HEIGHTS })
      expectClean(simulation)
      expect(heights).toBeGreaterThanOrEqual(WIDE_HEIGHTS)
      expect(laterRounds).toBe(0)
    },
  },
  {
    number: 3,
    name: 'a silent proposer costs its turns a round each',
    run: () => {
      const simulation = world({ validators: 4, byzantine: new Map([[1, silent()]]) })
      expectHeight(simulation, 12, 30_000)
      for (let height = 1; height <= 12; height++) {
        const turns = proposers(simulation, height, 2)
        expect(roundOf(simulation, height), `height ${height}`).toBe(turns[0] === 1 ? 1 : 0)
      }
    },
  },
  ...[2, 5].map((missing) => ({
    number: 3,
    name: `${missing} proposers in a row that are down`,
    run: () => {
      const simulation = world({ validators: 16 })
      expectHeight(simulation, 3, 5_000)
      const height = simulation.monitor.height + 2
      const down = [...new Set(proposers(simulation, height, missing))]
      expect(down.length).toBe(missing)
      simulation.runToHeight(height - 1, 5_000)
      for (const index of down) simulation.nodes[index]!.crash('process')
      const rest = simulation.nodes.filter(({ index }) => !down.includes(index))
      const begin = simulation.queue.nowMs
      expectHeight(simulation, height, 15_000, rest)
      expect(roundOf(simulation, height)).toBe(missing)
      // Each costs a propose timeout: 700 ms, 200 more from the fourth round on.
      expect(simulation.queue.nowMs - begin).toBeLessThan(missing * 1_400 + 1_500)
    },
  })),
]
