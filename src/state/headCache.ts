import { bytesKey, EMPTY_BYTES } from '../primitives/bytes.ts'
import { BoundedCache } from './boundedCache.ts'
import { changedKeysOf } from './history.ts'

interface KeyReader {
  get(key: Uint8Array): Uint8Array | undefined
}

/** What an entry takes beside its key and value. */
const ENTRY_BYTES = 250
/** More blocks than this between two looks at the cache, or a longer list of changes, and it begins anew. */
const MOST_BLOCKS = 32
const LONGEST_LIST = 1 << 16

/**
 * Flat entries at the head, for the views of one thread. A block's list of changed keys, which is in the database for the
 * history's sake, says what it made stale. A view of an older head reads past it.
 */
export class HeadCache {
  readonly #values: BoundedCache<Uint8Array>
  #height = 0
  #isEmpty = true

  constructor(limitBytes: number) {
    this.#values = new BoundedCache(limitBytes, (key, value) => key.length + value.length + ENTRY_BYTES)
  }

  /** The value of a flat entry in `snapshot`, whose head is `height`; no bytes when absent. */
  get(snapshot: KeyReader, height: number, key: Uint8Array): Uint8Array {
    if (height !== this.#height && !this.#advance(snapshot, height)) return snapshot.get(key) ?? EMPTY_BYTES
    const name = bytesKey(key)
    const known = this.#values.get(name)
    if (known !== undefined) return known
    const value = snapshot.get(key) ?? EMPTY_BYTES
    this.#values.set(name, value)
    this.#isEmpty = false
    return value
  }

  /** Moves on to a newer head; false when `height` is an older one. */
  #advance(snapshot: KeyReader, height: number): boolean {
    if (height < this.#height) return false
    if (!this.#isEmpty && !this.#dropChanged(snapshot, height)) {
      this.#values.clear()
      this.#isEmpty = true
    }
    this.#height = height
    return true
  }

  /** Drops what the blocks up to `height` changed; false when that is more work than reading it again. */
  #dropChanged(snapshot: KeyReader, height: number): boolean {
    if (height - this.#height > MOST_BLOCKS) return false
    for (let block = this.#height + 1; block <= height; block++) {
      const keys = changedKeysOf(snapshot, block, LONGEST_LIST)
      if (keys === undefined) return false
      for (const key of keys) this.#values.delete(bytesKey(key))
    }
    return true
  }
}
