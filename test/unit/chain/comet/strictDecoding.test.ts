import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type ConsensusBlock,
  decodeBlock,
  decodeHeader,
  encodeBlock,
  encodeHeader,
  MAX_BLOCK_TRANSACTIONS,
} from '../../../../src/chain/comet/block.ts'
import { decodeCommit, encodeCommit } from '../../../../src/chain/comet/commit.ts'
import { decodeLightBlock, encodeLightBlock, type LightBlock } from '../../../../src/chain/comet/lightBlock.ts'
import { createPartSet, decodePart, encodePart } from '../../../../src/chain/comet/partSet.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  EMPTY_COMMIT,
  NIL_BLOCK_ID,
  type Proposal,
  type Vote,
  ZERO_TIME_MS,
} from '../../../../src/chain/comet/types.ts'
import { createValidatorSet } from '../../../../src/chain/comet/validatorSet.ts'
import { decodeProposal, decodeVote, encodeProposal, encodeVote } from '../../../../src/chain/comet/vote.ts'
import { ConsensusDecodingError } from '../../../../src/chain/comet/wire.ts'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'

const sized = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const height = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const round = fc.integer({ min: 0, max: 0x7fffffff })
const timeMs = fc.oneof(fc.integer({ min: ZERO_TIME_MS, max: 253402300799999 }), fc.constant(0), fc.constant(1000))
const blockId: fc.Arbitrary<BlockId> = fc.record({
  hash: sized(32),
  partSetHeader: fc.record({ total: fc.integer({ min: 1, max: 0xffffffff }), hash: sized(32) }),
})
const vote: fc.Arbitrary<Vote> = fc.record({
  type: fc.constantFrom(1 as const, 2 as const),
  height,
  round,
  blockId: fc.oneof(blockId, fc.constant(NIL_BLOCK_ID)),
  timestampMs: timeMs,
  validatorAddress: sized(20),
  validatorIndex: round,
  signature: sized(64),
})
const proposal: fc.Arbitrary<Proposal> = fc
  .record({ height, round, back: fc.integer({ min: 1, max: 5 }), blockId, timestampMs: timeMs, signature: sized(64) })
  .map(({ back, ...rest }) => ({ ...rest, polRound: Math.max(-1, rest.round - back) }))
const signedFlags = fc.constantFrom(BLOCK_ID_FLAGS.commit, BLOCK_ID_FLAGS.nil)
const commitSig = fc.oneof(
  fc.constant(ABSENT_COMMIT_SIG),
  fc.record({ flag: signedFlags, validatorAddress: sized(20), timestampMs: timeMs, signature: sized(64) }),
)
const commit: fc.Arbitrary<Commit> = fc.oneof(
  fc.constant(EMPTY_COMMIT),
  fc.record({ height, round, blockId, signatures: fc.array(commitSig, { minLength: 1, maxLength: 6 }) }),
)
const header = fc.record({
  version: fc.record({ block: fc.nat(), app: fc.nat() }),
  chainId: fc.string({ unit: 'grapheme', maxLength: 10 }),
  height,
  timeMs,
  lastBlockId: fc.oneof(blockId, fc.constant(NIL_BLOCK_ID)),
  lastCommitHash: sized(32),
  dataHash: sized(32),
  validatorsHash: sized(32),
  nextValidatorsHash: sized(32),
  consensusHash: sized(32),
  appHash: sized(32),
  lastResultsHash: sized(32),
  evidenceHash: sized(32),
  proposerAddress: sized(20),
})
const evidence = fc.record({
  kind: fc.constant('duplicateVote' as const),
  voteA: vote,
  voteB: vote,
  totalVotingPower: fc.bigInt({ min: 2n ** 62n, max: 2n ** 63n - 1n }),
  validatorPower: fc.bigInt({ min: 1n, max: 2n ** 62n }),
  timestampMs: timeMs,
})
const block: fc.Arbitrary<ConsensusBlock> = fc.record({
  header,
  txs: fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }),
  evidence: fc.array(evidence, { maxLength: 2 }),
  lastCommit: commit,
})
const part = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 100 }), fc.nat(3))
  .map(([seed, more]) => createPartSet(concatBytes(new Uint8Array(65536 * more), seed)).parts.at(-1)!)
const validator = fc.record({ publicKey: sized(32), power: fc.bigInt({ min: 1n, max: 2n ** 57n }) })
const lightBlock: fc.Arbitrary<LightBlock> = fc.record({
  header,
  commit,
  validators: fc
    .uniqueArray(validator, { minLength: 1, maxLength: 5, selector: ({ publicKey }) => String(publicKey) })
    .map(createValidatorSet),
})

