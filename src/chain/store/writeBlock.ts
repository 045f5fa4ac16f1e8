import { bytesToBigInt, EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { decodeRLP, encodeRLP } from '../../primitives/rlp.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import type { LateEntry } from '../../storage/bufferedDatabase.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes, writeHeight } from '../../storage/columns.ts'
import type { DatabaseReader, KeyReader } from '../../storage/database.ts'
import { type BlockEvents, entryHash, type StoredEntry } from '../block/entries.ts'
import { type EthereumHeader, encodeEthereumHeader } from '../block/ethereumBlock.ts'
import type { Log } from '../block/receipt.ts'
import { decodeCommit, encodeCommit } from '../comet/commit.ts'
import type { BlockId, Commit } from '../comet/types.ts'
import { envelopeKeys, eventIndexKeys } from '../indexes/eventIndex.ts'
import { forEachLogEntry, logIndexKeys, mayBePacked } from '../indexes/logIndex.ts'
import { encodeResults, isEmptyResult } from './storedResults.ts'

/** The parts of a block that are written to the database. */
interface BlockRecord {
  readonly header: EthereumHeader
  /** keccak256(rlp(header)) */
  readonly hash: Hash
  /** protobuf, and the hash of its header; undefined for the genesis block */
  readonly consensus: { readonly block: Uint8Array; readonly hash: Uint8Array } | undefined
  /** by position in data.txs */
  readonly entries: readonly StoredEntry[]
  readonly events: BlockEvents
  /** whether it is found by its logs and events (see `switchIndexes`) */
  readonly isIndexed: boolean
}

/**
 * Adds a block with its receipts and indexes to its batch. One synced batch has everything of a block. LevelDB stores a batch as a
 * whole or not at all, so after a crash the database ends with a complete block and needs no repair. The batch contains:
 *
 * 1. the state after it, with history and state head (`PendingState.write`);
 * 2. headers, data.txs, results and their indexes (this function);
 * 3. the validators of the block after the next (`writeValidators`);
 * 4. the head record (`headEntry`).
 *
 * A decided block that the database does not have after a crash is in the write-ahead log, which was synced when the block was
 * decided.
 */
export function writeBlock(batch: WriteBatch, block: BlockRecord): void {
  const { entries, events } = block
  const height = heightBytes(block.header.number)
  batch.put(columnKey(Column.header, height), encodeEthereumHeader(block.header))
  if (block.consensus !== undefined) batch.put(columnKey(Column.consensusBlock, height), block.consensus.block)
  if (!isEmptyResult(entries, events)) batch.put(columnKey(Column.results, height), encodeResults(entries, events))
  const { isIndexed } = block
  putHashEntries(batch, { height: block.header.number, hash: block.hash, consensusHash: block.consensus?.hash })
  putBodyEntries(batch, { height: block.header.number, entries, events, isIndexed })
}

/**
 * Adds a block's own entries in the indexes of hashes. `consensusHash` is undefined for the genesis
 * block.
 */
export function putHashEntries(
  batch: Pick<WriteBatch, 'put'>,
  block: { readonly height: number; readonly hash: Hash; readonly consensusHash: Uint8Array | undefined },
): void {
  const height = heightBytes(block.height)
  batch.put(columnKey(Column.blockHash, block.hash), height)
  if (block.consensusHash !== undefined) batch.put(consensusHashKey(block.consensusHash), height)
}

/** Adds a block's entries in the indexes of transactions, logs and events. */
export function putBodyEntries(
  batch: Pick<WriteBatch, 'put'>,
  {
    height,
    entries,
    events,
    isIndexed,
    isPackable = true,
  }: Omit<IndexedBlock, 'isPackable'> & Pick<BlockRecord, 'isIndexed'> & Partial<IndexedBlock>,
): void {
  entries.forEach((entry, position) => {
    const key = transactionKey(entry)
    if (key === undefined) return
    batch.put(key, locationBytes(height, entry.kind === 'evm' ? entry.index : position))
  })
  const put = (key: Uint8Array, value: Uint8Array): void => batch.put(key, value)
  if (isIndexed) forEachTermEntry({ height, entries, events, isPackable }, put)
  for (const key of envelopeKeys(height, entries)) put(key, EMPTY_BYTES)
}

/**
 * Returns the key under which a transaction is found by its hash; undefined when it could not
 * start.
 */
