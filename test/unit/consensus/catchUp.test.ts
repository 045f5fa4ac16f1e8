import { beforeEach, describe, expect, it } from 'vitest'
import { createBitSet } from '../../../src/consensus/bitSet.ts'
import { ConsensusGossip, SWEEP_MS } from '../../../src/consensus/consensusGossip.ts'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { blockOf, createValidators, FakeView } from '../../support/consensus/gossipWorld.ts'

const SIZE = 7
const validators = createValidators(SIZE)

let view: FakeView
let gossip: ConsensusGossip
let tick: number

beforeEach(() => {
  view = new FakeView(validators)
  view.height = 10
  gossip = new ConsensusGossip({ ownAddress: validators.validators[0]!.address })
  tick = 0
})

function join(id: string, validator?: number): void {
  gossip.peerJoined(id, validator === undefined ? undefined : validators.validators[validator]!.address, view)
}

function says(id: string, height: number): void {
  gossip.onStatus(
    id,
    {
      kind: 'status',
      height,
      round: 0,
      step: STEPS.propose,
      hasProposal: false,
      parts: undefined,
      prevotes: createBitSet(SIZE),
      precommits: createBitSet(SIZE),
      pol: undefined,
      lastCommit: undefined,
      directValidators: createBitSet(SIZE),
    },
    view,
  )
}

function sweep(times: number): void {
  for (let i = 0; i < times; i++) gossip.sweep(++tick * SWEEP_MS, view)
}

const asked = () => gossip.behind(view)?.peer

describe('a node that is behind', () => {
  it.each([
    [9, 0, undefined],
    [10, 5, undefined],
    [11, 0, undefined],
    [11, 1, undefined],
    [11, 2, 'a'],
    [12, 0, 'a'],
    [2 ** 47, 0, 'a'],
  ])('asks a peer at height %i after %i sweeps: %s', (height, sweeps, expected) => {
    join('a')
    says('a', height)
    sweep(sweeps)
    expect(asked()).toBe(expected)
  })

  it('does not ask when the peer was ahead for a moment only', () => {
    join('a')
    says('a', 11)
    sweep(1)
    view.enterHeight(11, 0)
    says('a', 11)
    says('a', 12)
    sweep(1)
    expect(asked()).toBeUndefined()
  })

  it('goes on asking at once while the peer stays ahead', () => {
    join('a')
    says('a', 13)
    for (let height = 10; height < 13; height++) {
      expect(asked()).toBe('a')
      view.enterHeight(height + 1, 0)
    }
    expect(asked()).toBeUndefined()
  })

  it('asks nobody once the block is decided and here', () => {
    join('a')
    says('a', 12)
    view.step = STEPS.commit
    expect(asked()).toBe('a')
    view.setParts(blockOf(10, 2).set)
    expect(asked()).toBeUndefined()
  })

  it('gives the same answer until something happens', () => {
    for (const id of ['a', 'b', 'c']) {
      join(id)
      says(id, 12)
    }
    const first = gossip.behind(view)
    expect(first).toEqual({ peer: 'a', height: 12, networkHeight: 12 })
    sweep(4)
    expect(gossip.behind(view)).toEqual(first)
  })

  it('takes turns, and asks those that failed last, and ever more seldom', () => {
    for (const id of ['a', 'b', 'c']) {
      join(id)
      says(id, 100)
    }
    const order: (string | undefined)[] = []
    for (let i = 0; i < 3; i++) {
      order.push(asked())
      view.enterHeight(view.height + 1, 0)
    }
    expect(order).toEqual(['a', 'b', 'c'])
    expect(asked()).toBe('a')
    const waits: number[] = []
    for (let failure = 0; failure < 9; failure++) {
      for (const id of ['a', 'b', 'c']) gossip.fetchFailed(id, view.height)
      const before = tick
      while (asked() === undefined) sweep(1)
      waits.push(tick - before)
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 64, 64, 64, 64])
  })

  it('leaves a liar for an honest peer, and a silent one', () => {
    join('liar')
    join('honest')
    says('liar', 2 ** 40)
    says('honest', 15)
    expect(asked()).toBe('liar')
    gossip.fetchFailed('liar', 10)
    expect(asked()).toBe('honest')
    view.enterHeight(11, 0)
    expect(asked()).toBe('honest')
    sweep(5)
    expect(asked()).toBe('liar')
    sweep(5)
    expect(asked()).toBe('honest')
  })

  it('asks validators first, the quick ones of them, whoever claims to be ahead', () => {
    for (const [index, id] of ['s1', 's2', 'slow', 'quick'].entries()) {
      join(id, index < 2 ? undefined : index)
      says(id, 100)
    }
    const order: (string | undefined)[] = []
    for (let height = 0; height < 6; height++) {
      order.push(asked())
      if (order.at(-1) === 'slow') sweep(4)
      view.enterHeight(view.height + 1, 0)
    }
    expect(order).toEqual(['slow', 'quick', 'quick', 'quick', 'quick', 'quick'])
    gossip.fetchFailed('quick', view.height)
    expect(asked()).toBe('slow')
    gossip.fetchFailed('slow', view.height)
    expect(asked()).toBe('s1')
  })

  it('is not held up by peers that connect again instead of answering', () => {
    join('honest', 1)
    says('honest', 100)
    let lost = 0
    for (let height = 0; height < 20; height++) {
      // Strangers, and nodes of one validator.
      for (const [index, id] of ['s1', 's2', 'v1', 'v2'].entries()) {
        gossip.peerLeft(id)
        join(id, index < 2 ? undefined : 2)
        says(id, 100)
      }
      while (asked() !== 'honest') {
        sweep(1)
        lost++
      }
      view.enterHeight(view.height + 1, 0)
    }
    expect(lost).toBeLessThanOrEqual(10)
  })

  it('forgets a peer that leaves', () => {
    join('a')
    says('a', 12)
    expect(asked()).toBe('a')
    gossip.peerLeft('a')
    expect(asked()).toBeUndefined()
    gossip.fetchFailed('a', 10)
    join('a')
    says('a', 12)
    expect(asked()).toBe('a')
  })
})

