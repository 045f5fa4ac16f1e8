import { concatBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import { addChange, dropChange, nextChange } from './changeIndex.ts'
import { trieHistoryPrefix } from './triePath.ts'
import { ByteWriter, readKey, VarintReader, writeKey } from './varint.ts'

/** A changed flat entry. No bytes: absent. */
export interface FlatChange {
  /** flat key with its column */
  readonly key: Uint8Array
  readonly previous: Uint8Array
  readonly current: Uint8Array
}

/** A changed trie path with the record of what it held. */
export interface TrieChange {
  /** node key with its column */
  readonly key: Uint8Array
  readonly record: Uint8Array
}

interface KeyReader {
  get(key: Uint8Array): Uint8Array | undefined
}

/**
 * Value of the flat entry `key` after block `height`, which is the present or a height that is kept; undefined or no
 * bytes when absent. 2 reads for an entry unchanged since, 3 or 4 for one that changed.
 */
export function valueAt(reader: KeyReader, key: Uint8Array, height: number): Uint8Array | undefined {
  const change = nextChange(reader, key, height)
  if (change === undefined) return reader.get(key)
  const value = reader.get(flatHistoryKey(key, change))
  if (value === undefined) throw new Error('a former value is missing: the database is damaged')
  return value
}

/** Adds to the block's batch what its changes replace, and the list by which `dropBlock` finds it. */
export function writeHistory(
  reader: KeyReader,
  batch: WriteBatch,
  block: {
    readonly height: number
    readonly oldest: number
    readonly flat: readonly FlatChange[]
    readonly trie: readonly TrieChange[]
  },
): void {
  const { height, oldest, flat, trie } = block
  const keys: Uint8Array[] = []
  for (const { key, previous } of flat) {
    batch.put(flatHistoryKey(key, height), previous)
    addChange(reader, batch, key, height, oldest)
    keys.push(key)
  }
  for (const { key, record } of trie) {
    batch.put(trieHistoryKey(key, height), record)
    keys.push(key)
  }
  if (keys.length > 0) batch.put(blockChangesKey(height), encodeKeys(keys))
}

/** Drops the history that block `height` wrote, after that of all blocks before. Gives the number of entries it had. */
export function dropBlock(reader: KeyReader, batch: WriteBatch, height: number): number {
  const listKey = blockChangesKey(height)
  const list = reader.get(listKey)
  if (list === undefined) return 0
  const keys = decodeKeys(list)
  for (const key of keys) {
    if (key[0] === Column.trieNode) {
      batch.del(trieHistoryKey(key, height))
    } else {
      batch.del(flatHistoryKey(key, height))
      dropChange(reader, batch, key, height)
    }
  }
  batch.del(listKey)
  return keys.length
}

function flatHistoryKey(key: Uint8Array, height: number): Uint8Array {
  return columnKey(Column.flatHistory, key, heightBytes(height))
}

function trieHistoryKey(nodeKey: Uint8Array, height: number): Uint8Array {
  return concatBytes(trieHistoryPrefix(nodeKey), heightBytes(height))
}

function blockChangesKey(height: number): Uint8Array {
  return columnKey(Column.blockChanges, heightBytes(height))
}

/** Keys in ascending order, as `writeKey` writes them. */
function encodeKeys(keys: readonly Uint8Array[]): Uint8Array {
  const out = new ByteWriter()
  let previous: Uint8Array = EMPTY_BYTES
  for (const key of [...keys].sort(Buffer.compare)) {
    writeKey(out, key, previous)
    previous = key
  }
  return out.finish()
}

function decodeKeys(bytes: Uint8Array): Uint8Array[] {
  const reader = new VarintReader(bytes)
  const keys: Uint8Array[] = []
  let previous: Uint8Array = EMPTY_BYTES
  while (!reader.done) {
    const key = readKey(reader, previous)
    keys.push(key)
    previous = key
  }
  return keys
}
