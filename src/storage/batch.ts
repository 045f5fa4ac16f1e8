import { CHECKSUM_BYTES, writeChecksum } from './checksum.ts'

/** Is called with the operations of a batch in the order in which they were added; no value: a delete. */
type OperationVisitor = (key: Uint8Array, value: Uint8Array | undefined) => void

/** Sizes of the arrays (slabs) into which operations are copied: each slab of a batch is larger than the one before. */
const FIRST_SLAB_BYTES = 1 << 12
const LARGEST_SLAB_BYTES = 1 << 18
const SLAB_GROWTH = 4
/** Length of a deleted key's value. */
const DELETED = -1
/**
 * How many numbers describe an operation: slab, offset of the key, its length, the value's length. The value follows the key, and room
 * for its checksum the value.
 */
const FIELDS = 4

/**
 * Puts and deletes of one block across all columns, written at once by `Database.write`. The last operation on a key wins. Keys and
 * values are copied into a few large arrays. Passing views on these to LevelDB takes a quarter of the time of small arrays, each of
 * which V8 would move out of its heap.
 */
export class WriteBatch {
  readonly #slabs: Uint8Array[] = []
  readonly #operations: number[] = []
  #slab: Uint8Array = new Uint8Array(0)
  #used = 0
  #bytes = 0

  /** number of operations */
  get length(): number {
    return this.#operations.length / FIELDS
  }

  /** sum of the lengths of keys and values */
  get bytes(): number {
    return this.#bytes
  }

  put(key: Uint8Array, value: Uint8Array): void {
    const at = this.#reserve(key.length + value.length + CHECKSUM_BYTES)
    this.#bytes += key.length + value.length
    copy(key, this.#slab, at)
    copy(value, this.#slab, at + key.length)
    this.#operations.push(this.#slabs.length - 1, at, key.length, value.length)
  }

  del(key: Uint8Array): void {
    const at = this.#reserve(key.length)
    this.#bytes += key.length
    copy(key, this.#slab, at)
    this.#operations.push(this.#slabs.length - 1, at, key.length, DELETED)
  }

  /** Adds the operations of another batch, which must not be changed afterwards. */
  append(other: WriteBatch): void {
    const before = this.#slabs.length
    for (const slab of other.#slabs) this.#slabs.push(slab)
    // Later operations of this batch must not be written into the other batch's slab.
    this.#used = this.#slab.length
    this.#bytes += other.#bytes
    const operations = other.#operations
    for (let i = 0; i < operations.length; i += FIELDS) {
      this.#operations.push(operations[i]! + before, operations[i + 1]!, operations[i + 2]!, operations[i + 3]!)
    }
  }

  /** The arrays that `visit` gets are views on the batch. */
  forEach(visit: OperationVisitor): void {
    this.#visit(visit, false)
  }

  /** As {@link forEach}, with the values as they are stored: each with its checksum. */
  forEachStored(visit: OperationVisitor): void {
    this.#visit(visit, true)
  }

  #visit(visit: OperationVisitor, withChecksum: boolean): void {
    const operations = this.#operations
    for (let i = 0; i < operations.length; i += FIELDS) {
      const { buffer } = this.#slabs[operations[i]!]!
      const at = operations[i + 1]!
      const length = operations[i + 2]!
      const key = new Uint8Array(buffer, at, length)
      let valueLength = operations[i + 3]!
      if (valueLength === DELETED) {
        visit(key, undefined)
        continue
      }
      if (withChecksum) {
        valueLength += CHECKSUM_BYTES
        writeChecksum(new Uint8Array(buffer, at, length + valueLength))
      }
      visit(key, new Uint8Array(buffer, at + length, valueLength))
    }
  }

  /** Reserves `length` bytes in the present slab, or in a new one, and returns their offset. */
  #reserve(length: number): number {
    if (this.#slabs.length === 0 || this.#used + length > this.#slab.length) {
      const grown = Math.min(Math.max(this.#slab.length * SLAB_GROWTH, FIRST_SLAB_BYTES), LARGEST_SLAB_BYTES)
      this.#slab = new Uint8Array(Math.max(grown, length))
      this.#slabs.push(this.#slab)
      this.#used = 0
    }
    const at = this.#used
    this.#used += length
    return at
  }
}

/** Most keys have only a few bytes, for which a loop is faster than a call of `set`. */
function copy(bytes: Uint8Array, out: Uint8Array, at: number): void {
  const { length } = bytes
  if (length > 64) out.set(bytes, at)
  else for (let i = 0; i < length; i++) out[at + i] = bytes[i]!
}
