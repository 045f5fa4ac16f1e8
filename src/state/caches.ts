import { BoundedCache } from '../primitives/boundedCache.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../primitives/hash.ts'
import { damagedIn } from '../storage/damage.ts'
import type { KeyReader } from '../storage/database.ts'
import { checkAbsent, storedTries } from './checkAbsent.ts'
import { codeKey } from './flatState.ts'
import { changedKeysOf } from './history.ts'

/**
 * Contract codes by hash, one array object for each hash as long as it stays cached. Codes never change and are never
 * deleted, so one cache serves all heights of a thread.
 */
export class CodeCache {
  readonly #codes: BoundedCache<Uint8Array>

  constructor(limitBytes: number) {
    this.#codes = new BoundedCache(limitBytes, (_, code) => code.length + 200)
  }

  /** @throws Error when the store has no such code */
  get(reader: KeyReader, hash: Hash): Uint8Array {
    if (equalBytes(hash, EMPTY_CODE_HASH)) return EMPTY_BYTES
    const key = bytesKey(hash)
    const cached = this.#codes.get(key)
    if (cached !== undefined) return cached
    const code = reader.get(codeKey(hash))
    if (code === undefined) throw damagedIn(reader, 'a contract code is missing')
    this.#codes.set(key, code)
    return code
  }

  /** Adds a code that was just written, unless its hash is there already. */
  add(hash: Hash, code: Uint8Array): void {
    const key = bytesKey(hash)
    if (this.#codes.get(key) === undefined) this.#codes.set(key, code)
  }
}

/** Approximate memory of an entry besides its key and value. */
const ENTRY_BYTES = 250
/** The cache is emptied if it is more than this many blocks old, or if a block's list of changes has more bytes than this. */
const MAX_BLOCKS = 32
const MAX_LIST_BYTES = 1 << 16

/**
 * A cache of flat entries at the head, for the views of one thread. The database has each block's list of changed keys (for pruning);
 * it shows which entries are stale. A view of an older head does not use the cache.
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
    if (height !== this.#height && !this.#advance(snapshot, height)) return readFlat(snapshot, key)
    const name = bytesKey(key)
    const known = this.#values.get(name)
    if (known !== undefined) return known
    const value = readFlat(snapshot, key)
    this.#values.set(name, value)
    this.#isEmpty = false
    return value
  }

  /** Moves the cache to a newer head; false when `height` is older. */
  #advance(snapshot: KeyReader, height: number): boolean {
    if (height < this.#height) return false
    if (!this.#isEmpty && !this.#dropChanged(snapshot, height)) {
      this.#values.clear()
      this.#isEmpty = true
    }
    this.#height = height
    return true
  }

  /** Drops the entries that the blocks up to `height` changed; false when reading all entries again takes less work. */
  #dropChanged(snapshot: KeyReader, height: number): boolean {
    if (height - this.#height > MAX_BLOCKS) return false
    for (let block = this.#height + 1; block <= height; block++) {
      const keys = changedKeysOf(snapshot, block, MAX_LIST_BYTES)
      if (keys === undefined) return false
      for (const key of keys) this.#values.delete(bytesKey(key))
    }
    return true
  }
}

/** A flat entry; no bytes when it is absent. @throws DatabaseError when the trie has it */
function readFlat(snapshot: KeyReader, key: Uint8Array): Uint8Array {
  const value = snapshot.get(key)
  if (value !== undefined) return value
  checkAbsent(key, storedTries(snapshot), snapshot)
  return EMPTY_BYTES
}
