import { describe, expect, it } from 'vitest'
import { SIGNED_MESSAGE_TYPES } from '../../../src/chain/comet/types.ts'
import { SWEEP_MS } from '../../../src/consensus/consensusGossip.ts'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { GossipWorld, LINKS, type WorldOptions } from '../../support/consensus/gossipWorld.ts'

const { prevote, precommit } = SIGNED_MESSAGE_TYPES

/** Every validator votes twice and the first proposes; nobody goes on. */
function createStaticWorld(options: WorldOptions): GossipWorld {
  const world = new GossipWorld(options)
  world.run(60)
  for (const node of world.nodes) node.view.step = STEPS.precommit
  world.nodes[0]!.propose()
  for (const node of world.nodes) for (const type of [prevote, precommit]) node.vote(type)
  return world
}

function hasEverything(world: GossipWorld): boolean {
  const { validators } = world.options
  return world.nodes.every(
    ({ view }) =>
      view.proposal !== undefined &&
      view.parts?.complete === true &&
      view.votes(0, prevote).count === validators &&
      view.votes(0, precommit).count === validators,
  )
}

describe('a full mesh without loss', () => {
  it.each([4, 7, 16])('of %i validators relays nothing and sends nothing twice', (nodes) => {
    const world = new GossipWorld({ nodes, links: LINKS.mesh(nodes), progresses: true })
    // Once all have told who is connected to whom.
    world.run(3 * SWEEP_MS)
    for (const node of world.nodes) node.begin()
    const heights = 12
    expect(world.run(60_000, () => world.nodes.every(({ view }) => view.height > heights))).toBeDefined()
    world.run(1)
    expect(world.relayed).toBe(0)
    const reached = Math.max(...world.nodes.map(({ view }) => view.height))
    const { vote, part, proposal, status } = world.sent
    // Each of them goes from its author to every other node, once.
    expect(vote).toBeLessThanOrEqual(reached * nodes * (nodes - 1) * 2)
    expect(vote).toBeGreaterThanOrEqual(heights * nodes * (nodes - 1) * 2)
    expect(proposal).toBeLessThanOrEqual(reached * (nodes - 1))
    expect(part).toBe(proposal * world.options.partCount)
    expect(status).toBeLessThanOrEqual((reached + 2) * nodes * (nodes - 1) * 2)
    expect(world.nodes.map(({ pulled }) => pulled)).toEqual(new Array(nodes).fill(0))
  })
})

describe('nodes that are not all connected', () => {
  it.each([
    ['a line', LINKS.line(6), 6],
    ['a star', LINKS.star(9), 9],
    ['a line with full nodes at its ends', LINKS.line(6), 4],
    ['a random graph', LINKS.random(10, 8, 5), 10],
  ])('%s gets everything by relays alone, before the first sweep', (_, links, validators) => {
    const nodes = Math.max(...links.flat()) + 1
    const world = createStaticWorld({ nodes, validators, links, latencyMs: [1, 2] })
    const { sweeps } = world
    expect(world.run(SWEEP_MS, () => hasEverything(world))).toBeLessThan(nodes * 2 + 1)
    expect(world.sweeps - sweeps).toBeLessThan(nodes)
  })

  it('sends a vote over each link of a line once', () => {
    const world = createStaticWorld({ nodes: 5, links: LINKS.line(5), latencyMs: [1, 2] })
    world.run(5000)
    expect(hasEverything(world)).toBe(true)
    expect(world.sent).toMatchObject({ vote: 4 * 2 * 5, proposal: 4, part: 4 * 3 })
  })
})

describe('loss', () => {
  const graphs = [
    ['mesh', LINKS.mesh(7)],
    ['line', LINKS.line(7)],
    ['star', LINKS.star(7)],
    ['random graph', LINKS.random(7, 4, 3)],
  ] as const
  const limits = [
    { loss: 0.05, sweeps: 20 },
    { loss: 0.3, sweeps: 50 },
    { loss: 0.6, sweeps: 150 },
  ]
  const cases = graphs.flatMap(([name, links]) => limits.map((limit) => ({ name, links, ...limit })))

  it.each(cases)('of $loss in a $name: all get everything within $sweeps sweeps', ({ links, loss, sweeps }) => {
    for (let seed = 1; seed <= 3; seed++) {
      const world = createStaticWorld({ nodes: 7, links, loss, seed })
      expect(world.run(sweeps * SWEEP_MS, () => hasEverything(world))).toBeDefined()
    }
  })

  it.each(graphs)('in a %s of validators that go on: all reach height 20', (_, links) => {
    for (let seed = 1; seed <= 2; seed++) {
      const world = new GossipWorld({ nodes: 7, links, loss: 0.1, seed, progresses: true })
      world.run(60)
      for (const node of world.nodes) node.begin()
      expect(world.run(60_000, () => world.nodes.every(({ view }) => view.height >= 20))).toBeDefined()
    }
  })
})
