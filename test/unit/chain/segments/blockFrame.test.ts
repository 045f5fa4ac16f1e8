import { zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeEthereumHeader,
  type EthereumHeader,
  encodeEthereumHeader,
} from '../../../../src/chain/block/ethereumBlock.ts'
import { dataHash, decodeBlock, encodeBlock, headerHash } from '../../../../src/chain/comet/block.ts'
import { commitHash } from '../../../../src/chain/comet/commit.ts'
import { evidenceHash } from '../../../../src/chain/comet/evidence.ts'
import { createPartSet } from '../../../../src/chain/comet/partSet.ts'
import {
  ABSENT_COMMIT_SIG,
  type BlockId,
  type Commit,
  type CommitSig,
  EMPTY_COMMIT,
  type Evidence,
  NIL_BLOCK_ID,
  SIGNED_MESSAGE_TYPES,
} from '../../../../src/chain/comet/types.ts'
import {
  decodeFrame,
  decodeFrameTimes,
  encodeFrame,
  type StoredBlock,
} from '../../../../src/chain/segments/blockFrame.ts'
import { ByteSource, ColumnError, NO_DICTIONARY } from '../../../../src/chain/segments/packedColumns.ts'
import { encodeResults } from '../../../../src/chain/store/storedResults.ts'
import { concatBytes, writeVarint } from '../../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256 } from '../../../../src/primitives/hash.ts'
import { runs } from '../../../propertyRuns.ts'
import { arbitraryBlockEvents, arbitraryEntries } from '../../../support/chain/arbitraryEntries.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const oftenZero = (max: bigint) => fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max }))
const signer = fc.integer({ min: 0, max: 5 }).map((number) => new Uint8Array(20).fill(number + 1))
const timeMs = fc.integer({ min: 0, max: 2 ** 42 })

const signature: fc.Arbitrary<CommitSig> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      flag: fc.constantFrom(2 as const, 3 as const),
      validatorAddress: signer,
      timestampMs: timeMs,
      signature: bytes(64),
    }),
  },
  { weight: 1, arbitrary: fc.constant(ABSENT_COMMIT_SIG) },
)

const blockId: fc.Arbitrary<BlockId> = fc
  .record({ hash: bytes(32), total: fc.integer({ min: 1, max: 2 ** 32 - 1 }), parts: bytes(32) })
  .map(({ hash, total, parts }) => ({ hash, partSetHeader: { total, hash: parts } }))

const evidence: fc.Arbitrary<Evidence> = fc
  .record({
    height: fc.integer({ min: 1, max: 1e9 }),
    first: blockId,
    second: blockId,
    by: signer,
    signed: bytes(64),
    at: timeMs,
  })
  .map(({ height, first, second, by, signed, at }) => {
    const vote = (id: BlockId) => ({
      type: SIGNED_MESSAGE_TYPES.precommit,
      height,
      round: 2,
      blockId: id,
      timestampMs: at,
      validatorAddress: by,
      validatorIndex: 3,
      signature: signed,
    })
    return {
      kind: 'duplicateVote',
      voteA: vote(first),
      voteB: vote(second),
      totalVotingPower: 9n,
      validatorPower: 2n,
      timestampMs: at,
    }
  })

/** What a block has of its own. Where `strange` is given, a field does not follow from the others as it usually does. */
const plan = fc.record({
  hasBlock: fc.boolean(),
  keepsBodies: fc.boolean(),
  entries: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: arbitraryEntries }),
  events: arbitraryBlockEvents,
  hasEvents: fc.boolean(),
  txs: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 3 }),
  evidence: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(evidence, { maxLength: 2 }) },
  ),
  signatures: fc.array(signature, { maxLength: 6 }),
  round: fc.constantFrom(0, 0, 1, 7),
  timeMs,
  proposer: signer,
  miner: signer,
  stateRoot: bytes(32),
  strange: fc.option(bytes(32), { nil: undefined, freq: 4 }),
  strangeId: fc.option(blockId, { nil: undefined, freq: 4 }),
  fields: fc.constantFrom(6, 6, 6, 0, 1, 5),
  fee: oftenZero(2n ** 70n),
  gas: oftenZero(2n ** 60n),
  bloom: fc.boolean(),
})

type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

