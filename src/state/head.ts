import { concatBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes, readHeight } from '../storage/columns.ts'
import type { KeyReader } from '../storage/database.ts'

/** The heights whose state a database has: the newest, with its root, and the oldest. */
export interface StateHead {
  readonly height: number
  readonly root: Hash
  /** lowest height whose state is retained */
  readonly oldestHeight: number
}

const HEAD_KEY = columnKey(Column.stateMeta, new TextEncoder().encode('head'))
const OLDEST_KEY = columnKey(Column.stateMeta, new TextEncoder().encode('oldest'))

/** undefined before the first block is written. */
export function readStateHead(reader: KeyReader): StateHead | undefined {
  const head = reader.get(HEAD_KEY)
  const oldestHeight = readOldestHeight(reader)
  if (head === undefined || oldestHeight === undefined) return undefined
  return { height: readHeight(head, 0), root: head.slice(HEIGHT_BYTES), oldestHeight }
}

/** Returns the newest height whose state is there; undefined before the first block is written. */
export function readStateHeight(reader: KeyReader): number | undefined {
  const head = reader.get(HEAD_KEY)
  return head && readHeight(head, 0)
}

/**
 * Returns the lowest height whose state is retained; undefined before the first block is written.
 */
export function readOldestHeight(reader: KeyReader): number | undefined {
  const oldest = reader.get(OLDEST_KEY)
  return oldest && readHeight(oldest, 0)
}

export function writeStateHead(batch: WriteBatch, height: number, root: Hash): void {
  batch.put(HEAD_KEY, concatBytes(heightBytes(height), root))
}

export function writeOldestHeight(batch: WriteBatch, height: number): void {
  batch.put(OLDEST_KEY, heightBytes(height))
}

/** A state older than the pruning window. */
export class StateUnavailable extends Error {
  override readonly name = 'StateUnavailable'
  readonly height: number
  readonly oldestHeight: number

  constructor(height: number, oldestHeight: number) {
    super(`historical state of block ${height} is not available: the oldest block with state is ${oldestHeight}`)
    this.height = height
    this.oldestHeight = oldestHeight
  }
}

/**
 * @throws StateUnavailable below the retained window
 * @throws RangeError above the head
 */
export function checkHeight(head: StateHead, height: number): void {
  if (height < head.oldestHeight) throw new StateUnavailable(height, head.oldestHeight)
  if (height > head.height) throw new RangeError(`block ${height} is above the head ${head.height}`)
}
