import { expect } from 'vitest'
import { QUIET_BLOCKS } from '../../../src/consensus/copyWatch.ts'
import { RecoveryError } from '../../../src/consensus/recovery.ts'
import { encodeWalEntry } from '../../../src/consensus/walEntry.ts'
import { bytesKey } from '../../../src/primitives/bytes.ts'
import { PROPERTY_RUNS, runs } from '../../propertyRuns.ts'
import type { CrashKind, SimDisk } from '../simDisk.ts'
import { SimLog } from '../simLog.ts'
import type { SimNode } from '../simNode.ts'
import { Simulation } from '../simulation.ts'
import { expectClean, expectHeight, restart, type Scenario, world } from './scenario.ts'

/** How many calls of its environment a node makes in the heights that the kill tests go through. */
const CALLS = 160
/** One of this many calls is tested; all of them in the long run. */
const STEP = Math.max(1, Math.floor(8 / PROPERTY_RUNS))

/** Scenarios of processes that die at the worst moment, and of logs that are damaged. */
export const recoveryScenarios: readonly Scenario[] = [
  ...(['process', 'power'] as const).flatMap((kind: CrashKind) =>
    [1, 4].map((validators) => ({
      number: 22,
      name: `killed (${kind}) at one of ${CALLS} calls to its environment, one of ${validators}: it comes back the same`,
      run: () => {
        let died = 0
        for (let call = 1; call <= CALLS; call += STEP) {
          const simulation = world({ seed: call, validators, segmentBytes: 8 << 10 })
          const node = simulation.nodes[call % validators]!
          node.crashAt = { call: node.calls + call, kind }
          simulation.run(6_000, () => !node.isUp)
          if (node.isUp) continue
          died++
          simulation.run(simulation.queue.nowMs + ((call * 37) % 900))
          restart(simulation, node)
          expectHeight(simulation, simulation.monitor.height + 3, 10_000)
        }
        expect(died).toBeGreaterThan((CALLS / STEP) * 0.9)
      },
    })),
  ),
  {
    number: 23,
    name: 'the log ends, is zero, or has a stray bit at any byte of what was not synced: the end is cut off',
    run: () => {
      const simulation = world({ validators: 4, segmentBytes: 4 << 10 })
      expectHeight(simulation, 3, 5_000)
      const node = simulation.nodes[1]!
      const hasTail = (): boolean => {
        const tail = node.disk.tail!
        return tail.length > tail.syncedLength
      }
      for (let attempt = 0; attempt < Math.min(6, runs(3)); attempt++) {
        expect(simulation.run(simulation.queue.nowMs + 10_000, hasTail)).toBe(true)
        const { name, syncedLength, length } = node.disk.tail!
        const whole = entriesOf(node.disk.copy(), simulation)
        for (let at = syncedLength; at < length; at++) {
          const disk = node.disk.copy()
          const damage = at % 3
          if (damage === 0) disk.truncate(name, at)
          else if (damage === 1) disk.zero(name, at)
          else disk.flipBit(name, at, at % 8)
          const entries = entriesOf(disk, simulation)
          expect(entries.length).toBeLessThanOrEqual(whole.length)
          expect(entries.every((entry, index) => entry === whole[index])).toBe(true)
        }
        simulation.run(simulation.queue.nowMs + 150, () => !hasTail())
      }
    },
  },
  {
    number: 23,
    name: 'a stray bit before the end: the log is refused, with an instruction',
    run: () => {
      const simulation = world({ validators: 4, segmentBytes: 1 << 20 })
      expectHeight(simulation, 3, 5_000)
      const { disk } = simulation.nodes[1]!
      const name = disk.tail!.name
      const synced = disk.tail!.syncedLength
      expect(simulation.run(simulation.queue.nowMs + 10_000, () => disk.tail!.syncedLength > synced)).toBe(true)
      let refused = 0
      for (let at = 0; at < synced; at += 31) {
        const copy = disk.copy()
        copy.flipBit(name, at, at % 8)
        try {
          entriesOf(copy, simulation)
        } catch (error) {
          refused++
          expect((error as Error).message).toMatch(/damaged|genesis|format/)
        }
      }
      expect(refused).toBe(Math.ceil(synced / 31))
    },
  },
  ...(['everything', 'the database', 'the log'] as const).map((what) => ({
    number: 25,
    name: `an older copy of ${what} is restored after a crash: the key never signs against itself`,
    run: () => {
      for (let seed = 1; seed <= runs(6); seed++) {
        const simulation = world({
          seed,
          validators: 4,
          followsSync: true,
          expectsHalt: (_node, error) => error instanceof RecoveryError,
        })
        // Votes of a height go over several rounds.
        // Messages that nobody received cannot reveal an old copy.
        simulation.network.setLinks({ loss: what === 'the database' ? 0.2 : 0, jitterMs: 100 })
        simulation.run(1_000 + seed * 31)
        const node = simulation.nodes[seed % 4]!
        const old = node.backUp()
        // A copy of the same height cannot be distinguished from the present state.
        simulation.run(simulation.queue.nowMs + 60_000, () => node.application.height >= old.application.height + 2)
        simulation.run(simulation.queue.nowMs + seed * 23)
        node.crash(seed % 4 < 2 ? 'process' : 'power')
        const present = node.backUp()
        node.restore({
          disk: what === 'the database' ? present.disk : old.disk,
          application: what === 'the log' ? present.application : old.application,
          evidenceTexts: old.evidenceTexts,
        })
        simulation.run(simulation.queue.nowMs + 20)
        restart(simulation, node)
        simulation.run(simulation.queue.nowMs + 10_000)
        expectClean(simulation)
        simulation.network.setLinks({ loss: 0, jitterMs: 5 })
        const rest = simulation.nodes.filter((other) => other.halted === undefined)
        expectHeight(simulation, simulation.monitor.height + 4, 90_000, rest)
      }
    },
  })),
  {
    number: 25,
    name: 'a key runs twice: evidence on all nodes, and the chain goes on',
    run: () => {
      const simulation = world({ validators: 5, twins: new Map([[4, 3]]), powers: [10, 10, 10, 10, 0] })
      // Twins that receive everything at once sign the same; these receive it in another order.
      simulation.network.eachLink((link, from, to) => {
        if (from === 4 || to === 4) link.latencyMs = 110
      })
      simulation.nodes[4]!.clockOffsetMs = 37
      const found = () => simulation.nodes.slice(0, 3).every(({ application }) => application.offences.size > 0)
      simulation.rule = (_from, to, message) =>
        message.kind === 'proposal' && message.proposal.height % 4 === 2 && to === 4 ? 'drop' : undefined
      const isFound = simulation.run(60_000, found)
      expectClean(simulation)
      expect(isFound).toBe(true)
      expect(simulation.nodes[4]!.unknownSignatures + simulation.nodes[3]!.unknownSignatures).toBeGreaterThan(0)
    },
  },
  {
    number: 30,
    name: 'a backup is started beside its original: it signs nothing, until that has stopped and blocks are decided without it',
    run: () => {
      for (let seed = 1; seed <= runs(2); seed++) {
        const simulation = new Simulation({
          seed,
          validators: 5,
          twins: new Map([[4, 3]]),
          powers: [10, 10, 10, 10, 0],
          followsSync: seed % 2 === 0,
        })
        const [first, , , original, copy] = simulation.nodes as [SimNode, SimNode, SimNode, SimNode, SimNode]
        for (const node of simulation.nodes) if (node !== copy) node.start()
        for (const node of simulation.nodes) {
          for (let peer = 0; peer < node.index && node !== copy; peer++) simulation.network.connect(node.index, peer)
        }
        const others = simulation.nodes.slice(0, 4)
        expectHeight(simulation, 4, 15_000, others)
        const backup = original.backUp()
        const mark = original.application.height
        expectHeight(simulation, 5 + seed * 4, 60_000, others)
        copy.restore(backup)
        copy.copyMark = mark
        simulation.network.setLinks({ loss: 0.05, jitterMs: 150 })
        for (let life = 1; life <= 3; life++) {
          restart(simulation, copy)
          expectHeight(simulation, first.application.height + 20, 120_000, [first])
          copy.crash(life % 2 === 0 ? 'power' : 'process')
        }
        expect({ mark: copy.copyMark, signed: copy.signedVotes.length }).toEqual({ mark, signed: 0 })
        expect(copy.application.height).toBeGreaterThan(mark)

        simulation.network.setLinks({ loss: 0, jitterMs: 5 })
        original.crash('process')
        restart(simulation, copy)
        const survivors = simulation.nodes.filter((node) => node !== original)
        expectHeight(simulation, first.application.height + 3 * QUIET_BLOCKS, 120_000, survivors)
        expect(copy.copyMark).toBeUndefined()
        const lastOf = (node: SimNode) => Math.max(...node.signedVotes.map(({ height }) => height))
        expect(Math.min(...copy.signedVotes.map(({ height }) => height))).toBeGreaterThan(lastOf(original))
        expect(lastOf(copy)).toBeGreaterThan(lastOf(original))
      }
    },
  },
]

/** What a process that starts finds in the log. */
function entriesOf(disk: SimDisk, { chain, random }: Simulation): string[] {
  const entries: string[] = []
  const options = { disk, genesisHash: chain.genesisHash, random, segmentBytes: 1 << 20 }
  new SimLog(options, (entry) => entries.push(bytesKey(encodeWalEntry(entry))))
  return entries
}
