import { concatBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import { encodeResults, type StoredResults } from './blockRecord.ts'
import type { EthereumHeader } from './ethereumHeader.ts'
import { encodeEthereumHeader } from './ethereumHeaderCodec.ts'
import { logIndexKeys } from './logIndex.ts'

/** One block as it goes into the database. */
export interface BlockRecord {
  readonly header: EthereumHeader
  /** keccak256(rlp(header)) */
  readonly hash: Hash
  /** protobuf, and the hash of its header; undefined for the genesis block */
  readonly consensus: { readonly block: Uint8Array; readonly hash: Uint8Array } | undefined
  readonly results: StoredResults
  /** in order of the Ethereum block, one for each executed entry */
  readonly transactionHashes: readonly Hash[]
}

/** Puts a block with its receipts and indexes into the batch that also takes its state. */
export function writeBlock(batch: WriteBatch, block: BlockRecord): void {
  const height = heightBytes(block.header.number)
  batch.put(columnKey(Column.header, height), encodeEthereumHeader(block.header))
  batch.put(columnKey(Column.blockHash, block.hash), height)
  if (block.consensus !== undefined) {
    batch.put(columnKey(Column.consensusBlock, height), block.consensus.block)
    batch.put(consensusHashKey(block.consensus.hash), height)
  }
  if (block.results.executed.length + block.results.skipped.length > 0) {
    batch.put(columnKey(Column.results, height), encodeResults(block.results))
  }
  block.transactionHashes.forEach((hash, index) => {
    batch.put(columnKey(Column.transaction, hash), concatBytes(height, indexBytes(index)))
  })
  const logs = block.results.executed.flatMap(({ receipt }) => receipt.logs)
  for (const key of logIndexKeys(block.header.number, logs)) batch.put(key, EMPTY_BYTES)
}

/** A prefix is enough to find a block: whoever looks it up compares the whole hash. */
export function consensusHashKey(hash: Uint8Array): Uint8Array {
  return columnKey(Column.consensusHash, hash.subarray(0, 8))
}

function indexBytes(index: number): Uint8Array {
  const out = new Uint8Array(4)
  new DataView(out.buffer).setUint32(0, index)
  return out
}