/** A codec with its values' type closed over, so that a table can hold all of them. */
function codec<T>(
  name: string,
  values: fc.Arbitrary<T>,
  encode: (value: T) => Uint8Array,
  decode: (bytes: Uint8Array) => T,
) {
  const decodesOrRefuses = (bytes: Uint8Array) => {
    let value: T
    try {
      value = decode(bytes)
    } catch (error) {
      expect(error).toBeInstanceOf(ConsensusDecodingError)
      return
    }
    expect(encode(value)).toEqual(bytes)
  }
  return {
    name,
    roundTrip: () =>
      fc.assert(
        fc.property(values, (value) => {
          expect(decode(encode(value))).toEqual(value)
        }),
        { numRuns: runs(200) },
      ),
    garbage: () => fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), decodesOrRefuses), { numRuns: runs(500) }),
    mutated: () =>
      fc.assert(
        fc.property(values, fc.nat(), fc.nat(255), fc.constantFrom('set', 'cut', 'insert'), (value, at, byte, how) => {
          const bytes = encode(value)
          const i = at % bytes.length
          const end = how === 'cut' ? bytes.slice(i, i) : bytes.slice(how === 'set' ? i + 1 : i)
          decodesOrRefuses(concatBytes(bytes.slice(0, i), how === 'cut' ? end : Uint8Array.of(byte), end))
        }),
        { numRuns: runs(500) },
      ),
    /** encodings that a lenient protobuf reader takes for the same message */
    variants: () => {
      fc.assert(
        fc.property(values, (value) => {
          const bytes = encode(value)
          const unknownField = concatBytes(bytes, Uint8Array.of(0xf8, 0x07, 0x01))
          const group = concatBytes(bytes, Uint8Array.of(0xfb, 0x07, 0xfc, 0x07))
          for (const variant of [unknownField, group]) expect(() => decode(variant)).toThrow(ConsensusDecodingError)
        }),
        { numRuns: runs(50) },
      )
    },
  }
}

const codecs = [
  codec('vote', vote, encodeVote, decodeVote),
  codec('proposal', proposal, encodeProposal, decodeProposal),
  codec('commit', commit, encodeCommit, decodeCommit),
  codec('header', header, encodeHeader, decodeHeader),
  codec('block', block, encodeBlock, decodeBlock),
  codec('light block', lightBlock, encodeLightBlock, decodeLightBlock),
  codec('part', part, encodePart, decodePart),
]

describe.each(codecs)('$name', ({ roundTrip, garbage, mutated, variants }) => {
  it('is what it was after encoding and decoding', roundTrip)
  it('decodes random bytes or refuses them with its error', garbage)
  it('decodes changed bytes only if they are the encoding of what they hold', mutated)
  it('refuses unknown fields', variants)
})

describe('what other implementations accept', () => {
  const example: Vote = {
    type: 1,
    height: 300,
    round: 0,
    blockId: NIL_BLOCK_ID,
    timestampMs: 1_790_000_000_000,
    validatorAddress: new Uint8Array(20).fill(1),
    validatorIndex: 0,
    signature: new Uint8Array(64).fill(2),
  }
  const bytes = encodeVote(example)
  // 08 01 (type) 10 ac 02 (height 300) …
  const cases: { what: string; bytes: Uint8Array }[] = [
    { what: 'a padded varint', bytes: concatBytes(bytes.slice(0, 4), Uint8Array.of(0x82, 0x00), bytes.slice(5)) },
    { what: 'a default written out', bytes: concatBytes(bytes.slice(0, 5), Uint8Array.of(0x18, 0x00), bytes.slice(5)) },
    { what: 'fields out of order', bytes: concatBytes(bytes.slice(2, 5), bytes.slice(0, 2), bytes.slice(5)) },
    { what: 'a field twice', bytes: concatBytes(bytes.slice(0, 2), bytes) },
    { what: 'nothing', bytes: new Uint8Array() },
  ]
  it.each(cases)('$what is refused', (variant) => {
    expect([...bytes.slice(0, 5)]).toEqual([0x08, 0x01, 0x10, 0xac, 0x02])
    expect(() => decodeVote(variant.bytes)).toThrow(ConsensusDecodingError)
  })

  it('too many fields end in the same error, before a value is made of each', () => {
    const bytes = encodeBlock({ ...fc.sample(block, 1)[0]!, txs: Array<Uint8Array>(1_000_000).fill(new Uint8Array()) })
    expect(() => decodeBlock(bytes)).toThrow('block: too many fields')
    const whole = encodeBlock({
      ...fc.sample(block, 1)[0]!,
      txs: Array<Uint8Array>(MAX_BLOCK_TRANSACTIONS).fill(Uint8Array.of(1)),
    })
    expect(decodeBlock(whole).txs).toHaveLength(MAX_BLOCK_TRANSACTIONS)
  })

  it('deep nesting ends in the same error', () => {
    expect(() => decodeBlock(new Uint8Array(300_000).fill(0x0b))).toThrow(ConsensusDecodingError)
  })
})
