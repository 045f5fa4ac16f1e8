import { expect } from 'vitest'
import { isNilBlockId } from '../../../src/chain/comet/types.ts'
import { equalBytes } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'
import type { Byzantine } from '../byzantine/byzantine.ts'
import { flooder, replayer, wrongChain } from '../byzantine/floods.ts'
import { lockSplitter } from '../byzantine/lockSplitter.ts'
import { BLOCK_FAULTS, type BlockFault, invalidProposer, twoFacedProposer, withholder } from '../byzantine/proposers.ts'
import { amnesiac, equivocatingVoter } from '../byzantine/voters.ts'
import { Simulation } from '../simulation.ts'
import { usedHeap } from '../usedHeap.ts'
import {
  decisionTimes,
  emitted,
  expectClean,
  expectHeight,
  PREVOTE,
  proposers,
  restart,
  roundOf,
  type Scenario,
  world,
} from './scenario.ts'

const one = (strategy: Byzantine, index = 1): Map<number, Byzantine> => new Map([[index, strategy]])

const FAULTS = [...(Object.keys(BLOCK_FAULTS) as BlockFault[]), 'oversize', 'garbage', 'falsePol'] as const

/** Heights whose first proposer is the byzantine node 1, from 2 on (the first has no last commit to damage). */
function expectItsTurnsSkipped(simulation: ReturnType<typeof world>, last: number): void {
  let turns = 0
  for (let height = 2; height <= last; height++) {
    if (proposers(simulation, height, 1)[0] !== 1) continue
    turns++
    expect(roundOf(simulation, height), `height ${height}`).toBeGreaterThan(0)
    for (const { index, isHonest } of simulation.nodes) {
      if (!isHonest) continue
      const vote = emitted(simulation, index, height, 0, PREVOTE)
      if (vote !== undefined) expect(isNilBlockId(vote.blockId), `prevote of ${index} at ${height}`).toBe(true)
    }
  }
  expect(turns).toBeGreaterThan(0)
}

