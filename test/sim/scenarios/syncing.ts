import { expect } from 'vitest'
import { runs } from '../../propertyRuns.ts'
import { liar } from '../byzantine/floods.ts'
import { Simulation } from '../simulation.ts'
import { validatorScript } from '../validatorScript.ts'
import { expectClean, expectHeight, restart, type Scenario, world } from './scenario.ts'

/** Scenarios of nodes that are behind, and of validators that come and go. */
export const syncScenarios: readonly Scenario[] = [
  ...[1, 3, 10, 15, 20, 50, 300].map((behind) => ({
    number: 26,
    name: `a node comes back ${behind} blocks behind: it catches up and votes again`,
    run: () => {
      const simulation = world({ validators: 4, followsSync: true })
      expectHeight(simulation, 3, 15_000)
      const [away, ...rest] = simulation.nodes
      away!.crash('process')
      const height = away!.application.height
      expectHeight(simulation, height + behind, behind * 1_000 + 10_000, rest)
      restart(simulation, away!)
      const begin = simulation.queue.nowMs
      expectHeight(simulation, simulation.monitor.height + 1, 5_000 + behind * 150)
      // Further blocks come in a few of the newest's intervals, and the node is one of the voters again.
      expect(simulation.queue.nowMs - begin).toBeLessThan(5_000 + behind * 150)
      expectHeight(simulation, simulation.monitor.height + 8, 15_000)
      expect(away!.isSyncing).toBe(false)
      const commits = [1, 2, 3, 4].map((back) => rest[0]!.application.block(simulation.monitor.height - back)!.block)
      const isIn = commits.some(({ lastCommit }) =>
        lastCommit.signatures.every(({ signature }) => signature.length > 0),
      )
      expect(isIn).toBe(true)
    },
  })),
  {
    number: 26,
    name: 'a node is cut off while it runs, for 100 blocks: it leaves consensus, syncs and returns',
    run: () => {
      for (const followsSync of [false, true]) {
        const simulation = world({ validators: 4, followsSync })
        expectHeight(simulation, 5, 15_000)
        const [away, ...rest] = simulation.nodes
        simulation.network.partition([[0], [1, 2, 3]], 'silent')
        const { height } = away!.application
        expectHeight(simulation, height + 100, 120_000, rest)
        expect(away!.application.height).toBeLessThan(height + 3)
        simulation.network.setLinks({ blocked: false })
        expectHeight(simulation, simulation.monitor.height + 2, 20_000)
        expect(away!.syncs).toBeGreaterThan(0)
        expectHeight(simulation, simulation.monitor.height + 6, 10_000)
        expect(away!.isSyncing).toBe(false)
      }
    },
  },
  {
    number: 26,
    name: 'a full node that joins late syncs, follows, and syncs again',
    run: () => {
      const simulation = new Simulation({ seed: 1, validators: 4, fullNodes: 1, followsSync: true })
      const joiner = simulation.nodes[4]!
      for (const node of simulation.nodes) if (node !== joiner) node.start()
      for (const node of simulation.nodes) {
        for (let peer = 0; peer < node.index && node !== joiner; peer++) simulation.network.connect(node.index, peer)
      }
      for (const blocks of [150, 60]) {
        const validators = simulation.nodes.slice(0, 4)
        expectHeight(simulation, simulation.monitor.height + blocks, blocks * 600 + 10_000, validators)
        restart(simulation, joiner)
        expectHeight(simulation, simulation.monitor.height + 1, 15_000)
        expectHeight(simulation, simulation.monitor.height + 5, 10_000)
        expect(joiner.isSyncing).toBe(false)
        joiner.crash('power')
      }
    },
  },
  ...[false, true].flatMap((followsSync) =>
    [5, 12, 60].map((behind) => ({
      number: 27,
      name: `liars about heights, blocks and commits among the peers, ${behind} blocks behind (${followsSync ? 'production' : 'plain'} sync)`,
      run: () => {
        for (let seed = 1; seed <= runs(1); seed++) {
          const byzantine = new Map([
            [1, liar()],
            [2, liar()],
          ])
          const simulation = world({ seed, validators: 7, byzantine, followsSync })
          expectHeight(simulation, 3, 20_000)
          const away = simulation.nodes[0]!
          away.crash('process')
          const rest = simulation.honest.slice(1)
          expectHeight(simulation, away.application.height + behind, behind * 1_500 + 10_000, rest)
          restart(simulation, away)
          expectHeight(simulation, simulation.monitor.height + 2, 60_000)
        }
      },
    })),
  ),
  {
    number: 28,
    name: 'validators change with every block',
    run: () => {
      for (let seed = 1; seed <= runs(2); seed++) {
        const powers = [10, 10, 10, 10, 0, 0, 0]
        const script = validatorScript({ seed, powers, byzantine: new Set(), oneIn: 1 })
        const simulation = world({ seed, validators: 7, powers, updatesAt: script })
        expectHeight(simulation, 60, 60 * 800)
      }
    },
  },
  {
    number: 28,
    name: 'from 4 validators to 50 and back to 4',
    run: () => {
      const size = 50
      const powers = Array.from({ length: size }, (_, index) => (index < 4 ? 10 : 0))
      const simulation = world({
        validators: size,
        powers,
        updatesAt: (height, keys) => {
          const changed = height === 3 ? 10n : height === 8 ? 0n : undefined
          return changed === undefined ? [] : keys.slice(4).map(({ publicKey }) => ({ publicKey, power: changed }))
        },
      })
      expectHeight(simulation, 14, 20_000)
      const { application } = simulation.nodes[0]!
      expect(application.validatorsAt(4)!.validators.length).toBe(4)
      expect(application.validatorsAt(6)!.validators.length).toBe(50)
      expect(application.validatorsAt(11)!.validators.length).toBe(4)
      expectClean(simulation)
    },
  },
  {
    number: 28,
    name: 'the proposer is removed in its own round',
    run: () => {
      const simulation = world({
        validators: 5,
        updatesAt: (height, keys) => {
          // The first proposer of height + 2 has been removed.
          const key = keys[height % 5]!
          return height % 2 === 0 ? [{ publicKey: key.publicKey, power: height % 4 === 0 ? 10n : 1n }] : []
        },
      })
      expectHeight(simulation, 30, 30_000)
    },
  },
]
