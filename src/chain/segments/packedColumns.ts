import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { bigIntToMinimalBytes, bytesToBigInt, EMPTY_BYTES, equalBytes, writeVarint } from '../../primitives/bytes.ts'

/*
 * Blocks one after another as columns: values of the same field are stored together, which
 * compresses well, and a value that follows from others takes one zero in its column. The same walk
 * over a block's fields writes and reads it (see `FieldCoder`).
 */

/**
 * Writes a block's fields, or reads them in the same order. Both know the expected value of each:
 * `value` is the field when writing, and the call returns the field in both directions.
 */
export interface FieldCoder {
  /** A whole number of at most 51 bits, as its difference to the expected one. */
  number(column: number, value: number | undefined, expected: number): number
  /** Bytes of any length; `expected`: undefined where nothing is. */
  bytes(column: number, value: Uint8Array | undefined, expected: Uint8Array | undefined): Uint8Array
  /** A number that is not negative, as bytes. */
  integer(column: number, value: bigint | undefined, expected: bigint | undefined): bigint
}

/** Number and kinds of the columns. */
export interface ColumnLayout {
  /** how many columns there are */
  readonly count: number
  /** columns of bytes that do not compress (hashes, signatures): they are stored as they are */
  readonly random: ReadonlySet<number>
  /** columns of bytes of any length; the bytes of all others are few */
  readonly long: ReadonlySet<number>
}

/** Columns that cannot be those of any blocks: they are cut off, too large or contradict themselves. */
export class ColumnError extends Error {
  override readonly name = 'ColumnError'
}

/**
 * More than the columns of a frame take: a packed stream that unpacks to more was not written by
 * coind.
 */
const MAX_UNPACKED_BYTES = 256 << 20
/**
 * More than a value outside of the long columns has (a bloom filter has 256). A value may be left out where it is that of the block
 * before, so that each block of a frame has it again: long ones would take far more memory than their columns.
 */
const MAX_SHORT_BYTES = 1_024
/** Higher levels take many times as long, for one or two percent. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 3 } } as const

/** Bytes that grow at their end. */
export class ByteSink {
  #bytes = new Uint8Array(64)
  length = 0

  varint(value: number): void {
    this.#reserve(8)
    this.length = writeVarint(this.#bytes, this.length, value)
  }

  append(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }

  #reserve(length: number): void {
    const needed = this.length + length
    if (needed <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    larger.set(this.written())
    this.#bytes = larger
  }
}

export class ColumnWriter implements FieldCoder {
  readonly #layout: ColumnLayout
  readonly #marks: readonly ByteSink[]
  readonly #values: readonly ByteSink[]
  readonly #random = new ByteSink()

  constructor(layout: ColumnLayout) {
    this.#layout = layout
    this.#marks = Array.from({ length: layout.count }, () => new ByteSink())
    this.#values = Array.from({ length: layout.count }, () => new ByteSink())
  }

  number(column: number, value: number | undefined, expected: number): number {
    const difference = value! - expected
    this.#marks[column]!.varint(difference >= 0 ? difference * 2 : -difference * 2 - 1)
    return value!
  }