export function transactionKey(entry: StoredEntry): Uint8Array | undefined {
  if (entry.kind === 'evm') return columnKey(Column.transaction, entry.signed.transaction.hash)
  return entry.kind === 'native' ? columnKey(Column.nativeTransaction, entryHash(entry.raw)) : undefined
}

/** The parts of a block that go into the indexes of logs and events. */
interface IndexedBlock extends Pick<BlockRecord, 'entries' | 'events'> {
  readonly height: number
  /** whether terms of logs may be packed: see `forEachLogEntry` */
  readonly isPackable: boolean
}

/**
 * Calls `visit` for each entry of a block in the indexes of logs and of events, without those under which transactions are found by their
 * hashes.
 */
export function forEachTermEntry(
  { height, entries, events, isPackable }: IndexedBlock,
  visit: (key: Uint8Array, value: Uint8Array) => void,
): void {
  forEachLogEntry(height, logsOf(entries), isPackable, visit)
  for (const key of eventIndexKeys(height, entries, events)) visit(key, EMPTY_BYTES)
}

/** Returns the keys of a block's terms, unpacked: the input of the files next to segments. */
export function termKeys(height: number, entries: readonly StoredEntry[], events: BlockEvents): Uint8Array[] {
  return [...logIndexKeys(height, logsOf(entries)), ...eventIndexKeys(height, entries, events)]
}

function logsOf(entries: readonly StoredEntry[]): readonly Log[] {
  return entries.flatMap((entry) => (entry.kind === 'evm' ? entry.receipt.logs : []))
}

/** Adds deletes of the entries that {@link forEachTermEntry} visits, as the database has them. */
export function deleteTermEntries(
  batch: Pick<WriteBatch, 'del'>,
  db: Pick<KeyReader, 'get'>,
  block: Omit<IndexedBlock, 'isPackable'>,
): void {
  forEachTermEntry({ ...block, isPackable: mayBePacked(db, block.height) }, (key) => batch.del(key))
}

/** The key has only a prefix of the hash: readers compare the whole hash with the block's. */
export function consensusHashKey(hash: Uint8Array): Uint8Array {
  return columnKey(Column.consensusHash, hash.subarray(0, 8))
}

/** A height, then a position of 4 bytes. Written without intermediate arrays, because a full block has thousands. */
function locationBytes(height: number, position: number): Uint8Array {
  const out = new Uint8Array(HEIGHT_BYTES + 4)
  writeHeight(out, 0, height)
  for (let i = 0; i < 4; i++) out[HEIGHT_BYTES + i] = position >>> (24 - 8 * i)
  return out
}

/** Data that is stored for the newest block only; for older blocks it is in the next block. */
export interface HeadRecord {
  readonly height: number
  /** undefined at genesis */
  readonly decided: { readonly blockId: BlockId; readonly seenCommit: Commit } | undefined
  /** header.last_results_hash of the next block */
  readonly resultsHash: Uint8Array
}

const HEAD_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('head'))

export function writeHeadRecord(batch: WriteBatch, record: HeadRecord): void {
  const { key, value } = headEntry(record)
  batch.put(key, value())
}

/** Returns the entry of a head record: in catch-up only the last of many blocks needs its value. */
export function headEntry({ height, decided, resultsHash }: HeadRecord): LateEntry {
  return {
    key: HEAD_KEY,
    value: () => {
      const decision =
        decided === undefined
          ? []
          : [
              decided.blockId.hash,
              BigInt(decided.blockId.partSetHeader.total),
              decided.blockId.partSetHeader.hash,
              encodeCommit(decided.seenCommit),
            ]
      return encodeRLP([BigInt(height), decision, resultsHash])
    },
  }
}

/** undefined in an empty database. */
export function readHeadRecord(db: DatabaseReader): HeadRecord | undefined {
  const bytes = db.get(HEAD_KEY)
  if (bytes === undefined) return undefined
  const [height, decision, resultsHash] = decodeRLP(bytes) as [Uint8Array, Uint8Array[], Uint8Array]
  const [hash, total, partsHash, commit] = decision
  return {
    height: Number(bytesToBigInt(height)),
    decided:
      hash === undefined
        ? undefined
        : {
            blockId: { hash, partSetHeader: { total: Number(bytesToBigInt(total!)), hash: partsHash! } },
            seenCommit: decodeCommit(commit!),
          },
    resultsHash,
  }
}
