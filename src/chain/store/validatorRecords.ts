import { bytesKey, bytesToBigInt, concatBytes, equalBytes } from '../../primitives/bytes.ts'
import { ed25519Address } from '../../primitives/ed25519.ts'
import { decodeRLP, encodeRLP, type RLPItem } from '../../primitives/rlp.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { KeyReader } from '../../storage/database.ts'
import type { RankedValidatorSet, ValidatorSet } from '../comet/types.ts'
import {
  isRecorded,
  type RankRecord,
  RECORD_INTERVAL,
  rankFields,
  rankRecordAt,
  ranksAt,
  readRankFields,
} from './rankRecord.ts'

/**
 * Adds the validators of block `height` to the batch of the block that determined them: the whole set when it differs from that of the
 * previous height; priorities in that case and at every {@link RECORD_INTERVAL}th height; otherwise nothing. Heights must come in order.
 * @param db contains the earlier heights
 * @param isChanged members or powers differ from the previous height
 */
export function writeValidators(
  batch: WriteBatch,
  db: KeyReader,
  {
    height,
    set,
    isChanged,
  }: { readonly height: number; readonly set: RankedValidatorSet; readonly isChanged: boolean },
): void {
  if (!isRecorded(height, isChanged)) return
  const record = rankRecordAt(height, set)
  if (isChanged) {
    batch.put(columnKey(Column.validatorSet, record.hash), encodeSet(set))
    batch.put(columnKey(Column.validatorSetUse, record.hash), heightBytes(height))
  }
  batch.put(columnKey(Column.proposerPriorities, heightBytes(height)), encodeRLP(rankFields(record)))
  const indexKey = segmentKey(height)
  batch.put(indexKey, concatBytes(db.get(indexKey) ?? new Uint8Array(), Uint8Array.of(height % RECORD_INTERVAL)))
}

/**
 * Adds deletes to a batch, which revert the writes of {@link writeValidators} for `height`, the
 * highest one. The set itself stays, with this height as its newest use: an earlier height may have
 * the same one.
 */
export function removeValidators(batch: WriteBatch, db: KeyReader, height: number): void {
  const indexKey = segmentKey(height)
  const offsets = db.get(indexKey)
  if (offsets?.at(-1) !== height % RECORD_INTERVAL) return
  batch.del(columnKey(Column.proposerPriorities, heightBytes(height)))
  if (offsets.length === 1) batch.del(indexKey)
  else batch.put(indexKey, offsets.subarray(0, -1))
}

/**
 * Adds deletes to a batch, which drop the validators of heights below `until` that are in intervals of {@link RECORD_INTERVAL} heights which
 * end there or before: their records, and the sets that no later height has.
 * @param from where an earlier call ended, or the lowest height of the chain
 */
export function dropValidators(batch: WriteBatch, db: KeyReader, from: number, until: number): void {
  for (let start = from - (from % RECORD_INTERVAL); start + RECORD_INTERVAL <= until; start += RECORD_INTERVAL) {
    const end = start + RECORD_INTERVAL
    const offsets = db.get(segmentKey(start))
    // A chain that started from a snapshot has no validators of the blocks before it.
    if (offsets === undefined) continue
    const current = readRecord(db, end)
    if (current === undefined) throw damaged(db, end)
    for (const offset of offsets) {
      const { hash } = requireRecord(db, start + offset)
      batch.del(columnKey(Column.proposerPriorities, heightBytes(start + offset)))
      const use = db.get(columnKey(Column.validatorSetUse, hash))
      if (use === undefined || readHeight(use, 0) >= end || equalBytes(hash, current.hash)) continue
      batch.del(columnKey(Column.validatorSet, hash))
      batch.del(columnKey(Column.validatorSetUse, hash))
    }
    batch.del(segmentKey(start))
  }
}

/**
 * Adds the validators of a height whose priorities are not known: of the block after which a snapshot has the state. The next height needs
 * a record of its own.
 */
export function writeUnrankedSet(batch: WriteBatch, db: KeyReader, height: number, set: ValidatorSet): void {
  writeValidators(batch, db, { height, set: { ...set, priorities: [], proposer: 0 }, isChanged: true })
}

/** The validators of an older block that was fetched later: the hash of the set, and the set itself where the block above has another one. */
interface OlderValidators {
  readonly height: number
  readonly hash: Uint8Array
  readonly set: ValidatorSet | undefined
}

