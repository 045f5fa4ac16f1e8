import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { CALLS_KEY } from '../../chain/indexes/callIndex.ts'
import { INDEXED_KEY, TERM_COLUMNS } from '../../chain/indexes/indexCoverage.ts'
import { openChainReader } from '../../chain/store/chainReader.ts'
import {
  HISTORY_COLUMNS,
  INDEX_COLUMNS,
  REPAIR_KEY,
  type RepairMarker,
  STATE_COLUMNS,
  writeRepairMarker,
} from '../../chain/store/mendable.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { encodeCount, nativePageKey, slotCountKey } from '../../state/flatState.ts'
import { writeOldestHeight, writeStateHead } from '../../state/head.ts'
import { DirectoryBuilder } from '../../state/nativeDirectory.ts'
import { WriteBatch } from '../../storage/batch.ts'
import { BatchWriter } from '../../storage/batchWriter.ts'
import { Column, columnKey, prefixEnd } from '../../storage/columns.ts'
import { damagedContents } from '../../storage/damage.ts'
import { Database } from '../../storage/database.ts'
import { encodeFormat, FORMAT_KEY, GENESIS_HASH_KEY } from '../../storage/format.ts'
import { type Reindexed, reindex } from '../reindex.ts'
import { type Damage, type InspectRequest, pause, type StateDamage } from './findDamage.ts'
import { mendedReader } from './mendState.ts'
import { recomputeState } from './recomputeState.ts'

export interface MendRequest extends InspectRequest {
  readonly chain: Pick<ChainConfig, 'genesisHash'>
  readonly index: 'all' | 'off'
}

/** Repairs that can be made in place. */
export interface MendPlan {
  /** entries of the state are written from what proves them */
  readonly state: boolean
  /** the states of older blocks are forgotten */
  readonly history: boolean
  /** the indexes are compared with the blocks */
  readonly index: boolean
  /** whether there is anything of this, or single records that are written anew or deleted */
  readonly hasValues: boolean
}

/**
 * Plans the repair in place; undefined when some damage cannot be repaired in place, so that the
 * database has to be made anew. Files of old blocks are apart.
 */
export function planMending({ files, values, chain, state, begun }: Damage): MendPlan | undefined {
  if (files.length > 0 || chain.length > 0 || state === undefined || state.loss !== undefined) return undefined
  const has = (columns: readonly number[]): boolean => columns.some((column) => values.has(column))
  const { nodes, slotCounts, isDirectoryWrong } = state.derived
  // Pages of older heights follow from what the pages were.
  const history = has([...HISTORY_COLUMNS, Column.stateMeta]) || isDirectoryWrong || begun?.history === true
  const index = has(INDEX_COLUMNS) || begun?.index === true || values.has(Column.chainMeta)
  const isStateWrong = has(STATE_COLUMNS) || nodes > 0 || slotCounts > 0 || isDirectoryWrong
  return { state: isStateWrong, history, index, hasValues: isStateWrong || values.size > 0 || begun !== undefined }
}

/**
 * Repairs a database whose files are whole, as `findDamage` has planned. Each step may be repeated:
 *
 * 1. Write a mark with which no node starts, and at which the next repair continues.
 * 2. Remove damaged entries, except those of blocks, which are not damaged here. Write the known values instead: for accounts,
 *    slots and native entries the values in the trie; for the number of the format and the genesis hash the right ones.
 * 3. Write the rest of the state as it follows from accounts, slots and native entries. Compute the root once more.
 * 4. Where an entry of the history was damaged, delete the states of older blocks: nothing proves them.
 * 5. Make the indexes match the blocks.
 * 6. Remove the mark.
 *
 * @returns the errors of the indexes
 * @throws DatabaseError when the state has another root now; `signal.reason`
 */
export async function mendDatabase(request: MendRequest, damage: Damage, plan: MendPlan): Promise<Reindexed> {
  const state = damage.state!
  const database = await Database.open(request.location, { mayBeDamaged: true })
  try {
    const { history, index } = plan
    await markBegun(database, { history, index }) // 1.
    await replaceDamaged(database, request, damage, state) // 2.
    if (plan.state) await writeDerived(database, request, state) // 3.
    if (history) await forgetHistory(database, request) // 4.
    const { progressOf, signal } = request
    const found = index ? await reindex({ database, index: request.index, progressOf, signal }) : {} // 5.
    const batch = new WriteBatch()
    writeRepairMarker(batch, undefined) // 6.
    await database.write(batch, { sync: true })
    return found
  } finally {
    await database.close()
  }
}

