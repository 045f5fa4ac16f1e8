import { bytesKeyOf, EMPTY_BYTES } from '../primitives/bytes.ts'
import { CHECKSUM_BYTES, writeChecksum } from './checksum.ts'

/** The first `length` bytes of an array that is reused: a view for each use would cost more than its bytes. */
export interface Filled {
  readonly bytes: Uint8Array
  readonly length: number
}

/** Is called with the operations of a batch in the order in which they were added; no value: a delete. */
type OperationVisitor = (key: Uint8Array, value: Uint8Array | undefined) => void

/**
 * Bytes of the arrays (slabs) into which operations are copied. All batches of a thread fill the same one, then the next: most have a few
 * kilobytes, and a slab of their own would cost more than what is copied into it.
 */
const SLAB_BYTES = 1 << 18
/** Longer operations have an array of their own. */
const LONGEST_SHARED = SLAB_BYTES >> 3
let sharedSlab = new Uint8Array(0)
let sharedUsed = 0

/** Length of a deleted key's value. */
const DELETED = -1
/** The same of an operation that a later one has replaced. */
const REPLACED = -2
/**
 * How many numbers describe an operation: slab, offset of the key, its length, the value's length. The value follows the key, and room
 * for its checksum the value.
 */
const FIELDS = 4
/** Operations that a batch has room for at first: those of an empty block. */
const FEW_OPERATIONS = 64

/**
 * Puts and deletes of one block across all columns, written at once by `Database.write`. The last operation on a key wins. Keys and
 * values are copied into a few large arrays. Passing views on these to LevelDB takes a quarter of the time of small arrays, each of
 * which V8 would move out of its heap.
 */
export class WriteBatch {
  readonly #slabs: Uint8Array[] = []
  /** `#used` numbers are in use */
  #operations = new Int32Array(FEW_OPERATIONS * FIELDS)
  #used = 0
  /** index of the slab in which the last operation is */
  #slab = -1
  #bytes = 0
  #replaced = 0
  /** by the first byte of keys (a column): positions of their last operations by key (`bytesKey`), for `find` */
  readonly #newest = new Map<number | undefined, Map<string, number>>()

  /** number of operations */
  get length(): number {
    return this.#used / FIELDS - this.#replaced
  }

  /** sum of the lengths of keys and values */
  get bytes(): number {
    return this.#bytes
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#put(key, key.length, value, value.length)
  }

  del(key: Uint8Array): void {
    this.#put(key, key.length, EMPTY_BYTES, DELETED)
  }

  /** Does the same as {@link put}. */
  putFilled(key: Filled, value: Filled): void {
    this.#put(key.bytes, key.length, value.bytes, value.length)
  }

  /** Does the same as {@link del}. */
  delFilled(key: Filled): void {
    this.#put(key.bytes, key.length, EMPTY_BYTES, DELETED)
  }

