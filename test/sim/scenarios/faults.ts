import { expect } from 'vitest'
import type { ConsensusHeader } from '../../../src/chain/comet/block.ts'
import { isNilBlockId } from '../../../src/chain/comet/types.ts'
import { equalBytes } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'
import { calm } from '../faults.ts'
import { Simulation } from '../simulation.ts'
import { emitted, expectClean, expectHeight, PREVOTE, restart, type Scenario, world } from './scenario.ts'

/** Blocks must be decided again after `heal`, within `limitMs`. */
function expectResumption(simulation: Simulation, limitMs: number, heal: () => void): void {
  heal()
  const goal = Math.max(...simulation.honest.map(({ application }) => application.height)) + 1
  expectHeight(simulation, goal, limitMs)
  expectHeight(simulation, goal + 4, 10_000)
}

function heal(simulation: Simulation): void {
  simulation.network.setLinks({ blocked: false })
  simulation.connectAll()
}

/** Timeouts grow until they have their cap at about round 50. */
const ROUNDS_AWAY = Math.min(300, runs(45))

/** Scenarios of networks that fall apart, clocks that differ, nodes that are away. */
export const faultScenarios: readonly Scenario[] = [
  ...(['silent', 'disconnect'] as const).map((how) => ({
    number: 19,
    name: `two halves for 60 s (${how}): nothing is decided, then blocks go on within 5 s`,
    run: () => {
      const simulation = world({ validators: 4 })
      expectHeight(simulation, 3, 5_000)
      simulation.network.partition(
        [
          [0, 1],
          [2, 3],
        ],
        how,
      )
      simulation.run(simulation.queue.nowMs + 2_000)
      const { height } = simulation.monitor
      simulation.run(simulation.queue.nowMs + 58_000)
      expect(simulation.monitor.height).toBe(height)
      expectResumption(simulation, 5_000, () => heal(simulation))
    },
  })),
  {
    number: 19,
    name: 'a ring of 7, each connected to two neighbours: blocks go on',
    run: () => {
      const simulation = new Simulation({ seed: 1, validators: 7 })
      simulation.limitConnections((a, b) => [1, 6].includes(a - b))
      simulation.startAll()
      simulation.connectAll()
      expectHeight(simulation, 20, 20_000)
      expect(simulation.monitor.laterRounds).toBeLessThanOrEqual(1)
    },
  },
  {
    number: 19,
    name: 'a ring of 7 whose other connections are dead without anybody knowing: blocks come slowly, then as before',
    run: () => {
      const simulation = world({ validators: 7 })
      simulation.network.setLinks({ blocked: true }, (from, to) => ![1, 6].includes((to - from + 7) % 7))
      expectHeight(simulation, 3, 240_000)
      expectResumption(simulation, 5_000, () => heal(simulation))
    },
  },
  {
    number: 19,
    name: 'one node is heard and hears nothing, then the other way round',
    run: () => {
      for (const hears of [true, false]) {
        const simulation = world({ validators: 4 })
        expectHeight(simulation, 3, 5_000)
        simulation.network.setLinks({ blocked: true }, (from, to) => (hears ? from : to) === 2)
        const others = simulation.nodes.filter(({ index }) => index !== 2)
        expectHeight(simulation, 10, 30_000, others)
        expectResumption(simulation, 5_000, () => heal(simulation))
      }
    },
  },
  {
    number: 19,
    name: 'a partition that comes and goes every 200 ms',
    run: () => {
      const simulation = world({ validators: 4 })
      const flap = (blocked: boolean): void => {
        simulation.network.setLinks({ blocked }, (from, to) => from < 2 !== to < 2)
        if (simulation.queue.nowMs < 20_000) simulation.queue.after(200, () => flap(!blocked))
        else heal(simulation)
      }
      flap(true)
      simulation.run(20_500)
      expectResumption(simulation, 5_000, () => heal(simulation))
    },
  },
  {
    number: 20,
    name: `a third is away for ${ROUNDS_AWAY} rounds, once one more gives nil: the rest goes on in capped rounds and resumes`,
    run: () => {
      const simulation = world({ validators: 7 })
      expectHeight(simulation, 2, 5_000)
      let proposals = false
      simulation.rule = (_from, _to, message) => (!proposals && message.kind === 'proposal' ? 'drop' : undefined)
      for (const index of [0, 1]) simulation.nodes[index]!.crash('power')
      const round = (): number => simulation.nodes[2]!.engine!.roundState.round
      expect(simulation.run(7_200_000, () => round() >= ROUNDS_AWAY)).toBe(true)
      expectClean(simulation)
      const begin = simulation.queue.nowMs
      simulation.run(begin + 60_000, () => round() >= ROUNDS_AWAY + 2)
      // At most 10 s for the proposal, the rest at once.
      expect(simulation.queue.nowMs - begin).toBeLessThan(32_000)
      proposals = true
      expectResumption(simulation, 25_000, () => {
        for (const index of [0, 1]) restart(simulation, simulation.nodes[index]!)
      })
    },
  },
  {
    number: 20,
    name: 'half of them are away for 10 minutes: nothing is decided, then blocks go on',
    run: () => {
      const simulation = world({ validators: 4 })
      expectHeight(simulation, 2, 5_000)
      for (const index of [0, 1]) simulation.nodes[index]!.crash('process')
      simulation.run(simulation.queue.nowMs + 600_000)
      expectResumption(simulation, 5_000, () => {
        for (const index of [0, 1]) restart(simulation, simulation.nodes[index]!)
      })
    },
  },
  ...(['process', 'power'] as const).map((kind) => ({
    number: 20,
    name: `all are killed at once (${kind}), at many moments`,
    run: () => {
      const simulation = world({ validators: 4 })
      for (let i = 1; i <= 40; i++) {
        simulation.run(simulation.queue.nowMs + 100 + ((i * 137) % 700))
        for (const node of simulation.nodes) node.crash(kind)
        simulation.run(simulation.queue.nowMs + 50)
        for (const node of simulation.nodes) restart(simulation, node)
        expectClean(simulation)
      }
      expectHeight(simulation, simulation.monitor.height + 3, 10_000)
    },
  })),
  ...[
    { name: 'all within 300 ms', offsets: [300, -300, 150, -150], later: 0 },
    { name: 'one is 2 s ahead: its blocks are refused', offsets: [4_000, 0, 0, 0], later: 1 },
    { name: 'one is 2 s behind', offsets: [0, -2_000, 0, 0], later: 1 },
    { name: 'all are wrong by a year', offsets: [31e9, 31e9, 31e9, 31e9], later: 0 },
  ].map(({ name, offsets, later }) => ({
    number: 21,
    name: `clocks: ${name}`,
    run: () => {
      const simulation = world({ validators: 4 })
      for (const [index, offset] of offsets.entries()) simulation.nodes[index]!.clockOffsetMs = offset
      expectHeight(simulation, 20, 60_000)
      if (later === 0) expect(simulation.monitor.laterRounds).toBe(0)
      else expect(simulation.monitor.laterRounds).toBeGreaterThan(0)
    },
  })),
  ...[
    {
      name: 'one hour ahead',
      offsetMs: 3_600_000,
      driftMs: 0,
      line: /^warn: this node's clock is ahead of the network's/,
    },
    {
      name: 'one hour behind',
      offsetMs: -3_600_000,
      driftMs: 0,
      line: /^warn: this node's clock is behind the network's/,
    },
    {
      name: 'fast by a fifth',
      offsetMs: 0,
      driftMs: 20,
      line: /^warn: this node's clock is ahead of the network's/,
    },
    { name: 'slow by a fifth', offsetMs: 0, driftMs: -20, line: /^warn: this node's clock is behind the network's/ },
  ].map(({ name, offsetMs, driftMs, line }) => ({
    number: 21,
    name: `the clock of one of four is ${name}: blocks go on with right times, its own are refused, and its operator is told`,
    run: () => {
      const simulation = world({ validators: 4 })
      const [wrong, ...others] = simulation.nodes
      wrong!.clockOffsetMs = offsetMs
      let isWrong = true
      const drift = (): void => {
        if (!isWrong) return
        wrong!.clockOffsetMs += driftMs
        simulation.queue.after(100, drift)
      }
      drift()
      expectHeight(simulation, 35, 60_000)
      const proposed = (from: number, to: number) =>
        headersOf(simulation, from, to).filter((header) => equalBytes(header.proposerAddress, wrong!.key!.address))
          .length
      expect(proposed(20, 35)).toBe(0)
      expectTrueTimes(simulation)
      expect(wrong!.clockLines.length).toBeGreaterThan(0)
      for (const found of wrong!.clockLines) expect(found).toMatch(line)
      expect(others.flatMap(({ clockLines }) => clockLines)).toEqual([])

      isWrong = false
      wrong!.clockOffsetMs = 0
      expectHeight(simulation, 50, 20_000)
      expect(proposed(38, 50)).toBeGreaterThan(0)
      expect(wrong!.clockLines.at(-1)).toBe("info: this node's clock agrees with the network's again")
      expectTrueTimes(simulation)
    },
  })),
  {
    number: 21,
    name: 'a clock is set back by 10 s: timers do not mind, its proposals come back when it is right again',
    run: () => {
      const simulation = world({ validators: 4 })
      expectHeight(simulation, 5, 10_000)
      simulation.nodes[2]!.clockOffsetMs = -10_000
      expectHeight(simulation, 20, 40_000)
      simulation.nodes[2]!.clockOffsetMs = 0
      const { laterRounds } = simulation.monitor
      expectHeight(simulation, 40, 40_000)
      expect(simulation.monitor.laterRounds - laterRounds).toBeLessThanOrEqual(1)
    },
  },
  {
    number: 24,
    name: 'disks that stall for 500 ms: slow, nothing worse',
    run: () => {
      const simulation = world({ validators: 4 })
      for (const { disk } of simulation.nodes) disk.faults.stallOneIn = 4
      expectHeight(simulation, 10, 60_000)
    },
  },
  ...['ENOSPC: no space left on device', 'EIO: i/o error', 'EROFS: read-only file system'].map((failure) => ({
    number: 24,
    name: `the disk fails at any write (${failure}): the node halts without signing, and comes back`,
    run: () => {
      for (let i = 1; i <= runs(5); i++) {
        const simulation = world({
          seed: i,
          validators: 4,
          expectsHalt: (_node, error) => error.message.includes(failure),
        })
        simulation.run(500 + i * 17)
        const victim = simulation.nodes[i % 4]!
        victim.disk.faults.failure = failure
        simulation.run(20_000, () => victim.halted !== undefined)
        expect(victim.halted?.message).toContain(failure)
        expectHeight(
          simulation,
          simulation.monitor.height + 2,
          20_000,
          simulation.nodes.filter((node) => node !== victim),
        )
        victim.disk.faults.failure = undefined
        victim.crash('process')
        restart(simulation, victim)
        expectHeight(simulation, simulation.monitor.height + 1, 20_000)
      }
    },
  })),
  {
    number: 29,
    name: 'one node computes another result: it halts or votes nil, the others go on',
    run: () => {
      const reasons: string[] = []
      const simulation = world({
        validators: 4,
        expectsHalt: (node, error) => {
          reasons.push(error.message)
          return node.index === 3
        },
      })
      simulation.nodes[3]!.application.faultyFrom = 5
      simulation.toleratesFault(3)
      const rest = simulation.nodes.slice(0, 3)
      expectHeight(simulation, 10, 30_000, rest)
      expect(simulation.nodes[3]!.application.height).toBe(5)
      expect(simulation.nodes[3]!.halted).toBeDefined()
      expect(reasons[0]).toMatch(/appHash/)
    },
  },
  {
    number: 29,
    name: 'half of them compute another result: the chain stands, no fork',
    run: () => {
      const simulation = world({ validators: 4, expectsHalt: () => true })
      for (const index of [2, 3]) {
        simulation.nodes[index]!.application.faultyFrom = 5
        simulation.toleratesFault(index)
      }
      simulation.run(30_000)
      expectClean(simulation)
      expect(simulation.monitor.height).toBe(5)
      const votes = simulation.nodes.map(({ index }) => emitted(simulation, index, 6, 0, PREVOTE))
      expect(votes.some((vote) => vote !== undefined && isNilBlockId(vote.blockId))).toBe(true)
    },
  },
  {
    number: 19,
    name: 'everything at once, then calm',
    run: () => {
      const simulation = world({ validators: 7 })
      simulation.network.setLinks({ loss: 0.3, duplication: 0.2, jitterMs: 300 })
      simulation.run(20_000)
      expectClean(simulation)
      calm(simulation)
      expectHeight(simulation, simulation.monitor.height + 3, 30_000)
    },
  },
]

function headersOf(simulation: Simulation, from: number, to: number): readonly ConsensusHeader[] {
  const { application } = simulation.nodes[1]!
  return Array.from({ length: to - from + 1 }, (_, i) => application.block(from + i)!.block.header)
}

/** Block times rise, none is ahead of true time by more than the clocks may differ, and none is far behind it. */
function expectTrueTimes(simulation: Simulation): void {
  const { chain, decisions } = simulation
  const decided = decisions.filter(({ node }) => node === 1)
  let beforeMs = 0
  for (const { height, atMs } of decided) {
    const timeMs = headersOf(simulation, height, height)[0]!.timeMs - chain.genesisTimeMs
    expect(timeMs, `block ${height}`).toBeGreaterThan(beforeMs)
    expect(timeMs - atMs, `block ${height}`).toBeLessThanOrEqual(chain.timing.precisionMs)
    expect(atMs - timeMs, `block ${height}`).toBeLessThan(5_000)
    beforeMs = timeMs
  }
}
