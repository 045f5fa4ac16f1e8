import { queryObjects } from 'node:v8'
import { beforeEach, describe, expect, it } from 'vitest'
import { NIL_BLOCK_ID, SIGNED_MESSAGE_TYPES, type Vote } from '../../../src/chain/comet/types.ts'
import { createRankedSet, proposerAt, validatorIndexOf } from '../../../src/chain/comet/validatorSet.ts'
import { bitIndices, createBitSet } from '../../../src/consensus/bitSet.ts'
import { ConsensusGossip, type Send, SWEEP_MS } from '../../../src/consensus/consensusGossip.ts'
import { Delivery } from '../../../src/consensus/gossipPeer.ts'
import { encodeConsensusMessage, type StatusMessage } from '../../../src/consensus/messages.ts'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { blockOf, createValidators, FakeView, voteOf } from '../../support/consensus/gossipWorld.ts'

const { prevote, precommit } = SIGNED_MESSAGE_TYPES

const SIZE = 7
const validators = createValidators(SIZE)
const addressOf = (index: number) => validators.validators[index]!.address
const proposer = validatorIndexOf(validators, proposerAt(validators, 0).address)
const block = blockOf(1, 3)

let view: FakeView
let gossip: ConsensusGossip
let nowMs: number

beforeEach(() => {
  view = new FakeView(validators)
  gossip = new ConsensusGossip({ ownAddress: addressOf(0) })
  nowMs = 0
})

function statusOf(fields: Partial<StatusMessage> = {}): StatusMessage {
  return {
    kind: 'status',
    height: view.height,
    round: view.round,
    step: STEPS.propose,
    hasProposal: false,
    parts: undefined,
    prevotes: createBitSet(SIZE),
    precommits: createBitSet(SIZE),
    pol: undefined,
    lastCommit: undefined,
    directValidators: createBitSet(SIZE),
    ...fields,
  }
}

/** Sends by receiver, as `kind:detail`. */
function told(sends: readonly Send[]): Record<string, string[]> {
  const by: Record<string, string[]> = {}
  for (const { to, message } of sends) {
    const { kind } = message
    const what =
      kind === 'vote'
        ? `${message.vote.type === prevote ? 'prevote' : 'precommit'}:${message.vote.height}/${message.vote.round}/${message.vote.validatorIndex}`
        : kind === 'part'
          ? `part:${message.part.index}`
          : kind
    for (const id of to) {
      by[id] ??= []
      by[id].push(what)
    }
  }
  return by
}

/** @returns all but the status messages */
function sweep(times = 1): Send[] {
  const sends: Send[] = []
  for (let i = 0; i < times; i++) {
    nowMs += SWEEP_MS
    sends.push(...gossip.sweep(nowMs, view).filter(({ message }) => message.kind !== 'status'))
  }
  return sends
}

function join(id: string, index?: number): readonly Send[] {
  return gossip.peerJoined(id, index === undefined ? undefined : addressOf(index), view)
}

function accept(vote: Vote, from: string | undefined): readonly Send[] {
  view.votes(vote.round, vote.type).byIndex[vote.validatorIndex] = vote
  return gossip.onAccepted({ kind: 'vote', vote, from }, view)
}

function takeBlock(): void {
  view.proposal = {
    height: 1,
    round: view.round,
    polRound: -1,
    blockId: block.blockId,
    timestampMs: 1,
    signature: new Uint8Array(64),
  }
  gossip.onAccepted({ kind: 'proposal', proposal: view.proposal, receivedMs: 0, from: undefined }, view)
  view.setParts(block.set)
}

describe('own messages', () => {
  it('go to all peers, whatever they are said to have', () => {
    join('a', 1)
    join('b')
    gossip.onStatus('a', statusOf({ height: 90, prevotes: createBitSet(SIZE, [0]) }), view)
    expect(told(accept(voteOf(validators, 0), undefined))).toEqual({ a: ['prevote:1/0/0'], b: ['prevote:1/0/0'] })
  })

  it('are told to nobody when nobody is there', () => {
    expect(accept(voteOf(validators, 0), undefined)).toEqual([])
    expect(gossip.onEntered(view)).toEqual([])
  })
})

