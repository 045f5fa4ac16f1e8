import { bytesKeyOf } from '../primitives/bytes.ts'
import { CHECKSUM_BYTES, writeChecksum } from './checksum.ts'

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

/**
 * Puts and deletes of one block across all columns, written at once by `Database.write`. The last operation on a key wins. Keys and
 * values are copied into a few large arrays. Passing views on these to LevelDB takes a quarter of the time of small arrays, each of
 * which V8 would move out of its heap.
 */
export class WriteBatch {
  readonly #slabs: Uint8Array[] = []
  readonly #operations: number[] = []
  /** index of the slab in which the last operation is */
  #slab = -1
  #bytes = 0
  #replaced = 0

  /** number of operations */
  get length(): number {
    return this.#operations.length / FIELDS - this.#replaced
  }

  /** sum of the lengths of keys and values */
  get bytes(): number {
    return this.#bytes
  }

  put(key: Uint8Array, value: Uint8Array): void {
    const at = this.#reserve(key.length + value.length + CHECKSUM_BYTES)
    const slab = this.#slabs[this.#slab]!
    this.#bytes += key.length + value.length
    copy(key, slab, at)
    copy(value, slab, at + key.length)
    this.#operations.push(this.#slab, at, key.length, value.length)
  }

  del(key: Uint8Array): void {
    const at = this.#reserve(key.length)
    this.#bytes += key.length
    copy(key, this.#slabs[this.#slab]!, at)
    this.#operations.push(this.#slab, at, key.length, DELETED)
  }

  /** Adds the operations of another batch, without copying what they hold. */
  append(other: WriteBatch): void {
    const indexes = other.#slabs.map((slab) => this.#use(slab))
    this.#bytes += other.#bytes
    const operations = other.#operations
    for (let i = 0; i < operations.length; i += FIELDS) {
      this.#operations.push(indexes[operations[i]!]!, operations[i + 1]!, operations[i + 2]!, operations[i + 3]!)
    }
    this.#replaced += other.#replaced
  }

  /**
   * Adds the operations of another batch, and takes out those on the same keys that it had.
   * @param newest by key (`bytesKey`) the position of its operation, which {@link valueAt} takes; it is kept up to date
   */
  merge(other: WriteBatch, newest: Map<string, number>): void {
    const operations = this.#operations
    let position = operations.length
    this.append(other)
    for (; position < operations.length; position += FIELDS) {
      if (operations[position + 3] === REPLACED) continue
      const at = operations[position + 1]!
      const key = bytesKeyOf(this.#slabs[operations[position]!]!, at, at + operations[position + 2]!)
      const former = newest.get(key)
      if (former !== undefined) this.#replace(former)
      newest.set(key, position)
    }
  }

  /** A copy of the value of an operation; undefined: a delete. */
  valueAt(position: number): Uint8Array | undefined {
    const operations = this.#operations
    const length = operations[position + 3]!
    if (length === DELETED) return undefined
    const start = operations[position + 1]! + operations[position + 2]!
    return this.#slabs[operations[position]!]!.slice(start, start + length)
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
    for (let i = 0; i < operations.length; i += FIELDS) {
      let valueLength = operations[i + 3]!
      if (valueLength === REPLACED) continue
      const { buffer } = this.#slabs[operations[i]!]!
      const at = operations[i + 1]!
      const length = operations[i + 2]!
      const key = new Uint8Array(buffer, at, length)
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

  /** Reserves `length` bytes in a slab, which becomes the present one, and returns their offset. */
  #reserve(length: number): number {
    if (length > LONGEST_SHARED) {
      this.#slab = this.#slabs.push(new Uint8Array(length)) - 1
      return 0
    }
    if (sharedUsed + length > sharedSlab.length) {
      // Not filled with zeros: what is read of it has been written before.
      sharedSlab = new Uint8Array(Buffer.allocUnsafeSlow(SLAB_BYTES).buffer)
      sharedUsed = 0
    }
    if (this.#slabs[this.#slab] !== sharedSlab) this.#slab = this.#use(sharedSlab)
    const at = sharedUsed
    sharedUsed += length
    return at
  }

  /** The index of a slab, which is added unless it was the last one that was added. */
  #use(slab: Uint8Array): number {
    const last = this.#slabs.length - 1
    return this.#slabs[last] === slab ? last : this.#slabs.push(slab) - 1
  }
}

/** Most keys have only a few bytes, for which a loop is faster than a call of `set`. */
function copy(bytes: Uint8Array, out: Uint8Array, at: number): void {
  const { length } = bytes
  if (length > 64) out.set(bytes, at)
  else for (let i = 0; i < length; i++) out[at + i] = bytes[i]!
}
