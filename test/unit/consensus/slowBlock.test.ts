import { describe, expect, it } from 'vitest'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { checkChain } from '../../support/consensus/checkChain.ts'
import { createNetwork, type TestNetwork, type TestNode } from '../../support/consensus/consensusHarness.ts'

/** The height whose first proposer has prepared the slowest block that the gas limit allows. */
const SLOW_HEIGHT = 10
const LAST_HEIGHT = 32
const MARK = Uint8Array.of(0xee)
const INTERVAL_MS = 400

/** @param executionMs that the block takes each other validator, in the order in which they get it; its proposer executes nothing */
async function networkWithSlowBlock(executionMs: readonly number[]): Promise<TestNetwork> {
  const network = createNetwork(4)
  const { clock } = network
  const takes = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimer(ms, resolve))
  let proposer: TestNode | undefined
  const waiting = [...executionMs]
  for (const node of network.nodes) {
    const { application } = node
    application.txsFor = ({ height }) => {
      if (height !== SLOW_HEIGHT || proposer !== undefined) return []
      proposer = node
      return [MARK]
    }
    let hasExecuted = false
    application.before = (step, height) => {
      if (height === SLOW_HEIGHT && step === 'processProposal' && node !== proposer && !hasExecuted) {
        hasExecuted = true
        return takes(waiting.shift()!)
      }
      return takes(5)
    }
  }
  for (const node of network.nodes) await node.start()
  await network.until(() => network.nodes.every(({ height }) => height >= LAST_HEIGHT), 120_000)
  return network
}

function meanInterval({ decidedAtMs }: TestNode, from: number, to: number): number {
  return (decidedAtMs[to - 1]! - decidedAtMs[from - 1]!) / (to - from)
}

describe('a block that takes the validators far longer than its proposer', () => {
  it.each([
    { what: 'less than the timeout for proposals', executionMs: [500, 500, 500], isDecided: true },
    { what: 'longer than that', executionMs: [1_400, 1_400, 1_400], isDecided: false },
    { what: 'several times as long', executionMs: [3_000, 3_000, 3_000], isDecided: false },
    {
      what: 'longer for one validator alone',
      executionMs: [1_400, 300, 300],
      isDecided: true,
    },
    { what: 'longer for half of them', executionMs: [1_400, 1_400, 300], isDecided: false },
  ])('costs two slow heights at most, and no fork: $what', async ({ executionMs, isDecided }) => {
    const network = await networkWithSlowBlock(executionMs)
    const [first] = network.nodes
    expect(network.signed.conflicts).toEqual([])
    expect(network.punished).toEqual([])
    checkChain(first!.application)
    const hashes = network.nodes.map(({ application }) =>
      application.blocks.slice(0, LAST_HEIGHT).map(({ blockId }) => bytesToHex(blockId.hash)),
    )
    for (const others of hashes) expect(others).toEqual(hashes[0])
    // Four validators have a round each meanwhile: nobody builds for those that are over when the executor is free again.
    const built = network.nodes.flatMap(({ application }) => application.built)
    expect(built.filter((height) => height === SLOW_HEIGHT).length).toBeLessThanOrEqual(3)
    const { blocks } = first!.application
    expect(blocks[SLOW_HEIGHT - 1]!.block.txs).toEqual(isDecided ? [MARK] : [])
    const failed = blocks.filter(({ seenCommit }) => seenCommit.round > 0).map(({ block }) => block.header.height)
    expect(failed.filter((height) => height !== SLOW_HEIGHT && height !== SLOW_HEIGHT + 1)).toEqual([])
    // Back at the interval once the late blocks are made up for.
    for (const node of network.nodes) {
      expect(Math.abs(meanInterval(node, LAST_HEIGHT - 10, LAST_HEIGHT) - INTERVAL_MS)).toBeLessThan(20)
    }
  })
})

describe('a check that takes longer than its round', () => {
  /** A network whose application stops checks as it is told; the first blocks of `slowHeight` take `checkMs`. */
  function stoppingNetwork(checkMs: (txs: number) => number, txsFor: (height: number) => number): TestNetwork {
    const network = createNetwork(4)
    const takes = (ms: number): Promise<void> => new Promise((resolve) => void network.clock.setTimer(ms, resolve))
    for (const { application } of network.nodes) {
      application.txsFor = ({ height }) => {
        const txs = Math.ceil(txsFor(height) * Math.min(1, application.budgetMs / (INTERVAL_MS * 0.3)))
        return Array.from({ length: txs }, (_, index) => Uint8Array.of(height, index))
      }
      application.before = () => takes(5)
      application.checkFor = async ({ txs }, budgetMs) => {
        const neededMs = checkMs(txs.length)
        await takes(Math.min(neededMs, budgetMs))
        return neededMs > budgetMs ? 'stopped' : 'checked'
      }
    }
    return network
  }

  it('is stopped by the timeouts of the round, and its proposer makes smaller blocks until they fit', async () => {
    // Sixteen transactions of 100 ms: four of them fit into the 700 ms for a proposal.
    const network = stoppingNetwork(
      (txs) => 100 * txs,
      (height) => (height >= SLOW_HEIGHT ? 16 : 0),
    )
    for (const node of network.nodes) await node.start()
    await network.until(() => network.nodes.every(({ height }) => height >= LAST_HEIGHT), 120_000)
    expect(network.signed.conflicts).toEqual([])
    for (const { application } of network.nodes) {
      // Timeouts of the first rounds for the proposal and for prevotes.
      const early = application.checks.filter(({ height }) => height < SLOW_HEIGHT)
      for (const { budgetMs } of early) expect(budgetMs).toBeLessThanOrEqual(700 + 200)
      // Now and then a proposer tries whether a larger one fits again.
      const failed = application.blocks
        .slice(SLOW_HEIGHT + 8, LAST_HEIGHT)
        .filter(({ seenCommit }) => seenCommit.round > 0)
      expect(failed.length).toBeLessThanOrEqual(2)
    }
    const sizes = network.nodes[0]!.application.blocks.map(({ block }) => block.txs.length)
    // Sixteen were never accepted.
    expect(Math.max(...sizes)).toBeLessThan(12)
    expect(Math.max(...sizes.slice(SLOW_HEIGHT + 8))).toBeGreaterThan(0)
  })

  it('does not halt the chain where it never ends', async () => {
    const network = stoppingNetwork(
      (txs) => (txs > 0 ? Number.POSITIVE_INFINITY : 5),
      () => 0,
    )
    for (const { application } of network.nodes) {
      // A proposer leaves out what was not accepted.
      application.txsFor = ({ height, refusals = 0 }) => (height === SLOW_HEIGHT && refusals === 0 ? [MARK] : [])
    }
    for (const node of network.nodes) await node.start()
    await network.until(() => network.nodes.every(({ height }) => height >= SLOW_HEIGHT + 3), 120_000)
    const { blocks } = network.nodes[0]!.application
    expect(blocks[SLOW_HEIGHT - 1]!.block.txs).toEqual([])
    expect(network.signed.conflicts).toEqual([])
  })
})