describe('a round in which more than two thirds have voted without a majority', () => {
  const vote = voteOf(validators, 3)

  it('has its votes relayed to peers that are connected to their author, who may have sent them here alone', () => {
    join('author', 3)
    join('peer', 1)
    join('has it', 2)
    const direct = createBitSet(SIZE, [1, 2, 3])
    for (const id of ['author', 'peer', 'has it']) {
      const prevotes = createBitSet(SIZE, id === 'has it' ? [3] : [])
      gossip.onStatus(id, statusOf({ directValidators: direct, prevotes }), view)
    }
    expect(told(accept(vote, 'author'))).toEqual({})
    view.isContested = true
    expect(told(accept(vote, 'author'))).toEqual({ peer: ['prevote:1/0/3'] })
  })

  it('has votes of other rounds relayed as always', () => {
    join('author', 3)
    join('peer', 1)
    gossip.onStatus('peer', statusOf({ directValidators: createBitSet(SIZE, [1, 3]) }), view)
    view.round = 1
    view.isContested = true
    expect(told(accept(vote, 'author'))).toEqual({})
  })
})

describe('an own proposal with a proof of lock', () => {
  it('takes the prevotes for its block to the peers that are not known to have them', () => {
    join('a', 1)
    join('b', 2)
    for (const index of [0, 1, 2]) accept({ ...voteOf(validators, index), blockId: block.blockId }, undefined)
    view.round = 1
    gossip.onMessage('a', { kind: 'vote', vote: voteOf(validators, 1) }, view)
    const { blockId } = block
    const proposal = { height: 1, round: 1, polRound: 0, blockId, timestampMs: 1, signature: new Uint8Array(64) }
    const sends = gossip.onAccepted({ kind: 'proposal', proposal, receivedMs: 0, from: undefined }, view)
    const prevotes = ['prevote:1/0/0', 'prevote:1/0/1', 'prevote:1/0/2']
    expect(told(sends)).toEqual({
      a: [prevotes[0], prevotes[2], 'proposal'],
      b: [...prevotes, 'proposal'],
    })
  })
})