  bytes(column: number, value: Uint8Array | undefined, expected: Uint8Array | undefined): Uint8Array {
    const isExpected = expected !== undefined && equalBytes(value!, expected)
    this.#marks[column]!.varint(isExpected ? 0 : value!.length + 1)
    if (!isExpected) (this.#layout.random.has(column) ? this.#random : this.#values[column]!).append(value!)
    return value!
  }

  integer(column: number, value: bigint | undefined, expected: bigint | undefined): bigint {
    this.bytes(
      column,
      bigIntToMinimalBytes(value!),
      expected === undefined ? undefined : bigIntToMinimalBytes(expected),
    )
    return value!
  }

  /** Returns the uncompressed bytes: a dictionary is made from them. */
  table(): Uint8Array {
    const table = new ByteSink()
    for (const sinks of [this.#marks, this.#values]) for (const { length } of sinks) table.varint(length)
    for (const sinks of [this.#marks, this.#values]) for (const sink of sinks) table.append(sink.written())
    return table.written()
  }

  /** Length of the table, of the packed table and of the random bytes; then packed table and random bytes. */
  pack(dictionary: Uint8Array): Uint8Array {
    const table = this.table()
    const packed = zstdCompressSync(table, { ...COMPRESSION, ...withDictionary(dictionary) })
    const out = new ByteSink()
    out.varint(table.length)
    out.varint(packed.length)
    out.varint(this.#random.length)
    out.append(packed)
    out.append(this.#random.written())
    return out.written()
  }
}

export class ColumnReader implements FieldCoder {
  readonly #layout: ColumnLayout
  readonly #marks: readonly ByteSource[]
  readonly #values: readonly ByteSource[]
  readonly #random: ByteSource

  /** @throws ColumnError */
  constructor(layout: ColumnLayout, bytes: Uint8Array, dictionary: Uint8Array) {
    this.#layout = layout
    const source = new ByteSource(bytes)
    const [unpacked, packed, random] = [source.varint(), source.varint(), source.varint()]
    const table = new ByteSource(unpack(source.take(packed), unpacked, dictionary))
    this.#random = new ByteSource(source.take(random))
    source.end()
    const lengths = Array.from({ length: 2 * layout.count }, () => table.varint())
    const columns = lengths.map((length) => new ByteSource(table.take(length)))
    table.end()
    this.#marks = columns.slice(0, layout.count)
    this.#values = columns.slice(layout.count)
  }

  number(column: number, _value: number | undefined, expected: number): number {
    const coded = this.#marks[column]!.varint()
    const value = expected + (coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2)
    if (!Number.isSafeInteger(value)) throw new ColumnError('a number is out of range')
    return value
  }

  bytes(column: number, _value: Uint8Array | undefined, expected: Uint8Array | undefined): Uint8Array {
    const mark = this.#marks[column]!.varint()
    if (mark > MAX_SHORT_BYTES + 1 && !this.#layout.long.has(column)) throw new ColumnError('a value is too long')
    if (mark > 0) return (this.#layout.random.has(column) ? this.#random : this.#values[column]!).take(mark - 1)
    if (expected === undefined) throw new ColumnError('a value is left out that does not follow from others')
    return expected
  }

  integer(column: number, _value: bigint | undefined, expected: bigint | undefined): bigint {
    const bytes = this.bytes(column, undefined, expected === undefined ? undefined : bigIntToMinimalBytes(expected))
    return bytesToBigInt(bytes)
  }

  /** @throws ColumnError when something was not read */
  end(): void {
    for (const source of [...this.#marks, ...this.#values, this.#random]) source.end()
  }
}

/** Reads bytes from their start on. */
export class ByteSource {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** @throws ColumnError */
  varint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined || scale > 2 ** 49) throw new ColumnError('a number is cut off')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }

  /** A view. @throws ColumnError */
  take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#at) throw new ColumnError('bytes are cut off')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  /** @throws ColumnError when something is left */
  end(): void {
    if (this.#at !== this.#bytes.length) throw new ColumnError('there is more than the blocks have')
  }
}

function unpack(packed: Uint8Array, length: number, dictionary: Uint8Array): Uint8Array {
  if (length > MAX_UNPACKED_BYTES) throw new ColumnError(`${length} unpacked bytes are more than any blocks have`)
  let table: Uint8Array
  try {
    table = zstdDecompressSync(packed, { maxOutputLength: Math.max(length, 1), ...withDictionary(dictionary) })
  } catch (cause) {
    throw new ColumnError(`it cannot be unpacked: ${(cause as Error).message}`, { cause })
  }
  if (table.length !== length) throw new ColumnError('it does not unpack to its length')
  return new Uint8Array(table.buffer, table.byteOffset, length)
}

function withDictionary(dictionary: Uint8Array): { readonly dictionary?: Uint8Array } {
  return dictionary.length === 0 ? EMPTY_OPTIONS : { dictionary }
}

const EMPTY_OPTIONS = {}

export const NO_DICTIONARY = EMPTY_BYTES
