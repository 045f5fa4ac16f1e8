import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPartSet } from '../../../src/chain/comet/partSet.ts'
import { NIL_BLOCK_ID, type Proposal, type Vote } from '../../../src/chain/comet/types.ts'
import { decodeWalEntry, encodeWalEntry, entryHeight, type WalEntry } from '../../../src/consensus/walEntry.ts'
import { runs } from '../../propertyRuns.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const height = fc.integer({ min: 1, max: 2 ** 40 })
const round = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const timestampMs = fc.integer({ min: 1, max: 2 ** 47 })
const blockId = fc.record({
  hash: bytes(32),
  partSetHeader: fc.record({ total: fc.integer({ min: 1, max: 32 }), hash: bytes(32) }),
})
const vote: fc.Arbitrary<Vote> = fc.record({
  type: fc.constantFrom(1 as const, 2 as const),
  height,
  round,
  blockId: fc.oneof(blockId, fc.constant(NIL_BLOCK_ID)),
  timestampMs,
  validatorAddress: bytes(20),
  validatorIndex: fc.integer({ min: 0, max: 49 }),
  signature: bytes(64),
})
const proposal: fc.Arbitrary<Proposal> = fc.record({
  height,
  round: fc.integer({ min: 1001, max: 2 ** 31 - 1 }),
  polRound: fc.integer({ min: -1, max: 1000 }),
  blockId,
  timestampMs,
  signature: bytes(64),
})
const part = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((block) => createPartSet(block).parts[0]!)

const request = fc.oneof(
  proposal.map(({ signature: _, ...unsigned }) => ({ kind: 'proposal' as const, proposal: unsigned })),
  vote.map(({ signature: _, ...unsigned }) => ({ kind: 'vote' as const, vote: unsigned })),
)

const entry: fc.Arbitrary<WalEntry> = fc.oneof(
  fc.record({ kind: fc.constant('asked' as const), request, signer: fc.oneof(bytes(32), bytes(0)) }),
  fc.record({ kind: fc.constant('proposal' as const), proposal }),
  fc.record({ kind: fc.constant('vote' as const), vote }),
  fc.record({ kind: fc.constant('receivedProposal' as const), proposal, receivedMs: fc.nat(2 ** 47) }),
  fc.record({ kind: fc.constant('receivedVote' as const), vote }),
  fc.record({ kind: fc.constant('part' as const), height, round, part }),
  fc.record({ kind: fc.constant('endHeight' as const), height }),
  fc.record({
    kind: fc.constant('timeout' as const),
    timeout: fc.record({
      height,
      round,
      step: fc.constantFrom('newHeight' as const, 'propose' as const, 'prevote' as const, 'precommit' as const),
    }),
  }),
  fc.record({
    kind: fc.constant('validated' as const),
    height,
    blockHash: bytes(32),
    reason: fc.option(fc.string(), { nil: undefined }),
  }),
)

describe('an entry of the write-ahead log', () => {
  it('is what it was after encoding and decoding', () => {
    fc.assert(
      fc.property(entry, (value) => {
        const encoded = encodeWalEntry(value)
        expect(decodeWalEntry(encoded)).toEqual(value)
        expect(entryHeight(decodeWalEntry(encoded))).toBe(entryHeight(value))
      }),
    )
  })

  it('has a kind of its own', () => {
    const kinds = fc
      .sample(entry, { numRuns: runs(300), seed: 1 })
      .map((value) => [value.kind, encodeWalEntry(value)[0]!] as const)
    expect(Object.fromEntries(kinds)).toEqual({
      asked: 12,
      proposal: 3,
      vote: 4,
      part: 5,
      endHeight: 7,
      receivedProposal: 8,
      receivedVote: 9,
      timeout: 10,
      validated: 11,
    })
  })

  it.each([
    { what: 'of an unknown kind', payload: Uint8Array.of(13, 1), error: /unknown kind of record 13/ },
    { what: 'with an unknown timeout', payload: new Uint8Array(14).fill(10), error: /unknown timeout/ },
    {
      what: 'with a verdict cut short',
      payload: new Uint8Array(30).fill(11),
      error: /verdict on a block has 29 bytes/,
    },
    {
      what: 'of a question about no message',
      payload: Uint8Array.of(12, 0, 7, 0, 0, 0, 0, 0, 1),
      error: /cannot be signed/,
    },
    { what: 'that remembers no signed message', payload: Uint8Array.of(2, 7, 0, 0, 0, 0, 0, 1), error: /not a signed/ },
  ])('$what is refused', ({ payload, error }) => {
    expect(() => decodeWalEntry(payload)).toThrow(error)
  })
})