describe('messages of others', () => {
  const vote = voteOf(validators, 3)
  const cases: { name: string; status?: Partial<StatusMessage>; index?: number; from?: string; gets: boolean }[] = [
    { name: 'a peer that is not connected to the author', status: {}, gets: true },
    { name: 'a peer that has said nothing yet', gets: false },
    { name: 'the sender', status: {}, from: 'peer', gets: false },
    { name: 'the author', status: { directValidators: createBitSet(SIZE, [3]) }, index: 3, gets: false },
    {
      name: 'a peer that is connected to the author',
      status: { directValidators: createBitSet(SIZE, [1, 3]) },
      gets: false,
    },
    {
      name: 'a peer that is connected to others',
      status: { directValidators: createBitSet(SIZE, [1, 2]) },
      gets: true,
    },
    { name: 'a peer that has it', status: { prevotes: createBitSet(SIZE, [3]) }, gets: false },
    {
      name: 'a peer that has it of another round',
      status: { round: 2, prevotes: createBitSet(SIZE, [3]) },
      gets: true,
    },
    { name: 'a peer one height behind, which keeps it', status: { height: 4 }, gets: true },
    { name: 'a peer two heights behind', status: { height: 3 }, gets: false },
    { name: 'a peer that is ahead', status: { height: 6 }, gets: false },
  ]
  it.each(cases)('$name: $gets', ({ status, index, from = 'other', gets }) => {
    view.height = 5
    join('peer', index)
    join('other')
    if (status !== undefined) gossip.onStatus('peer', statusOf(status), view)
    const sends = accept({ ...vote, height: 5 }, from)
    expect(told(sends)).toEqual(gets ? { peer: ['prevote:5/0/3'] } : {})
  })

  it('go on to others up to the next round, not of rounds that any validator may have invented', () => {
    view.height = 5
    view.round = 3
    for (const id of ['peer', 'other']) join(id)
    gossip.onStatus('peer', statusOf({ height: 5 }), view)
    const relays = [0, 3, 4, 5, 1_000].map((round) => accept({ ...vote, height: 5, round }, 'other').length)
    expect(relays).toEqual([1, 1, 1, 0, 0])
    expect(accept({ ...vote, height: 5, round: 6 }, undefined)).toHaveLength(1)
  })

  it('precommits also go to peers that have just entered the next height', () => {
    view.height = 5
    join('peer')
    join('other')
    gossip.onStatus('peer', statusOf({ height: 6 }), view)
    const late = voteOf(validators, 3, { height: 5, type: precommit })
    expect(told(accept(late, 'other'))).toEqual({ peer: ['precommit:5/0/3'] })
  })

  it('late precommits of the height before are passed on, not to who has them', () => {
    for (let index = 1; index < 5; index++) view.votes(0, precommit).byIndex[index] = voteOf(validators, index)
    for (const id of ['a', 'b', 'c', 'd']) join(id)
    view.enterHeight(2, 0)
    const lastCommit = {
      round: 0,
      precommits: createBitSet(SIZE, [5]),
      otherPrevotes: createBitSet(SIZE),
      otherPrecommits: createBitSet(SIZE),
    }
    gossip.onStatus('a', statusOf({ height: 2, lastCommit }), view)
    gossip.onStatus('b', statusOf({ height: 1, precommits: createBitSet(SIZE, [5]) }), view)
    gossip.onStatus('c', statusOf({ height: 2 }), view)
    gossip.onStatus('d', statusOf({ height: 1 }), view)
    const late = voteOf(validators, 5, { type: precommit })
    view.lastPrecommits!.byIndex[5] = late
    expect(told(gossip.onAccepted({ kind: 'vote', vote: late, from: 'x' }, view))).toEqual({
      c: ['precommit:1/0/5'],
      d: ['precommit:1/0/5'],
    })
  })

  it('are not passed on to who sent them too, in whatever order', () => {
    for (const id of ['a', 'b', 'c']) {
      join(id)
      gossip.onStatus(id, statusOf(), view)
    }
    gossip.onMessage('a', { kind: 'vote', vote }, view)
    gossip.onMessage('b', { kind: 'vote', vote }, view)
    expect(told(accept(vote, 'a'))).toEqual({ c: ['prevote:1/0/3'] })
  })

  it('proposals and parts are the proposer’s', () => {
    for (const [id, direct] of [
      ['a', [proposer]],
      ['b', [(proposer + 1) % SIZE]],
      ['c', []],
    ] as const) {
      join(id)
      gossip.onStatus(id, statusOf({ directValidators: createBitSet(SIZE, direct) }), view)
    }
    takeBlock()
    const { proposal } = view
    expect(told(gossip.onAccepted({ kind: 'proposal', proposal: proposal!, receivedMs: 0, from: 'c' }, view))).toEqual({
      b: ['proposal'],
    })
    gossip.onStatus('b', statusOf({ parts: { ...block.set.header, have: createBitSet(3, [1]) } }), view)
    const relayed = block.set.parts.map((part) =>
      told(gossip.onAccepted({ kind: 'part', height: 1, round: 0, part, from: 'c' }, view)),
    )
    expect(relayed).toEqual([{ b: ['part:0'] }, {}, { b: ['part:2'] }])
  })

  it('who is connected to whom outlives a change of the validators', () => {
    join('a')
    gossip.onStatus('a', statusOf({ directValidators: createBitSet(SIZE, [3, 4]) }), view)
    const kept = [1, 4, 5, 3].map((index) => validators.validators[index]!)
    const next = new FakeView(
      createRankedSet(kept.map(({ publicKey }, index) => ({ publicKey, power: BigInt(9 - index) }))),
    )
    next.height = 2
    gossip.onStatus('a', { ...statusOf({ height: 1 }), directValidators: createBitSet(SIZE, [3, 4]) }, next)
    const relays = [0, 1, 2, 3].map((index) => {
      const relayed = { ...voteOf(next.validators, index), height: 2 }
      return gossip.onAccepted({ kind: 'vote', vote: relayed, from: 'x' }, next).length
    })
    // Validators 4 and 3 of the old set are 1 and 3 of the new one.
    expect(relays).toEqual([1, 0, 1, 0])
  })
})