/**
 * Adds the validators of consecutive blocks below all that have records, so that each of these blocks finds its set. Their priorities
 * are not known.
 * @param blocks the highest first
 */
export function writeOlderValidators(batch: WriteBatch, db: KeyReader, blocks: readonly OlderValidators[]): void {
  const used = new Set<string>()
  /** by interval: heights with a record, as offsets */
  const offsets = new Map<number, number[]>()
  for (const [index, { height, hash, set }] of blocks.entries()) {
    if (set !== undefined) {
      batch.put(columnKey(Column.validatorSet, hash), encodeSet(set))
      const useKey = columnKey(Column.validatorSetUse, hash)
      // It may have come again later.
      if (!used.has(bytesKey(hash)) && db.get(useKey) === undefined) batch.put(useKey, heightBytes(height))
      used.add(bytesKey(hash))
    }
    const below = blocks[index + 1]
    if (below !== undefined && !isRecorded(height, !equalBytes(below.hash, hash))) continue
    const record = rankFields({ hash, proposer: 0, priorities: [] })
    batch.put(columnKey(Column.proposerPriorities, heightBytes(height)), encodeRLP(record))
    const interval = Math.floor(height / RECORD_INTERVAL)
    offsets.set(interval, [height % RECORD_INTERVAL, ...(offsets.get(interval) ?? [])])
  }
  for (const [interval, lower] of offsets) {
    const key = segmentKey(interval * RECORD_INTERVAL)
    batch.put(key, concatBytes(Uint8Array.from(lower), db.get(key) ?? new Uint8Array()))
  }
}

/** Whether the next block may write to the same entry of the index as {@link writeOlderValidators} below `height`. */
export function sharesValidatorIndex(height: number, headHeight: number): boolean {
  // A block adds the validators of the second one after it.
  return Math.floor((height - 1) / RECORD_INTERVAL) >= Math.floor((headHeight + 3) / RECORD_INTERVAL)
}

/**
 * Returns the validators of block `height` with their priorities; undefined where nothing is
 * stored, or no priorities are. The caller bounds the height.
 */
export function readValidators(db: KeyReader, height: number): RankedValidatorSet | undefined {
  const record = readRecord(db, height)
  return record === undefined || record.priorities.length === 0
    ? undefined
    : ranksAt(record, readSet(db, record.hash), height)
}

/** The same without priorities: only a few reads. */
export function readValidatorSet(db: KeyReader, height: number): ValidatorSet | undefined {
  const record = readRecord(db, height)
  return record && readSet(db, record.hash)
}

/** Returns the newest record up to `height`. */
function readRecord(db: KeyReader, height: number): RankRecord | undefined {
  const offset = db.get(segmentKey(height))?.findLast((offset) => offset <= height % RECORD_INTERVAL)
  if (offset === undefined) return undefined
  return requireRecord(db, height - (height % RECORD_INTERVAL) + offset)
}

/** @throws DatabaseError when it is missing */
function requireRecord(db: KeyReader, height: number): RankRecord {
  const bytes = db.get(columnKey(Column.proposerPriorities, heightBytes(height)))
  if (bytes === undefined) throw damaged(db, height)
  return readRankFields(height, decodeRLP(bytes) as readonly RLPItem[])
}

function readSet(db: KeyReader, hash: Uint8Array): ValidatorSet {
  const set = findSet(db, hash)
  if (set === undefined) throw damagedIn(db, 'a validator set is missing')
  return set
}

/** Returns the set with a hash; undefined when it is not stored. */
export function findSet(db: Pick<KeyReader, 'get'>, hash: Uint8Array): ValidatorSet | undefined {
  const bytes = db.get(columnKey(Column.validatorSet, hash))
  if (bytes === undefined) return undefined
  const validators = (decodeRLP(bytes) as [Uint8Array, Uint8Array][]).map(([publicKey, power]) => ({
    address: ed25519Address(publicKey),
    publicKey,
    power: bytesToBigInt(power),
  }))
  return { validators, totalPower: validators.reduce((sum, { power }) => sum + power, 0n) }
}

function encodeSet({ validators }: ValidatorSet): Uint8Array {
  return encodeRLP(validators.map(({ publicKey, power }) => [publicKey, power]))
}

function segmentKey(height: number): Uint8Array {
  return columnKey(Column.proposerPrioritiesIndex, heightBytes(Math.floor(height / RECORD_INTERVAL)))
}

function damaged(db: KeyReader, height: number): Error {
  return damagedIn(db, `the validators of block ${height} are missing`)
}