/** Blocks that follow each other from `first` on, as a chain that is mostly usual stores them. */
function storedChain(first: number, plans: readonly Plan[]): StoredBlock[] {
  const blocks: StoredBlock[] = []
  let parentHash: Uint8Array = new Uint8Array(32)
  let lastBlockId: BlockId = NIL_BLOCK_ID
  plans.forEach((of, index) => {
    const height = first + index
    const txs = of.keepsBodies ? of.txs : []
    const hasResults = of.keepsBodies && (of.entries.length > 0 || of.hasEvents)
    const id = of.strangeId ?? lastBlockId
    const lastCommit: Commit =
      of.signatures.length === 0 || lastBlockId === NIL_BLOCK_ID
        ? EMPTY_COMMIT
        : { height: height - 1, round: of.round, blockId: lastBlockId, signatures: of.signatures }
    const appHash = of.strange ?? parentHash
    const block =
      height > 0 && (of.hasBlock || index > 0)
        ? {
            header: {
              version: { block: 11, app: 0 },
              chainId: 'coin_76287-1',
              height,
              timeMs: of.timeMs,
              lastBlockId: id,
              lastCommitHash: of.strange ?? commitHash(lastCommit),
              dataHash: dataHash(of.txs),
              validatorsHash: of.strange ?? new Uint8Array(32).fill(1),
              nextValidatorsHash: new Uint8Array(32).fill(1),
              consensusHash: new Uint8Array(32).fill(2),
              appHash,
              lastResultsHash: of.strange ?? dataHash([]),
              evidenceHash: evidenceHash(of.evidence),
              proposerAddress: of.proposer,
            },
            txs,
            evidence: of.evidence,
            lastCommit,
          }
        : undefined
    const later = <T>(position: number, value: T): T | undefined => (of.fields > position ? value : undefined)
    const header: EthereumHeader = {
      parentHash: appHash,
      sha3Uncles: EMPTY_UNCLES_HASH,
      miner: of.miner,
      stateRoot: of.stateRoot,
      transactionsRoot: of.strange ?? EMPTY_TRIE_ROOT,
      receiptsRoot: EMPTY_TRIE_ROOT,
      logsBloom: new Uint8Array(256).fill(of.bloom ? 3 : 0),
      difficulty: of.gas,
      number: height,
      gasLimit: 30_000_000n,
      gasUsed: of.gas,
      timestamp: Math.floor(of.timeMs / 1000),
      extraData: new TextEncoder().encode('coind'),
      mixHash: of.strange ?? keccak256(parentHash),
      nonce: new Uint8Array(8),
      baseFeePerGas: later(0, of.fee),
      withdrawalsRoot: later(1, EMPTY_TRIE_ROOT),
      blobGasUsed: later(2, 0n),
      excessBlobGas: later(3, of.gas),
      parentBeaconBlockRoot: later(4, lastBlockId.hash.length === 32 ? lastBlockId.hash : new Uint8Array(32)),
      requestsHash: later(5, new Uint8Array(32).fill(9)),
    }
    const encoded = block && encodeBlock(block)
    const stored = {
      header: encodeEthereumHeader(header),
      block: encoded,
      results: hasResults ? encodeResults(of.entries, of.events) : undefined,
    }
    blocks.push(stored)
    parentHash = keccak256(stored.header)
    lastBlockId =
      block === undefined
        ? NIL_BLOCK_ID
        : { hash: headerHash(block.header), partSetHeader: createPartSet(encoded!).header }
  })
  return blocks
}

const chain = fc
  .record({ first: fc.constantFrom(0, 1, 8_192), plans: fc.array(plan, { minLength: 1, maxLength: 8 }) })
  .map(({ first, plans }) => ({ first, blocks: storedChain(first, plans) }))

