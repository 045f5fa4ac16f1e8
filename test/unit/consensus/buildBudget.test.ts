import { describe, expect, it } from 'vitest'
import { BuildBudget } from '../../../src/consensus/buildBudget.ts'
import { createNetwork, type TestNetwork, type TestNode } from '../../support/consensus/consensusHarness.ts'

const INTERVAL_MS = 400
const HASH = new Uint8Array(32).fill(7)
const LEAST_MS = 40
const FIRST_MS = 120
const MOST_MS = 240

/** A decided block: of this node, or of another one. */
const OWN = { hash: HASH, isOwn: true, validators: 4 }
const FOREIGN = { hash: HASH, isOwn: false, validators: 4 }

interface Height {
  /** of the proposer */
  readonly workMs: number
  /** that it takes in addition, to its end */
  readonly restMs: number
  /** that execution takes here; as long as the proposer's work by default */
  readonly executionMs?: number
}

/** A height whose block another validator has built; the block's way takes 20 ms of the rest. */
function foreign(budget: BuildBudget, { workMs, restMs, executionMs = workMs }: Height): void {
  const completeMs = 1_000 + workMs + 20
  budget.roundBegan(1_000)
  budget.received(HASH, completeMs)
  budget.executed(HASH, completeMs, completeMs + executionMs)
  budget.decided(FOREIGN, 1_000 + workMs + restMs)
}

function own(budget: BuildBudget, { workMs, restMs }: Height): void {
  budget.roundBegan(1_000)
  budget.built(1_000, 1_000 + workMs)
  budget.decided(OWN, 1_000 + workMs + restMs)
}

describe('the budget for building a block', () => {
  it.each([
    // 320 ms = w + L + r × w
    { what: 'fast validators', slowness: 0, networkMs: 200, restsAt: 120 },
    { what: 'equal validators', slowness: 1, networkMs: 80, restsAt: 120 },
    { what: 'validators half as fast', slowness: 2, networkMs: 50, restsAt: 90 },
    { what: 'validators a fourth as fast', slowness: 4, networkMs: 60, restsAt: 52 },
    { what: 'validators a tenth as fast', slowness: 10, networkMs: 80, restsAt: LEAST_MS },
    { what: 'nothing but the network', slowness: 0, networkMs: 30, restsAt: MOST_MS },
  ])('comes to rest where a full block fits: $what', ({ slowness, networkMs, restsAt }) => {
    for (const height of [own, foreign]) {
      const budget = new BuildBudget(INTERVAL_MS)
      for (let i = 0; i < 300; i++) {
        height(budget, { workMs: budget.ms, restMs: networkMs + slowness * budget.ms })
        // However slow the others are, it does not swing far.
        if (i > 100) expect(Math.abs(budget.ms - restsAt)).toBeLessThan(restsAt * 0.2)
      }
    }
  })

  it('leaves less time for others where there are none', () => {
    const budget = new BuildBudget(INTERVAL_MS)
    for (let i = 0; i < 300; i++) {
      budget.roundBegan(1_000)
      budget.built(1_000, 1_000 + budget.ms)
      budget.decided({ ...OWN, validators: 1 }, 1_200 + budget.ms)
    }
    // 360 ms = w + L
    expect(budget.ms).toBeCloseTo(160, 0)
  })

  it('goes down with the first two blocks that take too long, and up slowly', () => {
    const budget = new BuildBudget(INTERVAL_MS)
    const slow = { workMs: 120, restMs: 280 }
    foreign(budget, slow)
    expect(budget.ms).toBe(100)
    foreign(budget, slow)
    expect(budget.ms).toBe(90)
    foreign(budget, { workMs: 90, restMs: 130 })
    expect(budget.ms).toBe(90 + 50 / 8)
  })

  it('takes what hides the way of a block from its proposer for work only where its execution took as long', () => {
    const [quick, slow] = [new BuildBudget(INTERVAL_MS), new BuildBudget(INTERVAL_MS)]
    foreign(quick, { workMs: 120, restMs: 280, executionMs: 60 })
    foreign(slow, { workMs: 120, restMs: 280, executionMs: 500 })
    expect([quick.ms, slow.ms]).toEqual([(120 + LEAST_MS) / 2, (120 + 100) / 2])
  })

  it('learns little from small blocks', () => {
    const budget = new BuildBudget(INTERVAL_MS)
    for (let i = 0; i < 10; i++) foreign(budget, { workMs: 1, restMs: 80 })
    expect(budget.ms - FIRST_MS).toBeLessThan(3)
  })

  it('stays within its bounds, whatever others propose', () => {
    const budget = new BuildBudget(INTERVAL_MS)
    for (let i = 0; i < 20; i++) foreign(budget, { workMs: 2_000, restMs: 60_000 })
    expect(budget.ms).toBeCloseTo(LEAST_MS, 1)
    for (let i = 0; i < 300; i++) foreign(budget, { workMs: 300, restMs: 20 })
    expect(budget.ms).toBeCloseTo(MOST_MS, 1)
  })

  it('goes down when a block of this node was not decided', () => {
    const budget = new BuildBudget(INTERVAL_MS)
    budget.built(0, 120)
    budget.roundBegan(800)
    budget.received(HASH, 900)
    budget.executed(HASH, 900, 901)
    budget.decided(FOREIGN, 1_000)
    expect(budget.ms).toBe((FIRST_MS + LEAST_MS) / 2)
  })

  it('stays as it is when nothing was measured', () => {
    const budget = new BuildBudget(INTERVAL_MS)
    budget.decided(FOREIGN, 1_000) // of a peer, in catch-up
    budget.decided(OWN, 2_000) // built before a restart
    expect(budget.ms).toBe(FIRST_MS)
  })

  it('measures a block once, also when it is proposed again', () => {
    const budget = new BuildBudget(INTERVAL_MS)
    budget.roundBegan(0)
    budget.received(HASH, 140)
    budget.executed(HASH, 140, 260)
    budget.roundBegan(700)
    budget.received(HASH, 720)
    budget.executed(HASH, 720, 721)
    budget.decided(FOREIGN, 760)
    expect(budget.ms).toBe((FIRST_MS + LEAST_MS) / 2)
    // As if it had been built in the second round.
    const naive = new BuildBudget(INTERVAL_MS)
    naive.roundBegan(700)
    naive.received(HASH, 720)
    naive.executed(HASH, 720, 721)
    naive.decided(FOREIGN, 760)
    expect(naive.ms).toBeGreaterThan(budget.ms)
  })
})

