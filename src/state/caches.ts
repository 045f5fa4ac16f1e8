import { BoundedCache } from '../primitives/boundedCache.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../primitives/hash.ts'
import { Column } from '../storage/columns.ts'
import { damagedIn } from '../storage/damage.ts'
import type { KeyReader } from '../storage/database.ts'
import { checkAbsent, storedTries } from './checkAbsent.ts'
import { codeKey, writeNameOfKey } from './flatState.ts'
import { changedKeysOf } from './history.ts'
import { SlotCache } from './slotCache.ts'
import { NAME_WORDS, VALUE_WORDS, valueBytes, writeValue } from './slotWords.ts'

/**
 * Bytecode by hash, one array object for each hash as long as it stays cached. Bytecode never
 * changes and is never deleted, so one cache serves all heights of a thread.
 */
export class CodeCache {
  readonly #byHash: BoundedCache<Uint8Array>

  constructor(limitBytes: number) {
    this.#byHash = new BoundedCache(limitBytes, (_, code) => code.length + 200)
  }

  /** @throws Error when the store has no such code */
  get(reader: KeyReader, hash: Hash): Uint8Array {
    if (equalBytes(hash, EMPTY_CODE_HASH)) return EMPTY_BYTES
    const key = bytesKey(hash)
    const cached = this.#byHash.get(key)
    if (cached !== undefined) return cached
    const code = reader.get(codeKey(hash))
    if (code === undefined) throw damagedIn(reader, 'the bytecode of a contract is missing')
    this.#byHash.set(key, code)
    return code
  }

  /** Adds bytecode that was just written, unless its hash is there already. */
  add(hash: Hash, code: Uint8Array): void {
    const key = bytesKey(hash)
    if (this.#byHash.get(key) === undefined) this.#byHash.set(key, code)
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
  readonly #slots: SlotCache
  /** of all other columns */
  readonly #values: BoundedCache<Uint8Array>
  #height = 0
  #isEmpty = true

  /** @param limitBytes limit of all entries, half for slots; `hashSeed`: see `SlotCache` */
  constructor(limitBytes: number, hashSeed: bigint) {
    this.#slots = new SlotCache(limitBytes / 2, hashSeed)
    this.#values = new BoundedCache(limitBytes / 2, (key, value) => key.length + value.length + ENTRY_BYTES)
  }

  /** Writes the value of a slot to `value`, if the cache has it and is at the head `height`. */
  knownSlot(height: number, name: Int32Array, value: Int32Array): boolean {
    return height === this.#height && this.#slots.read(name, value)
  }

  /**
   * Returns the value of a flat entry in `snapshot`, whose head is `height`; no bytes when absent.
   */
  get(snapshot: KeyReader, height: number, key: Uint8Array): Uint8Array {
    if (height !== this.#height && !this.#advance(snapshot, height)) return readFlat(snapshot, key)
    if (key[0] === Column.slot) return this.#slot(snapshot, key)
    const name = bytesKey(key)
    const known = this.#values.get(name)
    if (known !== undefined) return known
    const value = readFlat(snapshot, key)
    this.#values.set(name, value)
    this.#isEmpty = false
    return value
  }

  #slot(snapshot: KeyReader, key: Uint8Array): Uint8Array {
    writeNameOfKey(slotName, key)
    if (this.#slots.read(slotName, slotValue)) return valueBytes(slotValue)
    const value = readFlat(snapshot, key)
    writeValue(slotValue, value)
    this.#slots.write(slotName, slotValue)
    this.#isEmpty = false
    return value
  }

  /** Moves the cache to a newer head; false when `height` is older. */
  #advance(snapshot: KeyReader, height: number): boolean {
    if (height < this.#height) return false
    if (!this.#isEmpty && !this.#dropChanged(snapshot, height)) {
      this.#slots.clear()
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
      for (const key of keys) {
        if (key[0] === Column.slot) {
          writeNameOfKey(slotName, key)
          this.#slots.delete(slotName)
        } else {
          this.#values.delete(bytesKey(key))
        }
      }
    }
    return true
  }
}

/** Of the look-up that runs. */
const slotName = new Int32Array(NAME_WORDS)
const slotValue = new Int32Array(VALUE_WORDS)

/** Returns a flat entry; no bytes when it is absent. @throws DatabaseError when the trie has it */
function readFlat(snapshot: KeyReader, key: Uint8Array): Uint8Array {
  const value = snapshot.get(key)
  if (value !== undefined) return value
  checkAbsent(key, storedTries(snapshot), snapshot)
  return EMPTY_BYTES
}