describe('status', () => {
  it('goes to a new peer at once and says who is connected directly', () => {
    join('a', 4)
    const [send] = join('b', 2)
    expect(send?.to).toEqual(['b'])
    const { message } = send!
    expect(message.kind === 'status' && bitIndices(message.directValidators)).toEqual([0, 2, 4])
    gossip.peerLeft('a')
    const [later] = gossip.onEntered(view)
    expect(later?.message.kind === 'status' && bitIndices(later.message.directValidators)).toEqual([0, 2])
  })

  it('does not count a peer as connected that is silent, until it is heard again', () => {
    join('a', 4)
    join('b', 2)
    const direct = () => {
      const { message } = gossip.peerJoined('new', undefined, view)[0]!
      return message.kind === 'status' ? bitIndices(message.directValidators) : undefined
    }
    const seen: unknown[] = []
    for (let tick = 0; tick < 6; tick++) {
      sweep()
      gossip.onMessage('b', { kind: 'vote', vote: voteOf(validators, 2) }, view)
      seen.push(direct())
    }
    const both = [0, 2, 4]
    expect(seen).toEqual([both, both, both, both, [0, 2], [0, 2]])
    gossip.onStatus('a', statusOf(), view)
    sweep()
    expect(direct()).toEqual(both)
  })

  it('goes to all for each height and round, and when a quorum does not come together', () => {
    join('a')
    const steps: [Partial<FakeView>, number][] = [
      [{ step: STEPS.newHeight }, 1],
      [{ step: STEPS.newRound }, 0],
      [{ step: STEPS.propose }, 0],
      [{ step: STEPS.prevote }, 0],
      [{ step: STEPS.prevoteWait }, 1],
      [{ step: STEPS.prevoteWait }, 0],
      [{ step: STEPS.precommitWait }, 1],
      [{ round: 1, step: STEPS.propose }, 1],
      [{ step: STEPS.commit }, 0],
      [{ height: 2, round: 0, step: STEPS.newHeight }, 1],
    ]
    for (const [change, expected] of steps) {
      Object.assign(view, change)
      expect(gossip.onEntered(view)).toHaveLength(expected)
    }
  })

  it('is repeated in sweeps while a height lasts: on each change, and now and then', () => {
    join('a')
    const counts: number[] = []
    const step = () => {
      nowMs += SWEEP_MS
      counts.push(gossip.sweep(nowMs, view).length)
    }
    for (let i = 0; i < 6; i++) step()
    accept(voteOf(validators, 0), undefined)
    step()
    expect(counts).toEqual([0, 1, 0, 1, 0, 1, 1])
  })

  it('holds still while the state goes on', () => {
    takeBlock()
    accept(voteOf(validators, 2), 'x')
    join('a')
    const [send] = gossip.onEntered(view)
    const before = encodeConsensusMessage(send!.message)
    accept(voteOf(validators, 3), 'x')
    expect(encodeConsensusMessage(send!.message)).toEqual(before)
    expect(send!.message).toMatchObject({ hasProposal: true, parts: { total: 3 } })
  })

  it('counts those votes for a proof of lock that are for the proposal’s block', () => {
    view.round = 2
    view.proposal = {
      height: 1,
      round: 2,
      polRound: 1,
      blockId: block.blockId,
      timestampMs: 1,
      signature: new Uint8Array(64),
    }
    accept(voteOf(validators, 1, { round: 1, blockId: block.blockId }), 'x')
    accept(voteOf(validators, 2, { round: 1 }), 'x')
    const message = join('a')[0]!.message
    expect(message.kind === 'status' && message.pol && bitIndices(message.pol.prevotes)).toEqual([1])
  })
})

