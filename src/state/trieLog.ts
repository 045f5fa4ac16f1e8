import { WriteBatch } from '../storage/batch.ts'
import { Column, HEIGHT_BYTES, writeHeight } from '../storage/columns.ts'
import { encodeNodeRecord, type TrieNode } from './trieNode.ts'
import { NODE_KEY_BYTES } from './triePath.ts'
import type { TrieSink } from './trieUpdate.ts'
import { KeyList } from './varint.ts'

/** The changes of one block to the stored nodes of all tries, ready for its batch, with the history of them. */
export class TrieLog implements TrieSink {
  readonly batch = new WriteBatch()
  /** keys of the nodes that changed; empty without a history */
  readonly keys = new KeyList()
  readonly #height: number | undefined
  readonly #historyKey = new Uint8Array(NODE_KEY_BYTES + HEIGHT_BYTES)

  /** @param height of the block; undefined when no history is kept of it */
  constructor(height: number | undefined) {
    this.#height = height
  }

  write(key: Uint8Array, previous: TrieNode | undefined, current: Uint8Array | undefined): void {
    if (current === undefined) this.batch.del(key)
    else this.batch.put(key, current)
    if (this.#height === undefined) return
    const out = this.#historyKey
    const { length } = key
    out[0] = Column.trieHistory
    for (let i = 1; i < length; i++) out[i] = key[i]!
    writeHeight(out, length, this.#height)
    this.batch.put(out.subarray(0, length + HEIGHT_BYTES), encodeNodeRecord(previous))
    this.keys.add(key)
  }
}
