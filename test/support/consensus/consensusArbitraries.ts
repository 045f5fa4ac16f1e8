import fc from 'fast-check'
import { type BlockId, NIL_BLOCK_ID, type Proposal, type Vote } from '../../../src/chain/comet/types.ts'
import { type BitSet, createBitSet } from '../../../src/consensus/bitSet.ts'
import type { ConsensusMessage, StatusMessage } from '../../../src/consensus/messages.ts'
import type { Step } from '../../../src/consensus/roundStateView.ts'

/** Generators of what nodes send one another; values are in range, nothing is signed. */

const sized = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const height = fc.oneof(fc.integer({ min: 1, max: 2 ** 48 - 1 }), fc.integer({ min: 1, max: 300 }))
const round = fc.oneof(fc.integer({ min: 0, max: 0x7fffffff }), fc.integer({ min: 0, max: 3 }))
const timeMs = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 })

const blockId: fc.Arbitrary<BlockId> = fc.record({
  hash: sized(32),
  partSetHeader: fc.record({ total: fc.integer({ min: 1, max: 0xffffffff }), hash: sized(32) }),
})

const votes: fc.Arbitrary<Vote> = fc.record({
  type: fc.constantFrom(1 as const, 2 as const),
  height,
  round,
  blockId: fc.oneof(blockId, fc.constant(NIL_BLOCK_ID)),
  timestampMs: timeMs,
  validatorAddress: sized(20),
  validatorIndex: fc.integer({ min: 0, max: 0x7fffffff }),
  signature: sized(64),
})

const proposals: fc.Arbitrary<Proposal> = fc
  .record({ height, round, back: fc.integer({ min: 1, max: 5 }), blockId, timestampMs: timeMs, signature: sized(64) })
  .map(({ back, ...rest }) => ({ ...rest, polRound: Math.max(-1, rest.round - back) }))

const bitSets = (size: number): fc.Arbitrary<BitSet> =>
  fc.subarray(Array.from({ length: size }, (_, index) => index)).map((indices) => createBitSet(size, indices))

export const statuses: fc.Arbitrary<StatusMessage> = fc
  .record({
    validators: fc.integer({ min: 1, max: 70 }),
    last: fc.integer({ min: 1, max: 70 }),
    total: fc.integer({ min: 1, max: 40 }),
  })
  .chain(({ validators, last, total }) =>
    fc.record({
      kind: fc.constant('status' as const),
      height,
      round: fc.integer({ min: 1, max: 0x7fffffff }),
      step: fc.integer({ min: 1, max: 8 }) as fc.Arbitrary<Step>,
      hasProposal: fc.boolean(),
      parts: fc.option(fc.record({ total: fc.constant(total), hash: sized(32), have: bitSets(total) }), {
        nil: undefined,
      }),
      prevotes: bitSets(validators),
      precommits: bitSets(validators),
      pol: fc.option(fc.record({ round: fc.constant(0), prevotes: bitSets(validators) }), { nil: undefined }),
      lastCommit: fc.option(
        fc.record({ round, precommits: bitSets(last), otherPrevotes: bitSets(last), otherPrecommits: bitSets(last) }),
        { nil: undefined },
      ),
      directValidators: bitSets(validators),
    }),
  )

const parts: fc.Arbitrary<ConsensusMessage> = fc.record({
  kind: fc.constant('part' as const),
  height,
  round,
  part: fc.record({
    index: fc.integer({ min: 0, max: 1600 }),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 200 }),
    proof: fc.record({
      total: fc.integer({ min: 1, max: 1601 }),
      index: fc.integer({ min: 0, max: 1600 }),
      leafHash: sized(32),
      aunts: fc.array(sized(32), { maxLength: 11 }),
    }),
  }),
})

export const messages: fc.Arbitrary<ConsensusMessage> = fc.oneof(
  statuses,
  parts,
  fc.record({ kind: fc.constant('vote' as const), vote: votes }),
  fc.record({ kind: fc.constant('proposal' as const), proposal: proposals }),
)