/** Scenarios of validators that lie. */
export const byzantineScenarios: readonly Scenario[] = [
  ...[0, 300].map((lateMs) => ({
    number: 4,
    name: `the last part is withheld ${lateMs === 0 ? 'for ever' : `for ${lateMs} ms`}`,
    run: () => {
      const makeTxs = () => [new Uint8Array(100_000).fill(7)]
      const simulation = world({ validators: 4, byzantine: one(withholder(lateMs)), makeTxs })
      expectHeight(simulation, 10, 40_000)
      if (lateMs === 0) expectItsTurnsSkipped(simulation, 10)
    },
  })),
  ...[4, 7, 10].map((validators) => ({
    number: 5,
    name: `${validators} validators, block A to one half, block B to the other: at most one is decided`,
    run: () => {
      for (let seed = 1; seed <= runs(2); seed++) {
        const simulation = world({ seed, validators, byzantine: one(twoFacedProposer(seed % 2 === 0)) })
        expectHeight(simulation, 12, 60_000)
      }
    },
  })),
  ...FAULTS.map((fault) => ({
    number: 6,
    name: `a proposer whose block is wrong (${fault}): nil, then the next`,
    run: () => {
      const simulation = world({ validators: 4, byzantine: one(invalidProposer(() => fault)) })
      expectHeight(simulation, 10, 40_000)
      if (fault !== 'falsePol') expectItsTurnsSkipped(simulation, 10)
    },
  })),
  ...[5, 20, 80].map((latencyMs) => ({
    number: 13,
    name: `a validator shows a majority to one node alone, with ${latencyMs} ms to each: few rounds fail`,
    run: () => {
      const simulation = new Simulation({ seed: 3, validators: 4, byzantine: one(lockSplitter()) })
      simulation.network.setLinks({ latencyMs })
      simulation.startAll()
      simulation.connectAll()
      expectHeight(simulation, 60, 80_000)
      const times = decisionTimes(simulation)
      const intervals = times.slice(1).map((atMs, index) => atMs - times[index]!)
      expect(Math.max(...intervals)).toBeLessThan(2_000)
      expect(Math.max(...simulation.decisions.map(({ round }) => round))).toBeLessThanOrEqual(2)
    },
  })),
  {
    number: 7,
    name: 'more than two thirds vote for an invalid block: the honest node halts and says why',
    run: () => {
      const halts: string[] = []
      const byzantine = new Map([
        [1, invalidProposer(() => 'invalidTx')],
        [2, amnesiac()],
        [3, amnesiac()],
      ])
      const simulation = world({
        validators: 4,
        byzantine,
        expectsHalt: (_node, error) => {
          halts.push(error.message)
          return true
        },
      })
      simulation.run(30_000, () => halts.length > 0)
      expectClean(simulation)
      expect(halts.length).toBe(1)
      expect(halts[0]).toMatch(/invalid|refuse/i)
    },
  },
  ...[[PREVOTE], [2], [PREVOTE, 2]].map((types) => ({
    number: 8,
    name: `votes twice (${types.join(' and ')}): blocks go on, one evidence on chain, the set changes two heights later`,
    run: () => {
      const simulation = world({ validators: 7, byzantine: one(equivocatingVoter(types)), jails: true })
      expectHeight(simulation, 12, 60_000)
      for (const { application } of simulation.honest) {
        // Some of the heights before the removal may have been equivocated too.
        const heights = [...application.offences.values()]
        expect(heights.length).toBeGreaterThan(0)
        const first = Math.min(...heights)
        const address = simulation.keys[1]!.address
        const isIn = (height: number): boolean =>
          application.validatorsAt(height)!.validators.some((validator) => equalBytes(validator.address, address))
        expect(isIn(first + 1)).toBe(true)
        expect(isIn(first + 2)).toBe(false)
      }
    },
  })),
  ...[PREVOTE, 2].map((type) => ({
    number: 8,
    name: `votes twice (${type}), but sends no node both votes: one evidence on chain all the same`,
    run: () => {
      for (const validators of [4, 7]) {
        const strategy = one(equivocatingVoter([type], true))
        const simulation = world({ validators, byzantine: strategy, jails: true })
        expectHeight(simulation, 16, 60_000)
        expect(simulation.equivocations.length).toBeGreaterThan(0)
        for (const { application } of simulation.honest) expect(application.offences.size).toBe(1)
      }
    },
  })),
  {
    number: 9,
    name: 'all who saw the votes crash before the height is decided: the evidence is found all the same',
    run: () => {
      for (const kind of ['process', 'power'] as const) {
        const simulation = world({ validators: 4, byzantine: one(equivocatingVoter([PREVOTE])) })
        simulation.run(60_000, () => simulation.equivocations.length > 0)
        // Both votes are under way; give them time to arrive, but not the height to end.
        simulation.run(simulation.queue.nowMs + 28)
        for (const node of simulation.honest) node.crash(kind)
        const { height } = simulation.equivocations[0]!.vote
        simulation.run(simulation.queue.nowMs + 100)
        for (const node of simulation.honest) restart(simulation, node)
        for (const node of simulation.nodes) if (!node.isHonest) simulation.connectAll()
        expectHeight(simulation, height + 6, 60_000)
        for (const { application } of simulation.honest) expect(application.offences.size).toBeGreaterThan(0)
      }
    },
  },
  {
    number: 10,
    name: 'a third that forgets its locks: no fork',
    run: () => {
      for (let seed = 1; seed <= runs(2); seed++) {
        const simulation = world({
          seed,
          validators: 7,
          byzantine: new Map([
            [1, amnesiac()],
            [4, amnesiac()],
          ]),
        })
        simulation.network.setLinks({ loss: 0.15, jitterMs: 150 })
        simulation.run(15_000)
        expectClean(simulation)
        simulation.network.setLinks({ loss: 0, jitterMs: 5 })
        expectHeight(simulation, simulation.monitor.height + 3, 60_000)
      }
    },
  },
  {
    number: 17,
    name: '10,000 nonsensical messages a second: first rounds as before, memory stays',
    run: () => {
      const simulation = world({ validators: 4, byzantine: one(flooder({ rate: 10_000 })) })
      expectHeight(simulation, 4, 10_000)
      const before = usedHeap()
      const begin = simulation.queue.nowMs
      const heights = Math.min(10, runs(5))
      expectHeight(simulation, simulation.monitor.height + heights, heights * 2_000)
      expect(simulation.queue.nowMs - begin).toBeLessThan(heights * 400 * 1.2)
      expect(simulation.monitor.maxRound).toBe(0)
      // 12,000 messages a height were delivered meanwhile; what is kept of them has a bound.
      expect(usedHeap() - before).toBeLessThan(12 << 20)
    },
  },
  {
    number: 18,
    name: 'votes of another chain and old messages: refused, and no evidence of them',
    run: () => {
      for (const strategy of [wrongChain(), replayer()]) {
        const simulation = world({ validators: 4, byzantine: one(strategy) })
        expectHeight(simulation, 15, 40_000)
        for (const { application } of simulation.honest) expect(application.offences.size).toBe(0)
      }
    },
  },
]
