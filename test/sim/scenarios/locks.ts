import { expect } from 'vitest'
import { equalBlockId, isNilBlockId } from '../../../src/chain/comet/types.ts'
import { runs } from '../../propertyRuns.ts'
import { emitted, expectHeight, PRECOMMIT, PREVOTE, roundOf, type Scenario, world } from './scenario.ts'

/** Rounds that a node misses; a hundred more in the long run. */
const ROUNDS_AWAY = Math.min(200, runs(100))

/** Scenarios of single messages that come late or not at all. Node indices are not those of the validator set. */
export const lockScenarios: readonly Scenario[] = [
  {
    number: 11,
    name: 'one node locks in round 0 and nobody else saw why: a later round decides',
    run: () => {
      const simulation = world({ validators: 4 })
      const height = 3
      // Everybody but node 0 misses one prevote of the first round, and node 3 gets no proposal of it, so votes nil.
      simulation.rule = (from, to, message) => {
        if (message.kind === 'proposal' || message.kind === 'part') {
          const own = message.kind === 'proposal' ? message.proposal : message
          return own.height === height && own.round === 0 && to === 3 ? 'drop' : undefined
        }
        if (message.kind !== 'vote') return undefined
        const { vote } = message
        if (vote.height !== height || vote.round !== 0 || to === 0) return undefined
        // What node 0 knows of round 0 stays with it, and its precommit too.
        return from === 0 ? 'drop' : undefined
      }
      expectHeight(simulation, height + 3, 20_000)
      const locked = emitted(simulation, 0, height, 0, PRECOMMIT)
      if (locked !== undefined && !isNilBlockId(locked.blockId)) expect(roundOf(simulation, height)).toBeGreaterThan(0)
    },
  },
  {
    number: 12,
    name: 'a quorum of prevotes for a block that is not there: the block is fetched, the lock stays',
    run: () => {
      const simulation = world({ validators: 4 })
      const height = 3
      simulation.rule = (_from, to, message) => {
        const isLate = simulation.monitor.height < height || simulation.queue.nowMs < 0
        if (to !== 3 || message.kind !== 'part' || message.height !== height) return undefined
        return isLate ? 'drop' : undefined
      }
      expectHeight(simulation, height + 2, 10_000)
      const vote = emitted(simulation, 3, height, 0, PREVOTE)
      if (vote !== undefined) expect(isNilBlockId(vote.blockId)).toBe(true)
    },
  },
  {
    number: 14,
    name: 'a quorum of prevotes comes before the proposal: no nil prevote in haste',
    run: () => {
      const simulation = world({ validators: 4 })
      const height = 3
      simulation.rule = (_from, to, message) => {
        const isProposal =
          (message.kind === 'proposal' && message.proposal.height === height) ||
          (message.kind === 'part' && message.height === height) ||
          (message.kind === 'vote' && message.vote.type === PRECOMMIT && message.vote.height === height)
        return to === 3 && isProposal ? 400 : undefined
      }
      expectHeight(simulation, height + 1, 10_000)
      const vote = emitted(simulation, 3, height, 0, PREVOTE)
      expect(vote).toBeDefined()
      expect(equalBlockId(vote!.blockId, simulation.monitor.canonicalBlock(height)!.blockId)).toBe(true)
    },
  },
  {
    number: 15,
    name: 'precommits of an older round come after moving on: decided at once',
    run: () => {
      const simulation = world({ validators: 4 })
      const height = 3
      let open = false
      // No two nodes exchange precommits of round 0, so all go on, until the way is free.
      simulation.rule = (_from, _to, message) => {
        if (open || message.kind !== 'vote') return undefined
        const { vote } = message
        if (vote.height !== height || isNilBlockId(vote.blockId) || vote.type !== PRECOMMIT) return undefined
        return 'drop'
      }
      const inLaterRound = (): boolean =>
        simulation.nodes.every(({ engine }) => engine!.roundState.height === height && engine!.roundState.round > 0)
      // Precommits of the others do not come, so nobody has two thirds of any: prevotes of round 1 lead on.
      const moved = simulation.run(15_000, inLaterRound)
      open = true
      const begin = simulation.queue.nowMs
      expectHeight(simulation, height, 5_000)
      if (moved) expect(simulation.queue.nowMs - begin).toBeLessThan(2_500)
    },
  },
  {
    number: 16,
    name: 'a node that was away for many rounds is in the newest one within 2 s',
    run: () => {
      const simulation = world({ validators: 4 })
      const height = 3
      simulation.runToHeight(height - 1, 5_000)
      let proposals = false
      simulation.rule = (_from, _to, message) => (!proposals && message.kind === 'proposal' ? 'drop' : undefined)
      simulation.network.partition([[0, 1, 2], [3]], 'silent')
      const round = (node: number): number => simulation.nodes[node]!.engine!.roundState.round
      expect(simulation.run(3_600_000, () => round(0) >= ROUNDS_AWAY)).toBe(true)
      simulation.network.setLinks({ blocked: false })
      expect(round(3)).toBeLessThan(5)
      const begin = simulation.queue.nowMs
      expect(simulation.run(begin + 2_000, () => round(3) >= round(0) - 1)).toBe(true)
      proposals = true
      expectHeight(simulation, simulation.monitor.height + 3, 60_000)
    },
  },
]
