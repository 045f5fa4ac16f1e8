import { NO_BLOCK_EVENTS } from '../../../src/chain/block/entries.ts'
import { type EthereumHeader, ethereumHeaderHash } from '../../../src/chain/block/ethereumBlock.ts'
import { encodeBlock } from '../../../src/chain/comet/block.ts'
import { validatorSetHash } from '../../../src/chain/comet/validatorSet.ts'
import { completeHashFiles } from '../../../src/chain/indexes/makeHashFiles.ts'
import { moveBlocks, readMoved } from '../../../src/chain/segments/moveBlocks.ts'
import { segmentEntry, storedBlock, writeSegment } from '../../../src/chain/segments/segments.ts'
import { oldestBlockEntry } from '../../../src/chain/store/chainReader.ts'
import { writeValidators } from '../../../src/chain/store/validatorRecords.ts'
import { writeBlock, writeHeadRecord } from '../../../src/chain/store/writeBlock.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { equalBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, sha256, ZERO_HASH } from '../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import type { WritableDatabase } from '../../../src/storage/database.ts'
import { encodeFormat, FORMAT_KEY, GENESIS_HASH_KEY } from '../../../src/storage/format.ts'
import type { ServedChain } from '../sync/servedChain.ts'

/** The Ethereum header of a decided block that says nothing but which one it belongs to. */
function ethereumHeaderOf(number: number, extraData: Uint8Array): EthereumHeader {
  return {
    parentHash: ZERO_HASH,
    sha3Uncles: EMPTY_UNCLES_HASH,
    miner: new Uint8Array(20),
    stateRoot: EMPTY_TRIE_ROOT,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: new Uint8Array(256),
    difficulty: 0n,
    number,
    gasLimit: 30_000_000n,
    gasUsed: 0n,
    timestamp: number,
    extraData,
    mixHash: ZERO_HASH,
    nonce: new Uint8Array(8),
    baseFeePerGas: 1n,
    withdrawalsRoot: undefined,
    blobGasUsed: undefined,
    excessBlobGas: undefined,
    parentBeaconBlockRoot: undefined,
    requestsHash: undefined,
  }
}

const GENESIS = ethereumHeaderOf(0, new Uint8Array())

/** For `servedChain`: the hashes of the headers that {@link writeServedChain} writes. */
export const APP_HASHES = {
  genesis: ethereumHeaderHash(GENESIS),
  after: ({ block, blockId }: DecidedBlock) => ethereumHeaderHash(ethereumHeaderOf(block.header.height, blockId.hash)),
}

const NOTHING_IN_IT = { entries: [], events: NO_BLOCK_EVENTS, isIndexed: true } as const

/**
 * Writes empty blocks as a node has them that drops bodies: those up to `lastInSegment` are in a segment.
 * @param chain made with {@link APP_HASHES}
 */
export async function writeServedChain(
  database: WritableDatabase,
  { decided, states }: ServedChain,
  lastInSegment: number,
): Promise<void> {
  const write = async (fill: (batch: WriteBatch) => void): Promise<void> => {
    const batch = new WriteBatch()
    fill(batch)
    await database.write(batch, { sync: false })
  }
  await write((batch) => {
    batch.put(GENESIS_HASH_KEY, sha256(new Uint8Array()))
    batch.put(FORMAT_KEY, encodeFormat())
    writeBlock(batch, { header: GENESIS, hash: APP_HASHES.genesis, consensus: undefined, ...NOTHING_IN_IT })
  })
  for (let height = 1; height <= states.length; height++) {
    const set = states[height - 1]!.validators
    const before = states[height - 2]?.validators
    // The genesis of a served chain has the same priorities at its first two heights.
    const isChanged =
      before === undefined || height === 2 || !equalBytes(validatorSetHash(before), validatorSetHash(set))
    await write((batch) => writeValidators(batch, database, { height, set, isChanged }))
  }
  await write((batch) => {
    for (const { block, blockId, seenCommit } of decided) {
      const { height } = block.header
      const header = ethereumHeaderOf(height, blockId.hash)
      const consensus = { block: encodeBlock(block), hash: blockId.hash }
      const hash = ethereumHeaderHash(header)
      writeBlock(batch, { header, hash, consensus, ...NOTHING_IN_IT })
      if (height === decided.length) {
        writeHeadRecord(batch, { height, decided: { blockId, seenCommit }, resultsHash: ZERO_HASH })
      }
    }
    batch.put(...oldestBlockEntry(lastInSegment + 10))
  })
  const segment = await writeSegment(
    database.location,
    {
      first: 0,
      last: lastInSegment,
      genesisHash: sha256(new Uint8Array()),
      lastCommit: decided[lastInSegment]!.block.lastCommit,
      read: (height) => storedBlock(database, height),
    },
    async () => undefined,
  )
  await write((batch) => batch.put(...segmentEntry(segment)))
  await completeHashFiles(database, async () => undefined)
  while (readMoved(database) <= lastInSegment) {
    await write((batch) => moveBlocks(database, batch, 2_000))
  }
}
