import { EMPTY_BYTES } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes, writeHeight } from '../storage/columns.ts'
import { encodeResults, isEmptyResult } from './blockRecord.ts'
import { entryHash } from './entryKind.ts'
import type { BlockEvents, StoredEntry } from './entryResult.ts'
import type { EthereumHeader } from './ethereumHeader.ts'
import { encodeEthereumHeader } from './ethereumHeaderCodec.ts'
import { eventIndexKeys } from './eventIndex.ts'
import { logIndexKeys } from './logIndex.ts'

/** One block as it goes into the database. */
export interface BlockRecord {
  readonly header: EthereumHeader
  /** keccak256(rlp(header)) */
  readonly hash: Hash
  /** protobuf, and the hash of its header; undefined for the genesis block */
  readonly consensus: { readonly block: Uint8Array; readonly hash: Uint8Array } | undefined
  /** by position in data.txs */
  readonly entries: readonly StoredEntry[]
  readonly events: BlockEvents
}

/** Puts a block with its receipts and indexes into the batch that also takes its state. */
export function writeBlock(batch: WriteBatch, block: BlockRecord): void {
  const { entries, events } = block
  const height = heightBytes(block.header.number)
  batch.put(columnKey(Column.header, height), encodeEthereumHeader(block.header))
  batch.put(columnKey(Column.blockHash, block.hash), height)
  if (block.consensus !== undefined) {
    batch.put(columnKey(Column.consensusBlock, height), block.consensus.block)
    batch.put(consensusHashKey(block.consensus.hash), height)
  }
  if (isEmptyResult(entries, events)) return
  batch.put(columnKey(Column.results, height), encodeResults(entries, events))
  entries.forEach((entry, position) => {
    const key = transactionKey(entry)
    if (key === undefined) return
    batch.put(key, locationBytes(block.header.number, entry.kind === 'evm' ? entry.index : position))
  })
  for (const key of indexKeys(block.header.number, entries, events)) batch.put(key, EMPTY_BYTES)
}

/** Under which a transaction that started is found by its hash. */
export function transactionKey(entry: StoredEntry): Uint8Array | undefined {
  if (entry.kind === 'evm') return columnKey(Column.transaction, entry.signed.transaction.hash)
  return entry.kind === 'native' ? columnKey(Column.nativeTransaction, entryHash(entry.raw)) : undefined
}

/** Keys of a block in the indexes of logs and of events. */
export function indexKeys(height: number, entries: readonly StoredEntry[], events: BlockEvents): Uint8Array[] {
  const logs = entries.flatMap((entry) => (entry.kind === 'evm' ? entry.receipt.logs : []))
  return [...logIndexKeys(height, logs), ...eventIndexKeys(height, entries, events)]
}

/** A prefix is enough to find a block: whoever looks it up compares the whole hash. */
export function consensusHashKey(hash: Uint8Array): Uint8Array {
  return columnKey(Column.consensusHash, hash.subarray(0, 8))
}

/** A height, then 4 bytes: a full block has thousands of these. */
function locationBytes(height: number, place: number): Uint8Array {
  const out = new Uint8Array(HEIGHT_BYTES + 4)
  writeHeight(out, 0, height)
  for (let i = 0; i < 4; i++) out[HEIGHT_BYTES + i] = place >>> (24 - 8 * i)
  return out
}