describe('what a peer lacks', () => {
  it('is sent once it has been here for more than a sweep', () => {
    join('a')
    sweep(3)
    accept(voteOf(validators, 1), 'x')
    expect(gossip.onStatus('a', statusOf(), view)).toEqual([])
    sweep()
    expect(gossip.onStatus('a', statusOf(), view)).toEqual([])
    sweep()
    expect(told(gossip.onStatus('a', statusOf(), view))).toEqual({ a: ['prevote:1/0/1'] })
  })

  it('is not what its status shows', () => {
    join('a')
    for (let index = 1; index < 5; index++) accept(voteOf(validators, index), 'x')
    sweep(3)
    expect(told(gossip.onStatus('a', statusOf({ prevotes: createBitSet(SIZE, [1, 3, 6]) }), view))).toEqual({
      a: ['prevote:1/0/2', 'prevote:1/0/4'],
    })
  })

  it('is the proposal and then the parts, for a peer that knows of no block', () => {
    join('a')
    takeBlock()
    sweep(3)
    expect(told(gossip.onStatus('a', statusOf(), view))).toEqual({ a: ['proposal', 'part:0', 'part:1', 'part:2'] })
  })

  it.each([
    ['the block', block.set.header.hash, ['part:0', 'part:2']],
    ['another block', new Uint8Array(32), []],
  ])('is parts of %s it collects, also in another round', (_, hash, expected) => {
    join('a')
    takeBlock()
    view.enterRound(3)
    sweep(3)
    const parts = { total: 3, hash, have: createBitSet(3, [1]) }
    const sends = gossip.onStatus('a', statusOf({ round: 0, parts, hasProposal: true }), view)
    expect(told(sends)['a'] ?? []).toEqual(expected)
  })

  it('is what its round has, and of ours what lets it enter our round', () => {
    join('a')
    const status = statusOf({ round: 0 })
    for (const index of [1, 2]) accept(voteOf(validators, index, { round: 4, type: precommit }), 'x')
    accept(voteOf(validators, 6, { type: precommit }), 'x')
    view.enterRound(4)
    sweep(3)
    // Two of seven validators are not more than a third of the power.
    expect(told(gossip.onStatus('a', status, view))).toEqual({ a: ['precommit:1/0/6'] })
    accept(voteOf(validators, 3, { round: 4 }), 'x')
    const sends = [...sweep(3), ...gossip.onStatus('a', status, view)]
    const votes = ['precommit:1/4/1', 'precommit:1/4/2', 'prevote:1/4/3']
    expect(told(sends)['a']).toEqual(expect.arrayContaining(votes))
  })

  it('is the precommits that ended the round before ours, while ours has no votes', () => {
    join('a')
    for (let index = 1; index < 6; index++) accept(voteOf(validators, index, { round: 59, type: precommit }), 'x')
    view.enterRound(60)
    sweep(3)
    const sends = gossip.onStatus('a', statusOf({ round: 2 }), view)
    expect(told(sends)['a']).toEqual([1, 2, 3, 4, 5].map((index) => `precommit:1/59/${index}`))
  })

  it('is any vote of the next round', () => {
    join('a')
    accept(voteOf(validators, 1, { round: 1 }), 'x')
    view.enterRound(1)
    sweep(3)
    expect(told(gossip.onStatus('a', statusOf({ round: 0 }), view))).toEqual({ a: ['prevote:1/1/1'] })
  })

  it('is a vote of a round that only the peer has entered', () => {
    join('a')
    accept(voteOf(validators, 1, { round: 9 }), 'x')
    sweep(3)
    expect(told(gossip.onStatus('a', statusOf({ round: 9 }), view))).toEqual({ a: ['prevote:1/9/1'] })
  })

  it('is the precommits that decided', () => {
    join('a')
    for (let index = 1; index < 6; index++)
      accept(voteOf(validators, index, { round: 1, type: precommit, blockId: block.blockId }), 'x')
    view.enterRound(3)
    view.commitRound = 1
    sweep(3)
    const sends = gossip.onStatus('a', statusOf({ round: 5 }), view)
    expect(told(sends)['a']).toEqual([1, 2, 3, 4, 5].map((index) => `precommit:1/1/${index}`))
  })

  it('is the prevotes of its proof of lock for the block, though it has others of these validators', () => {
    join('a')
    for (let index = 1; index < 6; index++) accept(voteOf(validators, index, { blockId: block.blockId }), 'x')
    accept(voteOf(validators, 6), 'x')
    view.enterRound(2)
    sweep(3)
    const others: Vote[] = [1, 2, 6].map((index) => voteOf(validators, index, { blockId: NIL_BLOCK_ID }))
    for (const vote of others) gossip.onMessage('a', { kind: 'vote', vote }, view)
    const pol = { round: 0, prevotes: createBitSet(SIZE, [3]) }
    const sends = gossip.onStatus('a', statusOf({ round: 2, hasProposal: true, pol }), view)
    expect(told(sends)['a']).toEqual([1, 2, 4, 5].map((index) => `prevote:1/0/${index}`))
  })

  it('is the last precommits, one height behind', () => {
    join('a')
    for (let index = 1; index < 6; index++) accept(voteOf(validators, index, { type: precommit }), 'x')
    view.enterHeight(2, 0)
    gossip.onEntered(view)
    const status = statusOf({ height: 1, precommits: createBitSet(SIZE, [1, 2, 3]) })
    expect(gossip.onStatus('a', status, view)).toEqual([])
    sweep(2)
    expect(told(gossip.onStatus('a', status, view))).toEqual({ a: ['precommit:1/0/4', 'precommit:1/0/5'] })
  })

  it.each([-2, 1, 50])('is nothing at a height %i away', (distance) => {
    view.height = 5
    join('a')
    accept({ ...voteOf(validators, 1), height: 5 }, 'x')
    sweep(3)
    expect(gossip.onStatus('a', statusOf({ height: 5 + distance }), view)).toEqual([])
  })

  it('is nothing that can be told from a status of another validator set', () => {
    join('a')
    accept(voteOf(validators, 1), 'x')
    sweep(3)
    const sets = { prevotes: createBitSet(9, [1]), precommits: createBitSet(9), directValidators: createBitSet(9, [1]) }
    expect(() => gossip.onStatus('a', statusOf(sets), view)).not.toThrow()
  })

  it('is sent again, ever more seldom, until the peer shows it', () => {
    join('a')
    for (let index = 1; index < 6; index++) accept(voteOf(validators, index), 'x')
    const ticks: number[] = []
    for (let tick = 1; tick <= 120; tick++) {
      const sends = [...sweep(), ...gossip.onStatus('a', statusOf(), view)]
      if (sends.length > 0) ticks.push(tick)
    }
    const gaps = ticks.slice(1).map((tick, index) => tick - ticks[index]!)
    expect(gaps).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
    // One of them at last got there: the others are worth trying again at once.
    const sends = gossip.onStatus('a', statusOf({ prevotes: createBitSet(SIZE, [1, 2, 3, 4]) }), view)
    expect(told(sends)).toEqual({ a: ['prevote:1/0/5'] })
  })

  it('is tried anew for a peer that comes back after silence', () => {
    join('a')
    accept(voteOf(validators, 1), 'x')
    gossip.onStatus('a', statusOf(), view)
    sweep(100)
    expect(told(gossip.onStatus('a', statusOf(), view))).toEqual({ a: ['prevote:1/0/1'] })
  })

  it('does not flood a peer that asks again and again', () => {
    const large = blockOf(1, 32)
    join('a')
    view.setParts(large.set)
    view.round = 1
    sweep(3)
    for (let tick = 0; tick < 40; tick++) {
      let bytes = 0
      for (let i = 0; i < 50; i++) {
        const parts = { ...large.set.header, have: createBitSet(32, i % 2 === 0 ? [] : [i % 32]) }
        for (const { message } of gossip.onStatus('a', statusOf({ round: i, parts }), view)) {
          bytes += encodeConsensusMessage(message).length
        }
      }
      expect(bytes).toBeLessThanOrEqual(512 * 1024)
      for (const { message } of sweep()) bytes += encodeConsensusMessage(message).length
      expect(bytes).toBeLessThanOrEqual(1024 * 1024)
    }
  })
})

