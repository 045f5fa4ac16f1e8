import { describe, expect, it } from 'vitest'
import { type BlockId, NIL_BLOCK_ID, type Vote } from '../../../src/chain/comet/types.ts'
import { bitIndices } from '../../../src/consensus/bitSet.ts'
import { VoteSet } from '../../../src/consensus/voteSet.ts'
import { PRECOMMIT, rankedSet } from '../../support/consensus/reducerHarness.ts'

/** 100 in all: more than two thirds is 67. */
const validators = rankedSet([34n, 33n, 20n, 13n])
const A = blockIdOf(1)
const B = blockIdOf(2)

function blockIdOf(tag: number): BlockId {
  const hash = new Uint8Array(32).fill(tag)
  return { hash, partSetHeader: { total: 1, hash } }
}

function vote(validatorIndex: number, blockId: BlockId): Vote {
  const { address: validatorAddress } = validators.validators[validatorIndex]!
  const signature = new Uint8Array(64).fill(blockId.hash[0] ?? 0)
  return { type: PRECOMMIT, height: 1, round: 0, blockId, timestampMs: 5, validatorAddress, validatorIndex, signature }
}

function setOf(...votes: readonly (readonly [number, BlockId])[]): VoteSet {
  const set = new VoteSet(1, 0, PRECOMMIT, validators)
  for (const [index, blockId] of votes) set.add(vote(index, blockId))
  return set
}

describe('a set of votes', () => {
  it.each([
    { what: 'nobody', votes: [], majority: undefined, any: false, possible: true },
    {
      what: '67 of 100 for one',
      votes: [
        [0, A],
        [1, A],
      ],
      majority: A,
      any: true,
      possible: true,
    },
    {
      what: '66 of 100 for one',
      votes: [
        [1, A],
        [2, A],
        [3, A],
      ],
      majority: undefined,
      any: false,
      possible: true,
    },
    {
      what: 'all for nil',
      votes: [
        [0, NIL_BLOCK_ID],
        [1, NIL_BLOCK_ID],
        [2, NIL_BLOCK_ID],
      ],
      majority: NIL_BLOCK_ID,
      any: true,
      possible: true,
    },
    {
      what: '67 of 100 apart, with hope',
      votes: [
        [0, A],
        [1, NIL_BLOCK_ID],
      ],
      majority: undefined,
      any: true,
      possible: true,
    },
    {
      what: '67 of 100 apart, without',
      votes: [
        [0, A],
        [1, NIL_BLOCK_ID],
        [2, B],
      ],
      majority: undefined,
      any: true,
      possible: false,
    },
    {
      what: '46 of 100 apart',
      votes: [
        [1, A],
        [3, B],
      ],
      majority: undefined,
      any: false,
      possible: true,
    },
  ] as const)('of $what', ({ votes, majority, any, possible }) => {
    const set = setOf(...votes)
    expect(set.majority()).toEqual(majority)
    expect(set.hasQuorumOfAny()).toBe(any)
    expect(set.majorityIsPossible()).toBe(possible)
    expect(set.hasNilMajority()).toBe(majority === NIL_BLOCK_ID)
    expect(set.majorityBlock()).toEqual(majority === NIL_BLOCK_ID ? undefined : majority)
    expect(bitIndices(set.bits())).toEqual(votes.map(([index]) => index))
    expect(set.power()).toBe(votes.reduce((sum, [index]) => sum + validators.validators[index]!.power, 0n))
  })

  it('keeps its first majority', () => {
    const set = setOf([0, A], [2, B], [3, B], [1, A])
    // By double votes B has two thirds as well.
    set.add(vote(0, B))
    set.add(vote(1, B))
    expect(set.majority()).toEqual(A)
  })

  it('tells what is news', () => {
    const set = setOf([0, A])
    expect(set.isNew(vote(0, A))).toBe(false)
    expect(set.isNew(vote(1, A))).toBe(true)
    expect(set.isNew(vote(0, B))).toBe(true)
    expect(set.add(vote(0, B))).toEqual({ counted: false, contradicts: vote(0, A) })
    expect(set.isNew(vote(0, B))).toBe(false)
    set.add(vote(1, B))
    expect(set.isNew(vote(0, B))).toBe(true)
    expect(set.add(vote(0, B))).toEqual({ counted: true, contradicts: undefined })
    expect(set.isNew(vote(0, B))).toBe(false)
  })

  it('passes on the vote for the majority, and the one for any block that is asked for', () => {
    const set = setOf([0, A], [1, B], [2, B], [3, B])
    expect(set.vote(0)).toEqual(vote(0, A))
    set.add(vote(0, B))
    expect(set.vote(0)).toEqual(vote(0, B))
    expect(set.voteFor(0, A)).toEqual(vote(0, A))
    expect(set.voteFor(1, A)).toBeUndefined()
    expect(bitIndices(set.bitsFor(B))).toEqual([0, 1, 2, 3])
    expect(bitIndices(set.bitsFor(A))).toEqual([0])
    expect(bitIndices(set.bitsFor(blockIdOf(9)))).toEqual([])
  })

  it('counts a block in other parts as another one', () => {
    const other = { ...A, partSetHeader: { ...A.partSetHeader, total: 2 } }
    expect(setOf([0, A], [1, other], [2, other]).majority()).toBeUndefined()
  })

  it('is a commit, and comes back from it', () => {
    const commit = setOf([0, A], [1, A], [3, NIL_BLOCK_ID]).commit()
    expect(commit.blockId).toEqual(A)
    expect(VoteSet.ofCommit(commit, validators).commit()).toEqual(commit)
    expect(VoteSet.ofCommit(commit, validators).vote(3)).toEqual(vote(3, NIL_BLOCK_ID))
    expect(VoteSet.ofCommit(commit, validators).vote(2)).toBeUndefined()
  })

  it.each([
    { what: 'without a majority', votes: [[0, A]] },
    {
      what: 'with one for nil',
      votes: [
        [0, NIL_BLOCK_ID],
        [1, NIL_BLOCK_ID],
      ],
    },
  ] as const)('$what is no commit', ({ votes }) => {
    expect(() => setOf(...votes).commit()).toThrow(/decide no block/)
  })
})
