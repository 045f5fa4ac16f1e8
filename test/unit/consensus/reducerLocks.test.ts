import { describe, expect, it } from 'vitest'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { PRECOMMIT, PREVOTE, Scene } from '../../support/consensus/reducerHarness.ts'

/*
 * The situations of CometBFT's lock tests (consensus/state_test.go), with what the paper wants of them. The node under test has
 * a quarter of the power, the others are `o1`, `o2`, `o3`; the proposers of the rounds are looked up.
 */

/** A node, not the proposer of the first rounds, that has locked a block in round 0. */
function locked(rounds = 2) {
  const scene = new Scene({ me: bystander(rounds) })
  const others = othersOf(scene)
  scene.start()
  const block = scene.candidate(0)
  scene.proposeWhole(block, 0)
  scene.prevotes(0, block.blockId, others[0]!, others[1]!)
  expect(scene.votes()).toEqual(['prevote 0 block', 'precommit 0 block'])
  expect(scene.rs).toMatchObject({ lockedRound: 0, validRound: 0, lockedBlockId: block.blockId })
  return { scene, others, block }
}

/** A validator that proposes in none of the first `rounds` rounds of height 1. */
function bystander(rounds: number): number {
  const scene = new Scene({ me: 'none' })
  const busy = Array.from({ length: rounds }, (_, round) => scene.proposer(round))
  return [0, 1, 2, 3].find((index) => !busy.includes(index))!
}

function othersOf(scene: Scene): number[] {
  return [0, 1, 2, 3].filter((index) => index !== scene.rs.ownIndex)
}

/** The round ends: two others precommit nil and the timeout is over. */
function failRound(scene: Scene, others: readonly number[]): void {
  const { round } = scene.rs
  scene.precommits(round, undefined, others[0]!, others[1]!)
  if (scene.rs.round === round) scene.timeout('precommit', round)
  expect(scene.rs.round).toBe(round + 1)
}