describe('in a mesh of 50', () => {
  const many = createValidators(50)

  it('a few of those that have it send what one validator lacks, and all of them if it stays so', () => {
    const nodes = Array.from({ length: 49 }, (_, index) => {
      const node = {
        view: new FakeView(many),
        gossip: new ConsensusGossip({ ownAddress: many.validators[index]!.address }),
      }
      node.gossip.peerJoined('z', many.validators[49]!.address, node.view)
      node.view.votes(0, prevote).byIndex[7] = voteOf(many, 7)
      return node
    })
    const status = {
      ...statusOf(),
      prevotes: createBitSet(50),
      precommits: createBitSet(50),
      directValidators: createBitSet(50, Array(50).keys()),
    }
    const copies: number[] = []
    for (let tick = 1; tick <= 8; tick++) {
      let count = 0
      for (const node of nodes) {
        const sends = [
          ...node.gossip.sweep(tick * SWEEP_MS, node.view),
          ...node.gossip.onStatus('z', status, node.view),
        ]
        count += sends.filter(({ message }) => message.kind === 'vote').length
      }
      copies.push(count)
    }
    expect(copies[0]).toBe(0)
    expect(copies[1]).toBeGreaterThan(0)
    expect(copies[1]).toBeLessThanOrEqual(3)
    expect(copies.slice(0, 7).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(49)
  })
})

describe('hostile peers', () => {
  it('cannot make gossip throw, grow, or stop serving others', () => {
    const before = queryObjects(Delivery, { format: 'count' })
    join('bad')
    join('good')
    accept(voteOf(validators, 1), 'x')
    sweep(3)
    for (let i = 0; i < 2000; i++) {
      const size = 1 + (i % 40)
      gossip.onStatus(
        'bad',
        statusOf({
          height: i % 5,
          round: i * 1_000_003,
          prevotes: createBitSet(size, [0]),
          precommits: createBitSet(size, [0]),
          directValidators: createBitSet(size, [0]),
          pol: { round: i, prevotes: createBitSet(size, [0]) },
          lastCommit: {
            round: i,
            precommits: createBitSet(size),
            otherPrevotes: createBitSet(size, [i % size]),
            otherPrecommits: createBitSet(size, [i % size]),
          },
          parts: { total: size, hash: new Uint8Array(32).fill(i), have: createBitSet(size) },
        }),
        view,
      )
      const vote = voteOf(validators, 1, { round: i * 999_983, height: i % 3 })
      gossip.onMessage('bad', { kind: 'vote', vote: { ...vote, validatorIndex: i * 7919 } }, view)
      gossip.onMessage('bad', { kind: 'part', height: 1, round: i, part: { ...block.set.parts[0]!, index: i } }, view)
      gossip.onMessage('unknown', { kind: 'vote', vote }, view)
    }
    // One for each thing that is remembered of the bad peer, few for the good one: not thousands.
    expect(queryObjects(Delivery, { format: 'count' }) - before).toBeLessThan(40)
    expect(gossip.onStatus('unknown', statusOf(), view)).toEqual([])
    expect(told(gossip.onStatus('good', statusOf(), view))).toEqual({ good: ['prevote:1/0/1'] })
  })
})

describe('a peer that has another vote than that for the decided block', () => {
  it('is sent this one, once for each type, and no other vote', () => {
    const silent = statusOf({})
    join('a', 1)
    for (const type of [prevote, precommit]) {
      for (let index = 0; index < SIZE; index++) {
        const vote = { ...voteOf(validators, index), type, blockId: index === 4 ? NIL_BLOCK_ID : block.blockId }
        view.votes(0, type).byIndex[index] = vote
      }
    }
    view.enterHeight(2, 0)
    gossip.onEntered(view)
    // It has nil of 5; of 4 this node has nil itself.
    const others = createBitSet(SIZE, [4, 5])
    const have = createBitSet(
      SIZE,
      Array.from({ length: SIZE }, (_, index) => index),
    )
    const lastCommit = { round: 0, precommits: have, otherPrevotes: others, otherPrecommits: others }
    const status = { ...silent, height: 2, lastCommit }
    expect(told(gossip.onStatus('a', status, view))).toEqual({ a: ['prevote:1/0/5', 'precommit:1/0/5'] })
    expect(gossip.onStatus('a', status, view)).toEqual([])
    // Of another round, or height, these say nothing.
    join('b', 2)
    expect(gossip.onStatus('b', { ...status, height: 3 }, view)).toEqual([])
    expect(gossip.onStatus('b', { ...status, lastCommit: { ...lastCommit, round: 1 } }, view)).toEqual([])
    expect(told(gossip.onStatus('b', status, view))).toEqual({ b: ['prevote:1/0/5', 'precommit:1/0/5'] })
  })

  it('is shown by its status', () => {
    for (const type of [prevote, precommit]) {
      for (let index = 0; index < SIZE; index++) {
        const isNil = index === (type === prevote ? 2 : 6)
        const vote = { ...voteOf(validators, index), type, blockId: isNil ? NIL_BLOCK_ID : block.blockId }
        view.votes(0, type).byIndex[index] = vote
      }
    }
    join('a')
    view.enterHeight(2, 0)
    const [{ message }] = gossip.onEntered(view) as [Send]
    expect(message).toMatchObject({
      lastCommit: { otherPrevotes: createBitSet(SIZE, [2]), otherPrecommits: createBitSet(SIZE, [6]) },
    })
  })
})
