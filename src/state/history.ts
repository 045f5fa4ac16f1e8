import { concatBytes } from '../primitives/bytes.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import { damagedIn } from '../storage/damage.ts'
import type { KeyReader } from '../storage/database.ts'
import { trieHistoryPrefix } from './trieNode.ts'
import {
  ByteWriter,
  decodeAscending,
  firstAbove,
  KeyList,
  readKeyList,
  VarintReader,
  writeAscending,
} from './varint.ts'

/** A changed flat entry. No bytes: absent. */
export interface FlatChange {
  /** flat key with its column */
  readonly key: Uint8Array
  readonly previous: Uint8Array
  readonly current: Uint8Array
}

/**
 * Returns the value of the flat entry `key` after block `height` (the head or a retained height);
 * undefined or no bytes when absent. Takes 2 reads for an entry that has not changed since, 1 for
 * one that changed recently, up to 3 for others.
 */
export function valueAt(reader: KeyReader, key: Uint8Array, height: number): Uint8Array | undefined {
  return previousAfter(reader, key, height) ?? reader.get(key)
}

/** Adds the values that a block replaces to its batch, and the list of their keys, which `dropBlock` needs. */
export class BlockHistory {
  readonly #reader: KeyReader
  readonly #batch: WriteBatch
  readonly #height: number
  readonly #oldest: number
  readonly #trieKeys: Uint8Array
  readonly #keys = new KeyList()

  /**
   * @param reader the database as it is before the block
   * @param block `oldest` is the lowest retained height; `trieKeys` is the list of the changed trie
   * nodes, whose history is already in the batch
   */
  constructor(
    reader: KeyReader,
    batch: WriteBatch,
    block: { readonly height: number; readonly oldest: number; readonly trieKeys: Uint8Array },
  ) {
    this.#reader = reader
    this.#batch = batch
    this.#height = block.height
    this.#oldest = block.oldest
    this.#trieKeys = block.trieKeys
  }