async function markBegun(database: Database, marker: RepairMarker): Promise<void> {
  const batch = new WriteBatch()
  writeRepairMarker(batch, marker)
  await database.write(batch, { sync: true })
}

async function replaceDamaged(
  database: Database,
  { chain, index }: MendRequest,
  { values }: Damage,
  { root, mended }: StateDamage,
): Promise<void> {
  const batch = new WriteBatch()
  for (const key of [...values.values()].flat()) {
    const value = mended.get(bytesKey(key))
    if (value !== undefined) batch.put(key, value)
    else if (equalBytes(key, FORMAT_KEY)) batch.put(key, encodeFormat())
    else if (equalBytes(key, GENESIS_HASH_KEY)) batch.put(key, chain.genesisHash)
    // Not known any more. Searches are refused rather than answered from indexes that have holes.
    else if (equalBytes(key, INDEXED_KEY) && index === 'off') batch.put(key, EMPTY_BYTES)
    // The mark has been written anew, and what the state is follows from the newest block.
    else if (equalBytes(key, REPAIR_KEY) || key[0] === Column.stateMeta) continue
    else batch.del(key)
  }
  // Nothing tells where the index of calls has holes now: it begins anew with the next start.
  if (values.size > 0) batch.del(CALLS_KEY)
  const isHoled = [...values.keys()].some((column) => TERM_COLUMNS.has(column) || column === Column.segmentTerms)
  if (isHoled && index === 'off') batch.put(INDEXED_KEY, EMPTY_BYTES)
  if (values.has(Column.stateMeta)) {
    const { headHeight } = openChainReader(mendedReader(database, mended))
    writeStateHead(batch, headHeight, root)
    writeOldestHeight(batch, headHeight)
  }
  await database.write(batch, { sync: true })
}

/** Writes entries of the recomputed state that the database lacks. @throws DatabaseError when it has another root */
async function writeDerived(database: Database, request: MendRequest, { root, derived }: StateDamage): Promise<void> {
  const batches = new BatchWriter(database)
  const found = await recomputeState(
    database,
    { ...request, title: 'rewriting the state', pause: () => batches.flushLarge() },
    {
      node: (key, rlp) => batches.batch.put(key, rlp),
      slotCount: (address, count) => {
        if (count === 0) batches.batch.del(slotCountKey(address))
        else batches.batch.put(slotCountKey(address), encodeCount(count))
      },
      directory: () => undefined,
      code: () => undefined,
    },
  )
  if (!equalBytes(found, root)) throw damagedContents('the state root changed during the repair')
  if (derived.isDirectoryWrong) await writeDirectory(database, batches)
  await batches.flush()
}

async function writeDirectory(database: Database, batches: BatchWriter): Promise<void> {
  await deleteColumn(database, batches, Column.nativePage)
  const builder = new DirectoryBuilder((page, bytes) => batches.batch.put(nativePageKey(page), bytes))
  const start = columnKey(Column.native)
  for await (const [key] of database.entries({ start, end: prefixEnd(start) })) {
    builder.add(key.slice(start.length))
    await batches.flushLarge()
  }
  builder.finish()
}

/** Makes the newest state the oldest one. */
async function forgetHistory(database: Database, request: MendRequest): Promise<void> {
  const batch = new WriteBatch()
  writeOldestHeight(batch, openChainReader(database).headHeight)
  await database.write(batch, { sync: true })
  const batches = new BatchWriter(database)
  for (const column of HISTORY_COLUMNS) {
    await deleteColumn(database, batches, column)
    await pause(request)
  }
  await batches.flush()
}

async function deleteColumn(database: Database, batches: BatchWriter, column: number): Promise<void> {
  const start = columnKey(column)
  for await (const [key] of database.entries({ start, end: prefixEnd(start) })) {
    batches.batch.del(key)
    await batches.flushLarge()
  }
}