  #put(key: Uint8Array, keyLength: number, value: Uint8Array, valueLength: number): void {
    const isDelete = valueLength === DELETED
    const at = this.#reserve(isDelete ? keyLength : keyLength + valueLength + CHECKSUM_BYTES)
    const slab = this.#slabs[this.#slab]!
    this.#bytes += keyLength
    copy(key, keyLength, slab, at)
    if (!isDelete) {
      this.#bytes += valueLength
      copy(value, valueLength, slab, at + keyLength)
    }
    this.#makeRoom(FIELDS)
    const operations = this.#operations
    operations[this.#used] = this.#slab
    operations[this.#used + 1] = at
    operations[this.#used + 2] = keyLength
    operations[this.#used + 3] = valueLength
    this.#used += FIELDS
  }

  /**
   * Adds operations in the form of this class. `bytes` has the keys and values, each value with
   * room for its checksum; many bytes are not copied. `operations` has {@link FIELDS} numbers for
   * each operation; the first number of each is replaced.
   */
  addPacked(bytes: Uint8Array, operations: Int32Array): void {
    const isShared = bytes.length <= LONGEST_SHARED
    const offset = isShared ? this.#reserve(bytes.length) : 0
    if (isShared) this.#slabs[this.#slab]!.set(bytes, offset)
    else this.#slab = this.#slabs.push(bytes) - 1
    this.#makeRoom(operations.length)
    const first = this.#used
    this.#operations.set(operations, first)
    this.#used += operations.length
    for (let i = first; i < this.#used; i += FIELDS) {
      this.#operations[i] = this.#slab
      this.#operations[i + 1]! += offset
      this.#bytes += this.#operations[i + 2]! + Math.max(this.#operations[i + 3]!, 0)
    }
  }

  /** Adds the operations of another batch, without copying what they hold. */
  append(other: WriteBatch): void {
    const indexes = other.#slabs.map((slab) => this.#use(slab))
    this.#bytes += other.#bytes
    this.#makeRoom(other.#used)
    const operations = this.#operations
    const first = this.#used
    operations.set(other.#operations.subarray(0, other.#used), first)
    this.#used += other.#used
    for (let i = first; i < this.#used; i += FIELDS) operations[i] = indexes[operations[i]!]!
    this.#replaced += other.#replaced
  }

  #makeRoom(more: number): void {
    if (this.#used + more <= this.#operations.length) return
    const larger = new Int32Array(Math.max(this.#used + more, this.#operations.length * 2))
    larger.set(this.#operations)
    this.#operations = larger
  }

  /**
   * Adds the operations of another batch, and takes out those on the same keys that it had.
   * @param newest by key (`bytesKey`) the position of its operation, which {@link valueAt} takes;
   * it is updated
   */
  merge(other: WriteBatch, newest: Map<string, number>): void {
    let position = this.#used
    this.append(other)
    const operations = this.#operations
    for (; position < this.#used; position += FIELDS) {
      if (operations[position + 3] === REPLACED) continue
      const at = operations[position + 1]!
      const key = bytesKeyOf(this.#slabs[operations[position]!]!, at, at + operations[position + 2]!)
      const former = newest.get(key)
      if (former !== undefined) this.#replace(former)
      newest.set(key, position)
    }
  }

  /** Returns a copy of the value of an operation; undefined for a delete. */
  valueAt(position: number): Uint8Array | undefined {
    const operations = this.#operations
    const length = operations[position + 3]!
    if (length === DELETED) return undefined
    const start = operations[position + 1]! + operations[position + 2]!
    return this.#slabs[operations[position]!]!.slice(start, start + length)
  }

  /**
   * Returns the batch's operation on a key: a copy of the new value, undefined for a delete,
   * `'unknown'` when it has no operation on the key. The first call for a column looks at all keys
   * of the column; no operation may be added after it.
   */
  find(key: Uint8Array): Uint8Array | undefined | 'unknown' {
    const column = key[0]
    let newest = this.#newest.get(column)
    if (newest === undefined) {
      newest = this.#positionsByKey(column)
      this.#newest.set(column, newest)
    }
    const position = newest.get(bytesKeyOf(key, 0, key.length))
    return position === undefined ? 'unknown' : this.valueAt(position)
  }

  /**
   * Returns the positions of one column: most of a batch is in columns that the writer does not
   * read before the batch is written. By strings, whose hashes in a map have a secret: callers of
   * contracts choose the keys of slots, and could choose them to collide.
   */
  #positionsByKey(column: number | undefined): Map<string, number> {
    const operations = this.#operations
    const newest = new Map<string, number>()
    for (let position = 0; position < this.#used; position += FIELDS) {
      const slab = this.#slabs[operations[position]!]!
      const at = operations[position + 1]!
      if (slab[at] !== column || operations[position + 3] === REPLACED) continue
      newest.set(bytesKeyOf(slab, at, at + operations[position + 2]!), position)
    }
    return newest
  }

  #replace(position: number): void {
    const operations = this.#operations
    this.#bytes -= operations[position + 2]! + Math.max(operations[position + 3]!, 0)
    this.#replaced++
    operations[position + 3] = REPLACED
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
    for (let i = 0; i < this.#used; i += FIELDS) {
      let valueLength = operations[i + 3]!
      if (valueLength === REPLACED) continue
      const slab = this.#slabs[operations[i]!]!
      const { buffer } = slab
      const at = operations[i + 1]!
      const length = operations[i + 2]!
      const key = new Uint8Array(buffer, at, length)
      if (valueLength === DELETED) {
        visit(key, undefined)
        continue
      }
      if (withChecksum) {
        writeChecksum(slab, at, at + length + valueLength)
        valueLength += CHECKSUM_BYTES
      }
      visit(key, new Uint8Array(buffer, at + length, valueLength))
    }
  }

  /** Reserves `length` bytes in a slab, which becomes the current one, and returns their offset. */
  #reserve(length: number): number {
    if (length > LONGEST_SHARED) {
      this.#slab = this.#slabs.push(new Uint8Array(length)) - 1
      return 0
    }
    if (sharedUsed + length > sharedSlab.length) {
      // Not filled with zeros: bytes are written before they are read.
      sharedSlab = new Uint8Array(Buffer.allocUnsafeSlow(SLAB_BYTES).buffer)
      sharedUsed = 0
    }
    if (this.#slabs[this.#slab] !== sharedSlab) this.#slab = this.#use(sharedSlab)
    const at = sharedUsed
    sharedUsed += length
    return at
  }

  /** Returns the index of a slab, which is added unless it was the last one that was added. */
  #use(slab: Uint8Array): number {
    const last = this.#slabs.length - 1
    return this.#slabs[last] === slab ? last : this.#slabs.push(slab) - 1
  }
}

/**
 * Copies in a loop: most keys and values have only a few bytes, for which it is faster than a call
 * of `set` and a view.
 */
function copy(bytes: Uint8Array, length: number, out: Uint8Array, at: number): void {
  if (length > 128) out.set(length === bytes.length ? bytes : bytes.subarray(0, length), at)
  else for (let i = 0; i < length; i++) out[at + i] = bytes[i]!
}