  /** @param previous value of the flat entry before the block; no bytes: absent */
  add(key: Uint8Array, previous: Uint8Array): void {
    this.addTo(this.#reader.get(indexKey(key)), key, previous)
  }

  /** As {@link add}, with the entry's record (of `indexKey`) as it is before the block. */
  addTo(record: Uint8Array | undefined, key: Uint8Array, previous: Uint8Array): void {
    extendRecord(record, this.#batch, key, { height: this.#height, previous }, this.#oldest)
    this.#keys.add(key)
  }

  /** To be called when all changes are added. */
  finish(): void {
    const list = concatBytes(this.#trieKeys, this.#keys.finish())
    if (list.length > 0) this.#batch.put(blockChangesKey(this.#height), list)
  }
}

/**
 * Drops the history that block `height` wrote. That of all earlier blocks must have been dropped. Returns the number of its entries.
 */
function dropBlock(reader: KeyReader, batch: WriteBatch, height: number): number {
  const listKey = blockChangesKey(height)
  const list = reader.get(listKey)
  if (list === undefined) return 0
  const keys = readKeyList(list)
  for (const key of keys) {
    if (key[0] === Column.trieNode) {
      batch.del(trieHistoryKey(key, height))
    } else {
      dropChange(reader, batch, key, height)
    }
  }
  batch.del(listKey)
  return keys.length
}

/** Lowest height with state, and lowest height whose state is to be retained. */
export interface StateRange {
  readonly oldest: number
  /** at most the head */
  readonly oldestToKeep: number
}

/**
 * Drops the states from `oldest` on, until `oldestToKeep` is the oldest or about `budget` entries are dropped.
 * @returns the oldest height whose state is left; the caller records it (`writeOldestHeight`)
 */
export function dropStates(
  reader: KeyReader,
  batch: WriteBatch,
  { oldest, oldestToKeep }: StateRange,
  budget: number,
): number {
  let height = oldest
  for (let dropped = 0; height < oldestToKeep && dropped < budget; ) {
    height++
    dropped += dropBlock(reader, batch, height) + 1
  }
  return height
}

/**
 * Returns the keys of all flat entries and trie nodes that block `height` changed; undefined when
 * the list has more than `longest` bytes.
 */
export function changedKeysOf(reader: KeyReader, height: number, longest: number): readonly Uint8Array[] | undefined {
  const list = reader.get(blockChangesKey(height))
  if (list === undefined) return []
  return list.length > longest ? undefined : readKeyList(list)
}

/** Takes the list of the keys that block `height` changed out of the database. */
export function removeChangedKeys(batch: WriteBatch, height: number): void {
  batch.del(blockChangesKey(height))
}

/** Returns the key of the record of a trie node before block `height`. */
export function trieHistoryKey(nodeKey: Uint8Array, height: number): Uint8Array {
  return concatBytes(trieHistoryPrefix(nodeKey), heightBytes(height))
}

function blockChangesKey(height: number): Uint8Array {
  return columnKey(Column.blockChanges, heightBytes(height))
}

/**
 * The changes of one flat entry: the heights, and its value before each. They are found by single
 * look-ups, without a range read. The record of the entry holds the newest changes. When there are
 * 16 of them, or 1 KiB of values, they are moved to a shard. The shard's name is its last height,
 * and the record stores the name. 256 names are moved to a shard of the next level in the same way,
 * and so on. A look-up reads the record and at most one shard of each level: one shard for an entry
 * that changed up to 4,096 times.
 */
interface IndexRecord {
  /** `levels[i]`: last heights of the shards of level i that no shard of level i + 1 holds yet */
  readonly levels: number[][]
  /** changes that are in no shard yet */
  open: Change[]
}

interface Change {
  readonly height: number
  /** value before the block of this height; no bytes: absent */
  readonly previous: Uint8Array
}

/** Changes, or bytes of their values, that the record holds before they move to a shard. */
const OPEN_CHANGES = 16
const OPEN_BYTES = 1024
/** Names in a shard of level 1 and above. */
const NAMES = 256
/** A longer record has many names or long values, so it is decoded to see whether a shard has to be written. */
const SHORT_RECORD = 2048

/** Returns the key of the record that has the changes of a flat entry. */
export function indexKey(flatKey: Uint8Array): Uint8Array {
  return columnKey(Column.changeIndex, flatKey)
}

/**
 * Returns the entry's value before its first change above `height`; undefined when there is no such
 * change.
 */
export function previousAfter(reader: KeyReader, flatKey: Uint8Array, height: number): Uint8Array | undefined {
  const record = reader.get(indexKey(flatKey))
  return record && previousInRecord(reader, flatKey, record, height)
}

/** As {@link previousAfter}, with the entry's record (of `indexKey`), which a range read has found. */
export function previousInRecord(
  reader: KeyReader,
  flatKey: Uint8Array,
  bytes: Uint8Array,
  height: number,
): Uint8Array | undefined {
  const record = decodeRecord(bytes)
  for (let level = record.levels.length - 1; level >= 0; level--) {
    let names = record.levels[level]!
    let at = firstAbove(names, height)
    if (at === names.length) continue
    for (let below = level; below > 0; below--) {
      names = readNames(reader, flatKey, below, names[at]!)
      at = firstAbove(names, height)
    }
    return changeAbove(readChanges(reader, flatKey, names[at]!), height)
  }
  return changeAbove(record.open, height)
}

const scratch = new ByteWriter()

/**
 * Adds a change at `height`, which is above all heights of the index. The names of shards that end at or below `oldest` are dropped.
 * @param previous value before it; no bytes: absent
 */
export function addChange(
  reader: KeyReader,
  batch: WriteBatch,
  flatKey: Uint8Array,
  change: Change,
  oldest: number,
): void {
  extendRecord(reader.get(indexKey(flatKey)), batch, flatKey, change, oldest)
}

/** @param bytes the entry's record before the change; undefined: there is no record */
function extendRecord(
  bytes: Uint8Array | undefined,
  batch: WriteBatch,
  flatKey: Uint8Array,
  { height, previous }: Change,
  oldest: number,
): void {
  scratch.clear()
  if (bytes !== undefined && (bytes[0]! + 1 >= OPEN_CHANGES || bytes.length + previous.length > SHORT_RECORD)) {
    const record = decodeRecord(bytes)
    record.open.push({ height, previous })
    seal(batch, flatKey, record, oldest)
    writeRecord(scratch, record)
  } else {
    // The open changes are at the end of the record, and their number is its first byte.
    if (bytes === undefined) scratch.bytes(NO_CHANGES)
    else scratch.bytes(bytes)
    scratch.increment(0)
    writeChange(scratch, height, previous)
  }
  batch.put(indexKey(flatKey), scratch.view())
}

/**
 * Drops the changes that only heights up to `height` need. The entry changed at `height`, and its earlier changes were dropped before.
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
      names = readNames(reader, flatKey, below, name)
    }
  }
  if (lastHeight(record) <= height) batch.del(key)
}

/**
 * Reverts the newest change of a flat entry, made at `height`: the reverse of {@link addChange},
 * byte by byte, except names of shards that were dropped since.
 * @returns the value before the change; no bytes: absent
 * @throws DatabaseError when the newest change is of another height
 */
export function undoChange(reader: KeyReader, batch: WriteBatch, flatKey: Uint8Array, height: number): Uint8Array {
  const key = indexKey(flatKey)
  const bytes = reader.get(key)
  const record = bytes === undefined ? { levels: [], open: [] } : decodeRecord(bytes)
  if (record.open.length === 0) unseal(reader, batch, flatKey, record)
  const change = record.open.pop()
  if (change?.height !== height) throw damagedIn(reader, `the change index lacks a change of block ${height}`)
  if (lastHeight(record) < 0) {
    batch.del(key)
  } else {
    scratch.clear()
    writeRecord(scratch, record)
    batch.put(key, scratch.view())
  }
  return change.previous
}

/** Moves the changes of the newest shard back to the record, and the names that were moved to shards together with them. */
function unseal(reader: KeyReader, batch: WriteBatch, flatKey: Uint8Array, record: IndexRecord): void {
  const { levels } = record
  // The levels below it are empty when their names were moved to it.
  const newest = levels.findIndex((names) => names.length > 0)
  for (let level = newest; level >= 0; level--) {
    const name = levels[level]!.pop()!
    if (level === 0) record.open = readChanges(reader, flatKey, name)
    else levels[level - 1] = readNames(reader, flatKey, level, name)
    batch.del(shardKey(flatKey, level, name))
  }
  while (levels.at(-1)?.length === 0) levels.pop()
}

/** Moves changes and names to shards when the record has too many. */
function seal(batch: WriteBatch, flatKey: Uint8Array, record: IndexRecord, oldest: number): void {
  const { levels, open } = record
  const valueBytes = open.reduce((sum, { previous }) => sum + previous.length, 0)
  if (open.length < OPEN_CHANGES && valueBytes < OPEN_BYTES) return
  const shard = new ByteWriter()
  for (const { height, previous } of open) writeChange(shard, height, previous)
  putShard(batch, flatKey, levels, 0, open.at(-1)!.height, shard)
  record.open = []
  for (let level = 0; level < levels.length; level++) {
    const names = levels[level]!
    if (names.length < NAMES) {
      levels[level] = names.slice(firstAbove(names, oldest))
      continue
    }
    const shardOfNames = new ByteWriter()
    writeAscending(shardOfNames, names)
    putShard(batch, flatKey, levels, level + 1, names.at(-1)!, shardOfNames)
    levels[level] = []
  }
}

/** Stores a shard and adds its name to the level. */
function putShard(
  batch: WriteBatch,
  flatKey: Uint8Array,
  levels: number[][],
  level: number,
  last: number,
  shard: ByteWriter,
): void {
  batch.put(shardKey(flatKey, level, last), shard.view())
  levels[level] = [...(levels[level] ?? []), last]
}

function shardKey(flatKey: Uint8Array, level: number, last: number): Uint8Array {
  return columnKey(Column.changeShard, Uint8Array.of(level), flatKey, heightBytes(last))
}

function readShard(reader: KeyReader, flatKey: Uint8Array, level: number, last: number): VarintReader {
  const bytes = reader.get(shardKey(flatKey, level, last))
  if (bytes === undefined) throw damagedIn(reader, 'a part of the change index is missing')
  return new VarintReader(bytes)
}

function readNames(reader: KeyReader, flatKey: Uint8Array, level: number, last: number): number[] {
  return decodeAscending(readShard(reader, flatKey, level, last), NAMES)
}

function readChanges(reader: KeyReader, flatKey: Uint8Array, last: number): Change[] {
  return decodeChanges(readShard(reader, flatKey, 0, last))
}

function changeAbove(changes: readonly Change[], height: number): Uint8Array | undefined {
  return changes.find((change) => change.height > height)?.previous
}

function lastHeight({ levels, open }: IndexRecord): number {
  let last = open.at(-1)?.height ?? -1
  for (const names of levels) last = Math.max(last, names.at(-1) ?? -1)
  return last
}

/**
 * Writes number of open changes, number of levels; for each level how many names it has, and their
 * differences; the changes.
 */
function writeRecord(out: ByteWriter, { levels, open }: IndexRecord): void {
  out.varint(open.length)
  out.varint(levels.length)
  for (const names of levels) {
    out.varint(names.length)
    writeAscending(out, names)
  }
  for (const { height, previous } of open) writeChange(out, height, previous)
}

const NO_CHANGES = Uint8Array.of(0, 0)

function decodeRecord(bytes: Uint8Array): IndexRecord {
  const reader = new VarintReader(bytes, 1)
  const count = reader.next()
  const levels: number[][] = []
  for (let i = 0; i < count; i++) levels.push(decodeAscending(reader, reader.next()))
  return { levels, open: decodeChanges(reader) }
}

/** Writes height, length of the value, value. */
function writeChange(out: ByteWriter, height: number, previous: Uint8Array): void {
  out.varint(height)
  out.varint(previous.length)
  out.bytes(previous)
}

function decodeChanges(reader: VarintReader): Change[] {
  const changes: Change[] = []
  while (!reader.done) changes.push({ height: reader.next(), previous: reader.take(reader.next()) })
  return changes
}
