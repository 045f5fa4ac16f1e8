import { concatBytes } from '../primitives/bytes.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import { addChange, dropChange, previousAfter } from './changeIndex.ts'
import { trieHistoryPrefix } from './triePath.ts'
import { KeyList, readKeyList } from './varint.ts'

/** A changed flat entry. No bytes: absent. */
export interface FlatChange {
  /** flat key with its column */
  readonly key: Uint8Array
  readonly previous: Uint8Array
  readonly current: Uint8Array
}

interface KeyReader {
  get(key: Uint8Array): Uint8Array | undefined
}

/**
 * Value of the flat entry `key` after block `height`, which is the present or a height that is kept; undefined or no
 * bytes when absent. 2 reads for an entry unchanged since, 1 for one that changed lately, up to 3 for others.
 */
export function valueAt(reader: KeyReader, key: Uint8Array, height: number): Uint8Array | undefined {
  return previousAfter(reader, key, height) ?? reader.get(key)
}

/** Adds to a block's batch what its changes replace, and the list by which `dropBlock` finds it. */
export class BlockHistory {
  readonly #reader: KeyReader
  readonly #batch: WriteBatch
  readonly #height: number
  readonly #oldest: number
  readonly #trieKeys: Uint8Array
  readonly #keys = new KeyList()

  /**
   * @param reader the present
   * @param block `oldest` is the lowest height that is kept; `trieKeys` is the list of the changed trie nodes, whose history
   * is in the batch already
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
    addChange(this.#reader, this.#batch, key, { height: this.#height, previous }, this.#oldest)
    this.#keys.add(key)
  }

  /** To be called when all changes are added. */
  finish(): void {
    const list = concatBytes(this.#trieKeys, this.#keys.finish())
    if (list.length > 0) this.#batch.put(blockChangesKey(this.#height), list)
  }
}

/** Drops the history that block `height` wrote, after that of all blocks before. Gives the number of entries it had. */
export function dropBlock(reader: KeyReader, batch: WriteBatch, height: number): number {
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

/** The keys of all entries, flat ones and trie nodes, that block `height` changed; undefined when their list is longer than `longest` bytes. */
export function changedKeysOf(reader: KeyReader, height: number, longest: number): readonly Uint8Array[] | undefined {
  const list = reader.get(blockChangesKey(height))
  if (list === undefined) return []
  return list.length > longest ? undefined : readKeyList(list)
}

function trieHistoryKey(nodeKey: Uint8Array, height: number): Uint8Array {
  return concatBytes(trieHistoryPrefix(nodeKey), heightBytes(height))
}

function blockChangesKey(height: number): Uint8Array {
  return columnKey(Column.blockChanges, heightBytes(height))
}