describe('a frame of blocks', () => {
  it('gives every byte of any blocks again, with a dictionary or without', () => {
    fc.assert(
      fc.property(chain, fc.boolean(), ({ first, blocks }, hasDictionary) => {
        const dictionary = hasDictionary ? encodeFrame(blocks.slice(0, 2), NO_DICTIONARY).sample : NO_DICTIONARY
        const { bytes: packed } = encodeFrame(blocks, dictionary)
        const decoded = decodeFrame(packed, first, blocks.length, dictionary)
        expect(decoded).toEqual(blocks)
        const times = blocks.map(({ block }) => block && decodeBlock(block).header.timeMs)
        expect(decodeFrameTimes(packed, blocks.length, dictionary)).toEqual(times)
        // One block in a cache does not keep the others.
        for (const { results } of decoded) expect(results?.buffer.byteLength).toBe(results?.length)
      }),
      { numRuns: runs(40) },
    )
  })

  it('that was changed anywhere is refused, or gives blocks: it never fails otherwise', () => {
    fc.assert(
      fc.property(chain, fc.nat(), fc.integer({ min: 1, max: 255 }), ({ first, blocks }, place, change) => {
        const packed = encodeFrame(blocks, NO_DICTIONARY).bytes.slice()
        const at = place % packed.length
        packed[at]! ^= change
        for (const changed of [packed, packed.subarray(0, at)]) {
          try {
            expect(decodeFrame(changed, first, blocks.length, NO_DICTIONARY)).toHaveLength(blocks.length)
          } catch (error) {
            expect(error).toBeInstanceOf(ColumnError)
          }
        }
      }),
      { numRuns: runs(60) },
    )
  })

  it('that unpacks to more than it says, or to more than any blocks have, is refused', () => {
    const bomb = zstdCompressSync(new Uint8Array(50 << 20))
    const frame = (unpacked: number): Uint8Array => {
      const lengths = new Uint8Array(20)
      const end = writeVarint(lengths, writeVarint(lengths, writeVarint(lengths, 0, unpacked), bomb.length), 0)
      return concatBytes(lengths.subarray(0, end), bomb)
    }
    for (const unpacked of [0, 1, 1_000, 2 ** 40, 2 ** 52]) {
      expect(() => decodeFrame(frame(unpacked), 1, 1, NO_DICTIONARY)).toThrow(ColumnError)
    }
    // Zeros would be columns without anything in them.
    expect(() => decodeFrame(frame(50 << 20), 1, 1, NO_DICTIONARY)).toThrow(ColumnError)
    expect(() => decodeFrame(new Uint8Array(0), 1, 1, NO_DICTIONARY)).toThrow(ColumnError)
    expect(() => decodeFrame(frame(1), 1, 1_000_000, NO_DICTIONARY)).toThrow('a frame of 1000000 blocks')
  })

  it('with lists that no blocks have is refused before they take memory', () => {
    const block = fc.sample(
      plan.map((of) => storedChain(7, [{ ...of, hasBlock: true, strange: undefined }])),
      { numRuns: 1, seed: 5 },
    )[0]!
    const columns = columnsOf(encodeFrame(block, NO_DICTIONARY).sample)
    const problems = columns.slice(0, columns.length / 2).map((_, column) => {
      const huge = columns.with(column, varint(2 ** 48))
      try {
        return String(decodeFrame(packedColumns(huge), 7, 1, NO_DICTIONARY).length)
      } catch (error) {
        expect(error).toBeInstanceOf(ColumnError)
        return (error as Error).message
      }
    })
    // Signatures, evidence and transactions.
    expect(problems.filter((problem) => problem === `a block with a list of ${2 ** 47}`)).toHaveLength(3)
  })

  it('with a long value that each block would have again is refused', () => {
    const [stored] = fc.sample(
      plan.map((of) => storedChain(0, [{ ...of, hasBlock: false }])),
      { numRuns: 1, seed: 5 },
    )[0]!
    const header = { ...decodeEthereumHeader(stored!.header), extraData: new Uint8Array(2_000) }
    const blocks = [{ ...stored!, header: encodeEthereumHeader(header) }]
    expect(() => decodeFrame(encodeFrame(blocks, NO_DICTIONARY).bytes, 0, 1, NO_DICTIONARY)).toThrow(
      'a value is too long',
    )
  })
})

function varint(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  return bytes.subarray(0, writeVarint(bytes, 0, value))
}

/** The columns of a table: marks, then values. */
function columnsOf(table: Uint8Array): readonly Uint8Array[] {
  const source = new ByteSource(table)
  const lengths: number[] = []
  for (let left = table.length; left > 0; ) {
    const length = source.varint()
    lengths.push(length)
    left -= varint(length).length + length
  }
  return lengths.map((length) => source.take(length))
}

/** A frame with these columns, and with enough of those bytes that are not packed. */
function packedColumns(columns: readonly Uint8Array[]): Uint8Array {
  const table = concatBytes(...columns.map(({ length }) => varint(length)), ...columns)
  const packed = zstdCompressSync(table)
  const random = new Uint8Array(1_000)
  return concatBytes(varint(table.length), varint(packed.length), varint(random.length), packed, random)
}
