import { removeNewestBlock } from '../chain/retention/removeBlock.ts'
import { firstAfterSegments } from '../chain/segments/moveBlocks.ts'
import { createBlockCache } from '../chain/store/blockCache.ts'
import { openChainReader } from '../chain/store/chainReader.ts'
import { ConfigError } from '../config/configError.ts'
import { readStateHead } from '../state/head.ts'
import { undoState } from '../state/undoState.ts'
import { WriteBatch } from '../storage/batch.ts'
import { BufferedDatabase } from '../storage/bufferedDatabase.ts'
import { damagedContents } from '../storage/damage.ts'
import type { Database } from '../storage/database.ts'

interface RollbackOptions {
  /** ends the rollback after the block under way; what was undone stays so */
  readonly signal?: AbortSignal
  /** called when the block of this height has become the newest */
  readonly onBlock?: (height: number) => void
}

/** A step is written when it has so many bytes, or blocks. */
const STEP_BYTES = 8 << 20
const STEP_BLOCKS = 500

/**
 * Undoes the blocks above `height`, newest first, so that the database is as it was when that block was its newest. It is written
 * in steps of one synced batch. Each step leaves a whole database at some height: after a crash the same call continues.
 *
 * Bytecode and sets of validators of the undone blocks stay; they are found only by their hashes, and do no harm. Data that the
 * blocks dropped as too old is not brought back. The commit of the new head is the one that the block after it had.
 * @param database has no other writer
 * @returns the height of the newest block before and after
 * @throws ConfigError, with nothing changed, when the database cannot go back to `height`; DatabaseError when something is missing in it
 */
export async function rollback(
  database: Database,
  height: number,
  { signal, onBlock }: RollbackOptions = {},
): Promise<{ readonly from: number; readonly to: number }> {
  const from = checkRollback(database, height)
  const buffered = new BufferedDatabase(database)
  buffered.startBuffering()
  const cache = createBlockCache()
  let to = from
  let blocks = 0
  while (to > height && signal?.aborted !== true) {
    const chain = openChainReader(buffered, cache)
    const before = chain.header(to - 1)
    if (before === undefined) throw damagedContents(`block ${to - 1} is missing`)
    const batch = new WriteBatch()
    undoState(buffered, batch, { height: to, root: before.stateRoot })
    removeNewestBlock(batch, buffered, chain)
    await buffered.write(batch, { sync: true })
    to--
    if (++blocks % STEP_BLOCKS === 0 || buffered.bufferedBytes >= STEP_BYTES) await buffered.flush()
    onBlock?.(to)
  }
  await buffered.stopBuffering()
  return { from, to }
}

/**
 * Returns the height of the newest block, if the database can go back to `height`.
 * @throws ConfigError when it cannot
 */
export function checkRollback(database: Database, height: number): number {
  const state = readStateHead(database)
  if (state === undefined) throw new ConfigError(`${database.location} holds no chain: there is nothing to roll back`)
  const { oldestBlock, headHeight } = openChainReader(database)
  if (height > headHeight) {
    throw new ConfigError(`block ${height} is above the newest block ${headHeight}: name an earlier block`)
  }
  if (height < state.oldestHeight) {
    throw new ConfigError(
      `the node has deleted the state of block ${height} (PRUNING): the earliest possible block is ${state.oldestHeight}`,
    )
  }
  // Blocks that are undone must have their bodies; that of the new head may be dropped, as it is after a restore.
  if (height < oldestBlock - 1) {
    throw new ConfigError(
      `the node has deleted the transactions of block ${height + 1} (BLOCK_HISTORY): the earliest possible block is ${oldestBlock - 1}`,
    )
  }
  const inSegments = firstAfterSegments(database) - 1
  if (height < inSegments) {
    throw new ConfigError(
      `block ${height + 1} is in a file of old blocks, which never changes: the earliest possible block is ${inSegments}`,
    )
  }
  return headHeight
}