describe('a lock', () => {
  it('without a proof of lock forbids another block (LockNoPOL)', () => {
    const { scene, others } = locked()
    failRound(scene, others)
    scene.proposeWhole(scene.candidate(1, { tag: 1 }), 1)
    expect(scene.votedFor(PREVOTE, 1)?.hash).toHaveLength(0)
    expect(scene.logged().at(-1)).toMatch(/prevote is nil: locked on/)
  })

  it('is not prevoted when nothing is proposed', () => {
    const { scene, others } = locked()
    failRound(scene, others)
    scene.timeout('propose')
    expect(scene.votedFor(PREVOTE, 1)?.hash).toHaveLength(0)
    expect(scene.logged().at(-1)).toBe('prevote is nil: no proposal in time')
  })

  it('allows the same block, proposed as new by somebody who has not seen its prevotes', () => {
    const { scene, others, block } = locked()
    failRound(scene, others)
    // A block names who built it: only its own builder can propose it without a proof.
    const again = scene.proposer(1) === scene.proposer(0)
    scene.proposeWhole(block, 1)
    expect(scene.votedFor(PREVOTE, 1)?.hash).toHaveLength(again ? 32 : 0)
  })

  it('allows the same block with its proof of lock', () => {
    const { scene, others, block } = locked()
    failRound(scene, others)
    scene.propose(block, 1, { polRound: 0 })
    expect(scene.votedFor(PREVOTE, 1)).toEqual(block.blockId)
  })

  it('is renewed by prevotes of a later round for the same block (POLRelock)', () => {
    const { scene, others, block } = locked()
    failRound(scene, others)
    scene.propose(block, 1, { polRound: 0 })
    scene.prevotes(1, block.blockId, others[0]!, others[1]!)
    expect(scene.votedFor(PRECOMMIT, 1)).toEqual(block.blockId)
    expect(scene.rs).toMatchObject({ lockedRound: 1, validRound: 1 })
  })

  it('moves to another block that has prevotes of a later round, even unprevoted by this node (POLRelock)', () => {
    const { scene, others } = locked()
    failRound(scene, others)
    const other = scene.candidate(1, { tag: 1 })
    scene.proposeWhole(other, 1)
    scene.prevotes(1, other.blockId, ...others)
    expect(scene.votedFor(PREVOTE, 1)?.hash).toHaveLength(0)
    expect(scene.votedFor(PRECOMMIT, 1)).toEqual(other.blockId)
    expect(scene.rs).toMatchObject({ lockedRound: 1, validRound: 1, lockedBlockId: other.blockId })
  })

  it('is kept when two thirds prevote nil (POLUnlock, as the paper has it)', () => {
    const { scene, others, block } = locked()
    failRound(scene, others)
    scene.timeout('propose')
    scene.prevotes(1, undefined, others[0]!, others[1]!)
    expect(scene.votedFor(PRECOMMIT, 1)?.hash).toHaveLength(0)
    expect(scene.rs).toMatchObject({ lockedRound: 0, lockedBlockId: block.blockId })
  })

  it('is kept when an unknown block has the prevotes, which is fetched and not precommitted (UnknownBlock)', () => {
    const { scene, others, block } = locked()
    failRound(scene, others)
    scene.timeout('propose')
    const unknown = scene.candidate(1, { tag: 1 })
    scene.prevotes(1, unknown.blockId, ...others)
    expect(scene.rs.parts?.header).toEqual(unknown.header)
    expect(scene.rs.step).toBe(STEPS.prevote)
    scene.timeout('prevote')
    expect(scene.votedFor(PRECOMMIT, 1)?.hash).toHaveLength(0)
    expect(scene.rs).toMatchObject({ lockedRound: 0, validRound: 0, lockedBlockId: block.blockId })
    // The block comes late: it is the valid value from now on, the lock stays.
    scene.parts(unknown)
    expect(scene.rs).toMatchObject({ lockedRound: 0, validRound: 1, validBlockId: unknown.blockId })
  })

  it('gives way to a proof of lock of a later round', () => {
    const { scene, others } = locked(3)
    failRound(scene, others)
    const other = scene.candidate(1, { tag: 1 })
    scene.timeout('propose')
    scene.prevotes(1, other.blockId, ...others)
    scene.timeout('prevote')
    failRound(scene, others)
    scene.proposeWhole(other, 2, { polRound: 1 })
    expect(scene.votedFor(PREVOTE, 2)).toEqual(other.blockId)
    expect(scene.rs.lockedRound).toBe(0)
  })

  it('does not give way to a proof of lock of an earlier round (POLSafety2)', () => {
    const scene = new Scene({ me: bystander(3) })
    const others = othersOf(scene)
    scene.start()
    // Round 0: another block gets prevotes that this node learns of later.
    const early = scene.candidate(0, { tag: 1 })
    scene.timeout('propose')
    failRound(scene, others)
    const block = scene.candidate(1, { tag: 2 })
    scene.proposeWhole(block, 1)
    scene.prevotes(1, block.blockId, others[0]!, others[1]!)
    expect(scene.rs.lockedRound).toBe(1)
    failRound(scene, others)
    scene.prevotes(0, early.blockId, ...others)
    scene.proposeWhole(early, 2, { polRound: 0 })
    expect(scene.votedFor(PREVOTE, 2)?.hash).toHaveLength(0)
    expect(scene.rs.lockedBlockId).toEqual(block.blockId)
  })

  it('is not taken from prevotes of a past round (POLSafety1)', () => {
    const scene = new Scene({ me: bystander(2) })
    const others = othersOf(scene)
    scene.start()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, undefined, others[0]!, others[1]!)
    scene.timeout('prevote')
    failRound(scene, others)
    scene.prevotes(0, block.blockId, others[2]!)
    scene.prevotes(0, block.blockId, others[0]!, others[1]!)
    expect(scene.rs).toMatchObject({ lockedRound: -1, validRound: -1 })
    expect(scene.votes().filter((vote) => vote.endsWith('block'))).toEqual(['prevote 0 block'])
  })

  it('is only what this node precommitted: one hidden from the others ends with its own proposal (hidden lock)', () => {
    const { scene, others, block } = locked()
    const { ownIndex } = scene.rs
    // Rounds of others go by; their new blocks cannot be prevoted here.
    for (let round = 1; ; round++) {
      failRound(scene, others)
      if (scene.proposer(round) === ownIndex) break
      scene.proposeWhole(scene.candidate(round, { tag: round }), round)
      expect(scene.votedFor(PREVOTE, round)?.hash).toHaveLength(0)
      scene.timeout('prevote')
    }
    const proposal = scene.all('signProposal')[0]!
    expect(proposal.proposal).toMatchObject({ polRound: 0, blockId: block.blockId })
    expect(proposal.parts).toEqual(block.parts)
    expect(scene.all('build')).toEqual([])
    expect(scene.votedFor(PREVOTE, scene.rs.round)).toEqual(block.blockId)
  })
})

