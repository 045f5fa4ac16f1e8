import { expect } from 'vitest'
import { SIGNED_MESSAGE_TYPES, type Vote, type VoteType } from '../../../src/chain/comet/types.ts'
import { reconnect } from '../faults.ts'
import type { SimNode } from '../simNode.ts'
import { Simulation, type SimulationOptions } from '../simulation.ts'

/** One of the situations that an engine must survive; numbers as in the list of the consensus research. */
export interface Scenario {
  readonly number: number
  readonly name: string
  readonly run: () => void
}

export const { prevote: PREVOTE, precommit: PRECOMMIT } = SIGNED_MESSAGE_TYPES

/** A world that has begun. */
export function world(options: Partial<SimulationOptions> & { readonly validators: number }): Simulation {
  const simulation = new Simulation({ seed: 1, ...options })
  simulation.startAll()
  simulation.connectAll()
  return simulation
}

export function expectClean(simulation: Simulation): void {
  const [first] = simulation.violations
  if (first !== undefined) {
    throw new Error(`seed ${simulation.options.seed}: ${first.atMs} ms ${first.rule}: ${first.details}`)
  }
}

/** All of them get to that height in time, without a violation. */
export function expectHeight(
  simulation: Simulation,
  height: number,
  limitMs: number,
  nodes: readonly SimNode[] = simulation.honest,
): void {
  const reached = simulation.runToHeight(height, limitMs, nodes)
  expectClean(simulation)
  const heights = nodes.map(({ application, engine }) => {
    const view = engine?.roundState
    return `${application.height} (at ${view?.height}/${view?.round}/${view?.step})`
  })
  expect(reached, `heights ${heights.join(', ')} in place of ${height} after ${limitMs} ms`).toBe(true)
}

export function restart(simulation: Simulation, node: SimNode): void {
  node.start()
  reconnect(simulation, node)
}

/** Round in which a height was decided, as the first node knew it. */
export function roundOf(simulation: Simulation, height: number): number {
  return simulation.decisions.find((decision) => decision.height === height)!.round
}

/** Virtual times at which a node decided, by height - 1. */
export function decisionTimes(simulation: Simulation, node = simulation.honest[0]!.index): number[] {
  return simulation.decisions.filter((decision) => decision.node === node).map(({ atMs }) => atMs)
}

export function emitted(
  simulation: Simulation,
  node: number,
  height: number,
  round: number,
  type: VoteType,
): Vote | undefined {
  return simulation.monitor.emittedVote(simulation.keys[node]!.address, height, round, type)
}

/** Which node proposes in each round of a height, as far as the sets follow from the genesis. */
export function proposers(simulation: Simulation, height: number, rounds: number): number[] {
  const set = simulation.nodes[0]!.application.validatorsAt(height)!
  return Array.from({ length: rounds }, (_, round) => {
    const { address } = simulation.proposerOf(set, round)
    return simulation.keys.findIndex((key) => key.address.every((byte, at) => byte === address[at]))
  })
}