describe('the height of the network', () => {
  const cases: { name: string; peers: [number | undefined, number][]; expected: number | undefined }[] = [
    {
      name: 'what a third of the power and one more says',
      peers: [
        [1, 50],
        [2, 40],
        [3, 30],
        [4, 20],
      ],
      expected: 30,
    },
    {
      name: 'not what two of seven say',
      peers: [
        [1, 999],
        [2, 999],
        [3, 12],
        [4, 12],
      ],
      expected: 12,
    },
    {
      name: 'not what peers say that are no validators',
      peers: [
        [undefined, 999],
        [1, 12],
        [2, 12],
        [3, 12],
      ],
      expected: 12,
    },
    {
      name: 'not what many nodes of two validators say',
      peers: [
        [1, 999],
        [1, 999],
        [1, 999],
        [2, 999],
        [3, 12],
        [4, 12],
      ],
      expected: 12,
    },
    {
      name: 'without validators, what half of the peers say',
      peers: [
        [undefined, 999],
        [undefined, 20],
        [undefined, 12],
      ],
      expected: 20,
    },
    {
      name: 'of two, the lower',
      peers: [
        [undefined, 999],
        [undefined, 20],
      ],
      expected: 20,
    },
    { name: 'of one, that', peers: [[undefined, 999]], expected: 999 },
    {
      name: 'never below our own',
      peers: [
        [1, 12],
        [2, 3],
        [3, 3],
      ],
      expected: 10,
    },
  ]
  it.each(cases)('is $name', ({ peers, expected }) => {
    for (const [index, [validator, height]] of peers.entries()) {
      join(`p${index}`, validator)
      says(`p${index}`, height)
    }
    sweep(2)
    expect(gossip.behind(view)?.networkHeight).toBe(expected)
  })
})
