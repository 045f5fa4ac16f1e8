import { describe, expect, it } from 'vitest'
import type { BlockId, Vote } from '../../../src/chain/comet/types.ts'
import { FUTURE_ROUNDS_PER_PEER, MAX_FUTURE_ROUNDS, MAX_ROUND } from '../../../src/consensus/heightVotes.ts'
import { step } from '../../../src/consensus/reducer.ts'
import { RoundState } from '../../../src/consensus/roundState.ts'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import {
  CHAIN,
  genesisState,
  PRECOMMIT,
  PREVOTE,
  Scene,
  verifyMessage,
} from '../../support/consensus/reducerHarness.ts'

const ME = 3

function blockIdOf(tag: number): BlockId {
  const hash = sha256(Uint8Array.of(tag, tag >> 8))
  return { hash, partSetHeader: { total: 1, hash } }
}

describe('a vote', () => {
  it.each([
    { what: 'of an unknown validator', change: { validatorIndex: 4 } },
    { what: 'of a validator below the first', change: { validatorIndex: -1 } },
    { what: "of one validator in another's place", change: { validatorIndex: 1 } },
    {
      what: 'for a block without parts',
      change: { blockId: { ...blockIdOf(1), partSetHeader: { total: 0, hash: new Uint8Array(32) } } },
    },
    {
      what: 'for a block with too many',
      change: { blockId: { ...blockIdOf(1), partSetHeader: { total: 32, hash: new Uint8Array(32) } } },
    },
    { what: 'from before the genesis, which would be no evidence', change: { timestampMs: CHAIN.genesisTimeMs - 1 } },
    { what: 'for half a block ID', change: { blockId: { ...blockIdOf(1), hash: new Uint8Array() } } },
  ])('$what is malformed', ({ change }) => {
    const scene = new Scene({ me: ME })
    scene.receive({ ...scene.vote(0, PREVOTE, 0, undefined), ...change }, 'liar')
    expect(scene.all('misbehaviour')).toMatchObject([{ peer: 'liar', what: 'malformed' }])
    expect(scene.rs.heightVotes.prevotes(0)!.power()).toBe(0n)
  })

  it('that is not well signed is refused, and its sender blamed', () => {
    const scene = new Scene({ me: ME })
    const vote = scene.vote(0, PREVOTE, 0, undefined)
    for (const forged of [
      { ...vote, signature: new Uint8Array(64) },
      { ...vote, timestampMs: vote.timestampMs + 1 },
    ]) {
      scene.receive(forged, 'liar')
    }
    expect(scene.all('misbehaviour').map(({ what }) => what)).toEqual(['bad signature', 'bad signature'])
    expect(scene.rs.heightVotes.prevotes(0)!.power()).toBe(0n)
  })

  it('that comes again costs no signature check', () => {
    let checks = 0
    const state = genesisState()
    const verify: typeof verifyMessage = (...args) => {
      checks++
      return verifyMessage(...args)
    }
    const rs = new RoundState({ chain: CHAIN, state, address: undefined, verify })
    const scene = new Scene({ me: ME })
    const vote = scene.vote(0, PREVOTE, 0, undefined)
    // Only the first one says anything new: the others are repeated, of other heights, of rounds far away or past.
    const votes = [
      vote,
      vote,
      { ...vote, timestampMs: vote.timestampMs + 5 },
      { ...vote, height: 3 },
      { ...vote, height: 0 },
      { ...vote, round: MAX_ROUND + 1 },
      { ...vote, round: 2 ** 31 - 1 },
    ]
    const effects = votes.flatMap((each) => step(rs, { kind: 'vote', vote: each, from: 'peer' }))
    expect(checks).toBe(1)
    expect(effects.map(({ kind }) => kind)).toEqual(['accepted'])
  })

  it('of this node, handed back by a peer, is a vote like any other', () => {
    const scene = new Scene({ me: ME })
    scene.start()
    scene.receive(scene.vote(ME, PREVOTE, 0, undefined))
    expect(scene.rs.step).toBe(STEPS.propose)
    expect(scene.rs.heightVotes.prevotes(0)!.has(ME)).toBe(true)
  })
})

describe('two votes of one validator', () => {
  it('are reported once, and only the first counts', () => {
    const scene = new Scene({ me: ME })
    const first = scene.vote(0, PREVOTE, 0, undefined)
    const second = scene.vote(0, PREVOTE, 0, blockIdOf(1))
    for (const vote of [first, second, second, scene.vote(0, PREVOTE, 0, blockIdOf(2))]) scene.receive(vote)
    expect(scene.all('equivocation')).toEqual([{ kind: 'equivocation', first, second }])
    expect(scene.all('accepted')).toHaveLength(1)
  })

  it('are not reported when they are for the same', () => {
    const scene = new Scene({ me: ME })
    scene.receive(scene.vote(0, PREVOTE, 0, undefined))
    scene.receive(scene.vote(0, PRECOMMIT, 0, undefined))
    scene.receive(scene.vote(0, PREVOTE, 1, blockIdOf(1)))
    expect(scene.all('equivocation')).toEqual([])
  })

  it('cannot keep a majority from the block that others vote for', () => {
    const scene = new Scene({ me: 'none' })
    scene.prevotes(0, undefined, 0)
    scene.prevotes(0, blockIdOf(1), 1, 2)
    expect(scene.rs.heightVotes.prevotes(0)!.majority()).toBeUndefined()
    scene.prevotes(0, blockIdOf(1), 0)
    expect(scene.rs.heightVotes.prevotes(0)!.majority()).toEqual(blockIdOf(1))
    expect(scene.rs.heightVotes.prevotes(0)!.vote(0)!.blockId).toEqual(blockIdOf(1))
    expect(scene.rs.heightVotes.prevotes(0)!.power()).toBe(36n)
  })
})

