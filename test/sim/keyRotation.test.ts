import { describe, expect, it } from 'vitest'
import { SIGNED_MESSAGE_TYPES } from '../../src/chain/comet/types.ts'
import type { ValidatorUpdate } from '../../src/consensus/application.ts'
import { equalBytes } from '../../src/primitives/bytes.ts'
import { PROPERTY_RUNS } from '../propertyRuns.ts'
import { expectClean, expectHeight, restart, world } from './scenarios/scenario.ts'
import type { SimKey } from './signatureScheme.ts'
import type { CrashKind } from './simDisk.ts'
import type { Simulation } from './simulation.ts'

/** At the end of this block consensus is told of the other key; it signs from ROTATION + 2 on. */
const ROTATION = 3
const FIRST = ROTATION + 2

/** All in `indices` rotate in block {@link ROTATION}. */
function rotating(
  validators: number,
  indices: readonly number[],
  { seed = 1, remoteSigners = false }: { readonly seed?: number; readonly remoteSigners?: boolean } = {},
): Simulation {
  const updatesAt = (height: number, keys: readonly SimKey[], next: readonly SimKey[]): readonly ValidatorUpdate[] =>
    height !== ROTATION
      ? []
      : indices.flatMap((index) => [
          { publicKey: keys[index]!.publicKey, power: 0n },
          { publicKey: next[index]!.publicKey, power: 10n },
        ])
  return world({ seed, validators, updatesAt, rotates: true, segmentBytes: 8 << 10, remoteSigners })
}

/** Heights for which the node has signed a precommit, each with the right key. */
function signedHeights(simulation: Simulation, index: number, isRotating: boolean): ReadonlySet<number> {
  const heights = new Set<number>()
  for (const { height, type, validatorAddress } of simulation.nodes[index]!.signedVotes) {
    const keys = isRotating && height >= FIRST ? simulation.nextKeys : simulation.keys
    expect([height, equalBytes(validatorAddress, keys[index]!.address)]).toEqual([height, true])
    if (type === SIGNED_MESSAGE_TYPES.precommit) heights.add(height)
  }
  return heights
}

describe('a validator that rotates its key', () => {
  it.each([
    [1, [0]],
    [4, [2]],
    [4, [0, 1, 2, 3]],
  ])('of %i, %o rotate: each signs every height, with the key of the height', (validators, indices) => {
    const simulation = rotating(validators, indices)
    expectHeight(simulation, FIRST + 4, 30_000)
    for (const { index } of simulation.nodes) {
      const signed = signedHeights(simulation, index, indices.includes(index))
      for (let height = 1; height <= FIRST + 3; height++) expect([index, height, signed.has(height)]).toContain(true)
    }
    expect(simulation.monitor.maxRound).toBe(0)
  })

  it.each(
    [ROTATION, ROTATION + 1, FIRST, FIRST + 1].flatMap((height) =>
      (['process', 'power'] as const).map((kind): [number, CrashKind] => [height, kind]),
    ),
  )('is killed in height %i (%s), at any call, and goes on with the right key', (height, kind) => {
    let died = 0
    const step = Math.max(1, Math.floor(12 / PROPERTY_RUNS))
    for (const validators of [1, 4]) {
      for (let call = 1; call <= 32; call += step) {
        const simulation = rotating(validators, [0], { seed: call })
        const node = simulation.nodes[0]!
        simulation.run(30_000, () => node.application.height >= height - 1)
        node.crashAt = { call: node.calls + call, kind }
        simulation.run(simulation.queue.nowMs + 3_000, () => !node.isUp)
        if (node.isUp) continue
        died++
        simulation.run(simulation.queue.nowMs + ((call * 37) % 900))
        restart(simulation, node)
        expectHeight(simulation, simulation.monitor.height + 4, 20_000)
        signedHeights(simulation, 0, true)
      }
    }
    expect(died).toBeGreaterThan(0)
  })

  it('from a remote signer to a key of the node: each signs its own heights', () => {
    for (let seed = 1; seed <= 3; seed++) {
      const simulation = rotating(4, [0, 2], { seed, remoteSigners: true })
      expectHeight(simulation, FIRST + 6, 60_000)
      for (const { index } of simulation.nodes) {
        const signed = signedHeights(simulation, index, [0, 2].includes(index))
        expect([...signed].some((height) => height > FIRST)).toBe(true)
      }
    }
  })

  it('is away while its key changes, and comes back with the other one', () => {
    const simulation = rotating(4, [1])
    const node = simulation.nodes[1]!
    simulation.run(30_000, () => node.application.height >= ROTATION - 1)
    node.crash('power')
    simulation.runToHeight(
      FIRST + 3,
      60_000,
      simulation.nodes.filter(({ index }) => index !== 1),
    )
    restart(simulation, node)
    expectHeight(simulation, FIRST + 8, 60_000)
    expectClean(simulation)
    expect([...signedHeights(simulation, 1, true)].some((signed) => signed > FIRST)).toBe(true)
  })
})