describe('a valid value', () => {
  it('comes from a block that is complete only after it has the prevotes (ValidBlock, delayed proposal)', () => {
    const scene = new Scene({ me: bystander(2) })
    const others = othersOf(scene)
    scene.start()
    const block = scene.candidate(0)
    scene.propose(block, 0)
    scene.timeout('propose')
    scene.prevotes(0, block.blockId, ...others)
    expect(scene.rs.validRound).toBe(-1)
    scene.parts(block)
    // Still in step prevote: it is precommitted too.
    expect(scene.rs).toMatchObject({ validRound: 0, lockedRound: 0, step: STEPS.precommit })
    expect(scene.votes()).toEqual(['prevote 0 nil', 'precommit 0 block'])
  })

  it('comes from prevotes that are complete only after this node has precommitted nil (ValidBlock, delayed prevote)', () => {
    const scene = new Scene({ me: bystander(2) })
    const others = othersOf(scene)
    scene.start()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, others[0]!)
    scene.prevotes(0, undefined, others[1]!)
    scene.timeout('prevote')
    expect(scene.votes()).toEqual(['prevote 0 block', 'precommit 0 nil'])
    scene.prevotes(0, block.blockId, others[2]!)
    expect(scene.rs).toMatchObject({ validRound: 0, lockedRound: -1, validBlockId: block.blockId })
    expect(scene.votes()).toHaveLength(2)
  })

  it('is proposed again by this node without having been locked', () => {
    const scene = new Scene({ me: 'none' })
    const proposer = scene.proposer(1)
    const mine = new Scene({ me: proposer })
    const others = othersOf(mine)
    mine.start()
    if (proposer === mine.proposer(0)) throw new Error('the proposers of rounds 0 and 1 must differ')
    const block = mine.candidate(0)
    mine.timeout('propose')
    mine.prevotes(0, block.blockId, ...others)
    mine.timeout('prevote')
    mine.parts(block)
    expect(mine.rs).toMatchObject({ lockedRound: -1, validRound: 0 })
    failRound(mine, others)
    expect(mine.all('signProposal').at(-1)?.proposal).toMatchObject({ round: 1, polRound: 0, blockId: block.blockId })
    expect(mine.votedFor(PREVOTE, 1)).toEqual(block.blockId)
  })
})

describe('a commit', () => {
  it('comes from precommits of a round that this node has left (CommitFromPreviousRound)', () => {
    const { scene, others, block } = locked()
    failRound(scene, others)
    scene.precommits(0, block.blockId, others[2]!)
    expect(scene.all('finalize')).toEqual([])
    // The two that precommitted nil before are not needed: a decision by others.
    const fresh = new Scene({ me: scene.rs.ownIndex })
    fresh.start()
    fresh.timeout('propose')
    fresh.prevotes(0, undefined, others[0]!, others[1]!)
    fresh.timeout('precommit')
    expect(fresh.rs.round).toBe(1)
    fresh.precommits(0, block.blockId, ...others)
    expect(fresh.rs).toMatchObject({ round: 1, step: STEPS.commit, commitRound: 0 })
    fresh.parts(block)
    expect(fresh.all('finalize')[0]?.decided.seenCommit.round).toBe(0)
  })
})