/**
 * Four validators under full load, on a clock of their own: a proposer works as long as its budget lets it, the others execute the block
 * in `slowness` times as long.
 */
async function loadedNetwork(slowness: number): Promise<TestNetwork> {
  const network = createNetwork(4)
  const { clock } = network
  const takes = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimer(ms, resolve))
  /** that the newest proposal for a height took its proposer */
  const work = new Map<number, number>()
  for (const { application } of network.nodes) {
    application.before = (step, height) => {
      if (step === 'prepareProposal') {
        work.set(height, application.budgetMs)
        return takes(application.budgetMs)
      }
      return takes(step === 'processProposal' ? slowness * work.get(height)! : 5)
    }
  }
  for (const node of network.nodes) await node.start()
  return network
}

function intervals({ decidedAtMs }: TestNode, from: number, to: number): number[] {
  return decidedAtMs.slice(from, to).map((atMs, index) => atMs - decidedAtMs[from + index - 1]!)
}

describe('a network under full load', () => {
  it.each([1, 3])('keeps its block interval when validators take %s times as long as proposers', async (slowness) => {
    const network = await loadedNetwork(slowness)
    await network.until(() => network.nodes.every(({ height }) => height >= 50))
    const [node] = network.nodes
    const settled = intervals(node!, 25, 50)
    const average = settled.reduce((sum, ms) => sum + ms, 0) / settled.length
    expect(average).toBeLessThan(INTERVAL_MS + 15)
    expect(Math.max(...settled)).toBeLessThan(600)
    for (const { application } of network.nodes) expect(application.budgetMs).toBeGreaterThan(LEAST_MS)
  })
})

describe('blocks of this node that others did not accept', () => {
  it('halve the budget, which comes back by an eighth with each that is decided', () => {
    const budget = new BuildBudget(INTERVAL_MS)
    for (const [refusals, share] of [
      [1, 1 / 2],
      [2, 1 / 4],
      [3, 1 / 8],
    ] as const) {
      budget.refused()
      expect([budget.refusals, budget.ms]).toEqual([refusals, FIRST_MS * share])
    }
    for (let i = 0; i < 10; i++) budget.refused()
    expect(budget.ms).toBe(FIRST_MS / 64)
    // Those of others say nothing about it.
    budget.decided(FOREIGN, 1_000)
    expect(budget.ms).toBe(FIRST_MS / 64)
    budget.decided(OWN, 2_000)
    expect([budget.refusals, budget.ms]).toEqual([0, (FIRST_MS / 64) * (9 / 8)])
    for (let i = 0; i < 40; i++) budget.decided(OWN, 2_000)
    expect(budget.ms).toBe(FIRST_MS)
  })
})