describe('a flood', () => {
  it('of rounds opens two a peer', () => {
    const scene = new Scene({ me: ME })
    for (let round = 2; round < 3000; round += 7) scene.receive(scene.vote(0, PREVOTE, round, undefined), 'one')
    expect(scene.rs.heightVotes.rounds()).toEqual([0, 1, 2, 9])
    scene.receive(scene.vote(1, PREVOTE, 500, undefined), 'two')
    expect(scene.rs.heightVotes.rounds()).toEqual([0, 1, 2, 9, 500])
    expect(FUTURE_ROUNDS_PER_PEER).toBe(2)
  })

  it('of rounds does not keep out what belongs to a round that was skipped', () => {
    const scene = new Scene({ me: ME })
    const block = scene.candidate(5)
    scene.prevotes(200, undefined, 0, 1)
    expect(scene.rs.round).toBe(200)
    scene.prevotes(5, block.blockId, 0, 1, 2)
    expect(scene.rs.heightVotes.prevotes(5)!.majority()).toEqual(block.blockId)
    scene.proposeWhole(block, 200, { polRound: 5 })
    expect(scene.votes()).toEqual(['prevote 200 block'])
    scene.prevotes(7, undefined, 0)
    scene.precommits(8, block.blockId, 0)
    scene.prevotes(202, undefined, 0, 1)
    // Round 7 says nothing that could matter any more.
    expect(scene.rs.heightVotes.rounds()).toEqual([5, 8, 200, 201, 202, 203])
    scene.precommits(6, block.blockId, 0, 1, 2)
    expect(scene.rs).toMatchObject({ commitRound: 6, step: STEPS.commit })
  })

  it('of rounds from many peers makes the emptiest give way, and does not hide where the others are', () => {
    const scene = new Scene({ me: ME })
    scene.receive(scene.vote(1, PREVOTE, 77, undefined), 'honest')
    for (let i = 0; i < 500; i++) scene.receive(scene.vote(0, PREVOTE, 100 + i, undefined), `sybil ${i}`)
    expect(scene.rs.heightVotes.rounds().length).toBeLessThanOrEqual(MAX_FUTURE_ROUNDS + 2)
    scene.receive(scene.vote(1, PREVOTE, 90, undefined), 'honest')
    scene.receive(scene.vote(2, PREVOTE, 90, undefined), 'honest too')
    expect(scene.rs.round).toBe(90)
  })

  it('of blocks in votes of one validator keeps one', () => {
    const scene = new Scene({ me: ME })
    for (let tag = 0; tag < 1000; tag++) scene.receive(scene.vote(0, PREVOTE, 0, blockIdOf(tag)))
    expect(scene.all('accepted')).toHaveLength(1)
    expect(scene.all('equivocation')).toHaveLength(1)
    expect(scene.all('misbehaviour')).toEqual([])
  })

  it('of nonsense changes nothing and throws nothing', () => {
    const scene = new Scene({ me: ME })
    scene.start()
    const { height, round } = scene.rs
    const base = scene.vote(0, PREVOTE, 0, undefined)
    const numbers = [-1, 0, 1, 2, 3, 2 ** 31 - 1, Number.MAX_SAFE_INTEGER]
    const signature = new Uint8Array(64)
    scene.clear()
    for (const h of numbers) {
      for (const r of numbers) {
        for (const i of numbers) {
          const vote: Vote = { ...base, height: h, round: r, validatorIndex: i, signature }
          scene.receive(vote, 'liar')
        }
        const proposal = { height: h, round: r, polRound: -1, blockId: blockIdOf(1), timestampMs: 0, signature }
        scene.input({ kind: 'proposal', proposal, receivedMs: 0, from: 'liar' })
        const part = { index: r, bytes: signature, proof: { total: 1, index: h, leafHash: signature, aunts: [] } }
        scene.input({ kind: 'part', height: h, round: r, part, from: 'liar' })
        for (const kind of ['newHeight', 'propose', 'prevote', 'precommit'] as const) {
          if (h !== 1) scene.input({ kind: 'timeout', timeout: { height: h, round: r, step: kind } })
        }
        scene.input({ kind: 'validated', height: h, blockHash: new Uint8Array(32), reason: undefined })
      }
    }
    expect(new Set(scene.effects.map(({ kind }) => kind))).toEqual(new Set(['misbehaviour']))
    expect(scene.rs).toMatchObject({ height, round, step: STEPS.propose })
  })
})
