import { describe, expect, it } from 'vitest'
import { SIGNED_MESSAGE_TYPES } from '../../../src/chain/consensus/types.ts'
import type { RoundStateView } from '../../../src/consensus/roundStateView.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { checkChain } from './checkChain.ts'
import { createNetwork, settle, type TestNetwork, type TestNode } from './consensusHarness.ts'
import { seededRandom } from './seededRandom.ts'

const { prevote, precommit } = SIGNED_MESSAGE_TYPES

async function started(size: number): Promise<TestNetwork> {
  const network = createNetwork(size)
  for (const node of network.nodes) {
    node.application.txsFor = ({ height }) => [new Uint8Array(100).fill(height)]
    await node.start()
  }
  return network
}

function reached(network: TestNetwork, height: number): Promise<void> {
  return network.until(() => network.nodes.some(hasHalted) || network.nodes.every((node) => node.height >= height))
}

function hasHalted({ halted }: TestNode): boolean {
  return halted !== undefined
}

/** All nodes have the same blocks as far as both go, and nobody has signed twice. */
function checkNetwork(network: TestNetwork): void {
  expect(network.nodes.map(({ halted }) => halted)).toEqual(network.nodes.map(() => undefined))
  expect(network.signed.conflicts).toEqual([])
  expect(network.punished).toEqual([])
  const [first, ...others] = [...network.nodes].sort((a, b) => b.height - a.height)
  checkChain(first!.application)
  const hashes = (node: TestNode) => node.application.blocks.map(({ blockId }) => bytesToHex(blockId.hash))
  for (const node of others) expect(hashes(node)).toEqual(hashes(first!).slice(0, node.height))
}

/** What of a height a restart has to come back to. */
function stateOf(view: RoundStateView) {
  const votes = Array.from({ length: view.round + 1 }, (_, round) =>
    [prevote, precommit].map((type) => bytesToHex(view.votes(round, type)?.bits().bytes ?? new Uint8Array())),
  )
  return {
    height: view.height,
    round: view.round,
    step: view.step,
    proposal: view.proposal,
    lockedRound: view.lockedRound,
    lockedBlockId: view.lockedBlockId,
    validRound: view.validRound,
    validBlockId: view.validBlockId,
    votes,
  }
}

describe('four validators', () => {
  it('decide fifty equal blocks, each in round 0, 400 ms apart', async () => {
    const network = await started(4)
    await reached(network, 50)
    checkNetwork(network)
    const { blocks } = network.nodes[0]!.application
    expect(blocks.every(({ seenCommit }) => seenCommit.round === 0)).toBe(true)
    const times = blocks.map(({ block }) => block.header.timeMs)
    expect(Math.abs((times[49]! - times[0]!) / 49 - 400)).toBeLessThan(4)
    // Every precommit comes in time for the next block.
    for (const { block } of blocks.slice(1)) {
      expect(block.lastCommit.signatures.filter(({ flag }) => flag === 2)).toHaveLength(4)
    }
  })

  it('are paced by one schedule, though they begin one after the other', async () => {
    const network = createNetwork(4)
    for (const node of network.nodes) {
      await node.start()
      await pass(network, 1500)
    }
    await reached(network, 60)
    checkNetwork(network)
    const times = network.nodes[0]!.decidedAtMs
    const gaps = times.slice(31, 60).map((time, index) => time - times[30 + index]!)
    expect(Math.min(...gaps)).toBeGreaterThan(300)
    expect(Math.max(...gaps)).toBeLessThan(500)
  })

  it('go on with one of them away, and it comes back by the blocks of others', async () => {
    const network = await started(4)
    await reached(network, 5)
    const [, , , last] = network.nodes
    last!.kill('all')
    await network.until(() => network.nodes[0]!.height >= 15)
    await last!.start()
    await network.until(() => last!.height >= 15)
    const height = network.nodes[0]!.height
    await reached(network, height + 10)
    checkNetwork(network)
    expect(last!.behind).toEqual([])
    // It signs again.
    const own = last!.settings.key.address
    const { seenCommit } = network.nodes[0]!.application.blocks[height + 7]!
    const { lastCommit } = network.nodes[0]!.application.blocks[height + 8]!.block
    expect([seenCommit, lastCommit].some(({ signatures }) =>
      signatures.some(({ flag, validatorAddress }) => flag === 2 && bytesToHex(validatorAddress) === bytesToHex(own)),
    )).toBe(true)
  })

  it('that are far behind say so', async () => {
    const network = await started(4)
    const last = network.nodes[3]!
    last.kill('all')
    await network.until(() => network.nodes[0]!.height >= 40)
    await last.start()
    await network.until(() => last.behind.length > 0)
    expect(last.behind[0]).toBe(last.height + 1)
  })

  it('halt without a quorum and resume with it', async () => {
    const network = await started(4)
    await reached(network, 3)
    const gone = network.nodes.slice(2)
    for (const node of gone) node.kill('durable')
    const { clock } = network
    await pass(network, 600_000)
    const height = network.nodes[0]!.height
    for (const node of gone) await node.start()
    const resumedMs = clock.monotonicMs()
    await reached(network, height + 1)
    expect(clock.monotonicMs() - resumedMs).toBeLessThan(5000)
    await reached(network, height + 10)
    checkNetwork(network)
  }, 60_000)
})

