import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import { ByteWriter, decodeAscending, firstAbove, VarintReader, writeAscending } from './varint.ts'

/**
 * The heights at which one flat entry changed, found without seeking. The index record of the entry holds the newest
 * heights; each time there are 256 they become a shard named by the last of them, and the record keeps that name; each 256
 * names become a shard of the next level, and so on. A look-up reads the record and at most one shard a level: one for an
 * entry that changed up to 65,536 times.
 */
interface IndexRecord {
  /** `levels[i]`: last heights of the shards of level i that no shard of level i + 1 holds yet */
  readonly levels: number[][]
  /** heights that are in no shard yet */
  open: number[]
}

interface KeyReader {
  get(key: Uint8Array): Uint8Array | undefined
}

const SHARD = 256

export function indexKey(flatKey: Uint8Array): Uint8Array {
  return columnKey(Column.changeIndex, flatKey)
}

/** The first height above `height` at which the entry changed; undefined when there is none. */
export function nextChange(reader: KeyReader, flatKey: Uint8Array, height: number): number | undefined {
  const bytes = reader.get(indexKey(flatKey))
  if (bytes === undefined) return undefined
  const record = decodeRecord(bytes)
  for (let level = record.levels.length - 1; level >= 0; level--) {
    let names = record.levels[level]!
    let at = firstAbove(names, height)
    if (at === names.length) continue
    for (let below = level; below >= 0; below--) {
      names = readShard(reader, flatKey, below, names[at]!)
      at = firstAbove(names, height)
    }
    return names[at]
  }
  return record.open[firstAbove(record.open, height)]
}

/** Adds `height`, above all that the index holds. Shards that end at or below `oldest` are forgotten. */
export function addChange(
  reader: KeyReader,
  batch: WriteBatch,
  flatKey: Uint8Array,
  height: number,
  oldest: number,
): void {
  const key = indexKey(flatKey)
  const bytes = reader.get(key)
  const record = bytes === undefined ? { levels: [], open: [] } : decodeRecord(bytes)
  record.open.push(height)
  if (record.open.length >= SHARD) {
    record.open = sealed(batch, flatKey, record.levels, 0, record.open)
    for (let level = 0; level < record.levels.length; level++) {
      const names = record.levels[level]!
      record.levels[level] =
        names.length >= SHARD
          ? sealed(batch, flatKey, record.levels, level + 1, names)
          : names.slice(firstAbove(names, oldest))
    }
  }
  batch.put(key, encodeRecord(record))
}

/**
 * Drops what only heights up to `height` need, where `height` is one at which the entry changed and all before are
 * dropped already.
 */
export function dropChange(reader: KeyReader, batch: WriteBatch, flatKey: Uint8Array, height: number): void {
  const key = indexKey(flatKey)
  const bytes = reader.get(key)
  if (bytes === undefined) return
  const record = decodeRecord(bytes)
  // Only the oldest shard of each level can end here.
  for (let level = record.levels.length - 1; level >= 0; level--) {
    let names: readonly number[] = record.levels[level]!
    for (let below = level; ; below--) {
      const name = names[firstAbove(names, height - 1)]
      if (name === undefined) break
      if (name === height) batch.del(shardKey(flatKey, below, name))
      if (below === 0) break
      names = readShard(reader, flatKey, below, name)
    }
  }
  if (lastHeight(record) <= height) batch.del(key)
}

function sealed(
  batch: WriteBatch,
  flatKey: Uint8Array,
  levels: number[][],
  level: number,
  heights: readonly number[],
): number[] {
  const out = new ByteWriter()
  writeAscending(out, heights)
  const last = heights[heights.length - 1]!
  batch.put(shardKey(flatKey, level, last), out.finish())
  levels[level] = [...(levels[level] ?? []), last]
  return []
}

function shardKey(flatKey: Uint8Array, level: number, last: number): Uint8Array {
  return columnKey(Column.changeShard, Uint8Array.of(level), flatKey, heightBytes(last))
}

function readShard(reader: KeyReader, flatKey: Uint8Array, level: number, last: number): number[] {
  const bytes = reader.get(shardKey(flatKey, level, last))
  if (bytes === undefined) throw new Error('a part of the change index is missing: the database is damaged')
  return decodeAscending(new VarintReader(bytes), SHARD)
}

function lastHeight(record: IndexRecord): number {
  let last = record.open.at(-1) ?? -1
  for (const names of record.levels) last = Math.max(last, names.at(-1) ?? -1)
  return last
}

/** Number of levels; then for each level and for the open heights how many they are, and their differences. */
function encodeRecord(record: IndexRecord): Uint8Array {
  const out = new ByteWriter()
  out.varint(record.levels.length)
  for (const heights of [...record.levels, record.open]) {
    out.varint(heights.length)
    writeAscending(out, heights)
  }
  return out.finish()
}

function decodeRecord(bytes: Uint8Array): IndexRecord {
  const reader = new VarintReader(bytes)
  const count = reader.next()
  const levels: number[][] = []
  for (let i = 0; i < count; i++) levels.push(decodeAscending(reader, reader.next()))
  return { levels, open: decodeAscending(reader, reader.next()) }
}