/** That much time passes. */
function pass(network: TestNetwork, ms: number): Promise<void> {
  const { clock } = network
  const endMs = clock.monotonicMs() + ms
  clock.setTimer(ms, () => undefined)
  return network.until(() => clock.monotonicMs() >= endMs)
}

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe('crashes', () => {
  it.each(seeds(20))('of any nodes at any time leave one chain and no second signature (seed %d)', async (seed) => {
    const random = seededRandom(seed)
    const network = createNetwork(4, { segmentBytes: 20_000 })
    network.latencyMs = () => 5 + 60 * random()
    network.loses = () => random() < 0.05
    for (const node of network.nodes) await node.start()
    for (let crash = 0; crash < 6; crash++) {
      await pass(network, 900 * random())
      const gone = network.nodes.filter(() => random() < 0.5)
      for (const node of gone) {
        const how = random() < 0.5 ? 'all' : 'durable'
        node.kill(how)
        // A database writes its end to the disk a little later; the log has it.
        if (how === 'durable') node.application = node.application.at(Math.max(0, node.height - Math.round(random())))
      }
      await pass(network, 1500 * random())
      for (const node of gone) await node.start()
    }
    const height = Math.max(...network.nodes.map((node) => node.height))
    await reached(network, height + 5)
    checkNetwork(network)
    expect(network.signed.size).toBeGreaterThan(30)
  })

  const seen = { locked: 0, laterRound: 0 }

  it.each(seeds(12))('lose nothing of what consensus had come to in the height (seed %d)', async (seed) => {
    const random = seededRandom(seed)
    const network = createNetwork(4)
    network.latencyMs = () => 5 + 100 * random()
    // Precommits get lost so often that rounds fail after locks were taken.
    network.loses = (_from, _to, message) =>
      random() < (message.kind === 'vote' && message.vote.type === precommit ? 0.6 : 0.1)
    for (const node of network.nodes) await node.start()
    for (let stop = 0; stop < 12; stop++) {
      await pass(network, 100 + 900 * random())
      const node = network.nodes[Math.floor(random() * 4)]!
      const engine = node.service!.engine!
      // All that it had come to is in the log when that is closed.
      await node.stop()
      const before = stateOf(engine.roundState)
      const service = await node.open()
      service.startEngine()
      const after = stateOf(service.engine!.roundState)
      if (after.height === before.height) {
        expect(after).toEqual(before)
        if (after.lockedRound >= 0) seen.locked++
        if (after.round > 0) seen.laterRound++
      } else {
        expect(after.height).toBe(before.height + 1)
      }
      network.connect(node)
      await settle()
    }
    checkNetwork(network)
  })

  it('came in locked states and later rounds too', () => {
    expect(seen.locked).toBeGreaterThan(5)
    expect(seen.laterRound).toBeGreaterThan(5)
  })
})
