import { decodeUtf8, EMPTY_BYTES, varintLength, writeVarint } from './bytes.ts'

/** Size of a new buffer: most messages are smaller. */
const SPARE_BYTES = 1024
const MAX_SPARE = 16
/** Buffers of finished writers, which are used again: allocating one takes longer than writing a message. */
const spare: Uint8Array[] = []

/**
 * Writes one protobuf message, fields in the order of the calls. Zero numbers, empty bytes and empty text are not written, as in
 * proto3; nested messages always are.
 *
 * (cosmjs-types 0.11 cannot be used where every byte counts: its writer garbles 64-bit integers from 2^31 to 2^32 − 1.)
 */
export class ProtobufWriter {
  #buffer = spare.pop() ?? new Uint8Array(SPARE_BYTES)
  #length = 0

  /** Writes an int32, int64, uint32, uint64, enum or bool; a negative number takes ten bytes. */
  varint(field: number, value: number | bigint): this {
    if (value === 0 || value === 0n) return this
    this.#tag(field, 0)
    this.#varint(value)
    return this
  }

  /** @param value a safe integer */
  sfixed64(field: number, value: number): this {
    if (value === 0) return this
    this.#tag(field, 1)
    this.#reserve(8)
    const high = Math.floor(value / 2 ** 32)
    this.#fixed32(value - high * 2 ** 32)
    this.#fixed32(high)
    return this
  }

  bytes(field: number, value: Uint8Array): this {
    if (value.length !== 0) this.#delimited(field, value)
    return this
  }

  string(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, 'utf8'))
  }

  /** Writes each of `values`, also empty ones. */
  repeatedBytes(field: number, values: readonly Uint8Array[]): this {
    for (const value of values) this.#delimited(field, value)
    return this
  }

  message<T>(field: number, write: (writer: ProtobufWriter, value: T) => void, value: T): this {
    this.#tag(field, 2)
    // Nearly all nested messages are shorter than 128 bytes, whose length takes one byte. Others are moved to make room for it.
    this.#reserve(1)
    const start = ++this.#length
    write(this, value)
    const length = this.#length - start
    const more = varintLength(length) - 1
    if (more > 0) {
      this.#reserve(more)
      this.#buffer.copyWithin(start + more, start, this.#length)
      this.#length += more
    }
    writeVarint(this.#buffer, start - 1, length)
    return this
  }

  repeatedMessage<T>(field: number, write: (writer: ProtobufWriter, value: T) => void, values: readonly T[]): this {
    for (const value of values) this.message(field, write, value)
    return this
  }

  /** Returns the message's own bytes. */
  finish(): Uint8Array {
    const used = this.#buffer
    // If more is written later, this array has no room, and #reserve makes a larger copy.
    this.#buffer = used.slice(0, this.#length)
    if (used.length === SPARE_BYTES && spare.length < MAX_SPARE) spare.push(used)
    return this.#buffer
  }

  /** Returns the message with its length before it, as CometBFT signs it. */
  finishDelimited(): Uint8Array {
    const message = this.finish()
    const prefix = varintLength(message.length)
    const out = new Uint8Array(prefix + message.length)
    writeVarint(out, 0, message.length)
    out.set(message, prefix)
    return out
  }

  #tag(field: number, wireType: 0 | 1 | 2): void {
    this.#varint(field * 8 + wireType)
  }

  #delimited(field: number, value: Uint8Array): void {
    this.#tag(field, 2)
    this.#varint(value.length)
    this.#append(value)
  }

  #varint(value: number | bigint): void {
    this.#reserve(10)
    if (typeof value === 'bigint' || value < 0) {
      let rest = BigInt.asUintN(64, BigInt(value))
      while (rest > 0x7fn) {
        this.#buffer[this.#length++] = Number(rest & 0x7fn) | 0x80
        rest >>= 7n
      }
      this.#buffer[this.#length++] = Number(rest)
      return
    }
    this.#length = writeVarint(this.#buffer, this.#length, value)
  }

  /** Writes the low 32 bits into room that is reserved. */
  #fixed32(value: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.#buffer[this.#length++] = value >>> shift
  }

  #append(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#buffer.set(value, this.#length)
    this.#length += value.length
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#buffer.length) return
    const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2))
    grown.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = grown
  }
}

/** The bytes are not a protobuf message, or a field has another type than expected. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

/** A varint as 64 unsigned bits, everything else as bytes. */
export type FieldValue = bigint | Uint8Array

/** How many fields may still be read. */
interface FieldBudget {
  left: number
}

/** How many numbers describe a field: its number, 1 for a varint and 0 for bytes, where its value begins, and where that ends. */
const FIELD_NUMBERS = 4

/**
 * The fields of one protobuf message, in any order and encoding; bytes are views on the input. A caller that must accept only one
 * encoding of a message encodes the result again and compares.
 */
export class ProtobufFields {
  readonly #bytes: Uint8Array
  /**
   * {@link FIELD_NUMBERS} of each field: blocks have dozens of small fields, and an object for each
   * would cost more than all else
   */
  readonly #fields: number[] = []
  readonly #budget: FieldBudget

  /**
   * @param start where the message begins in `bytes`, `end` where it ends
   * @param budget how many fields it may have, with those of the messages in it
   * @throws ProtobufError
   */
  constructor(
    bytes: Uint8Array,
    start = 0,
    end = bytes.length,
    budget: FieldBudget = { left: Number.POSITIVE_INFINITY },
  ) {
    this.#bytes = bytes
    this.#budget = budget
    const cursor = { bytes, at: start, end }
    while (cursor.at < end) {
      if (--budget.left < 0) throw new ProtobufError('too many fields')
      const tag = readTag(cursor)
      const isVarint = tag % 8 === 0
      const valueEnd = isVarint ? varintEnd(cursor) : valueEndOf(cursor, tag % 8)
      this.#fields.push(Math.floor(tag / 8), isVarint ? 1 : 0, cursor.at, valueEnd)
      cursor.at = valueEnd
    }
  }

  /** Returns the numbers of the fields that are there. */
  numbers(): ReadonlySet<number> {
    return new Set(this.#fields.filter((_, index) => index % FIELD_NUMBERS === 0))
  }

  /** Returns the items of a packed field. @throws ProtobufError */
  static varints(packed: Uint8Array): bigint[] {
    const cursor = { bytes: packed, at: 0, end: packed.length }
    const items: bigint[] = []
    while (cursor.at < packed.length) {
      countField()
      items.push(readVarint(cursor))
    }
    return items
  }

  /** Returns a varint as signed 64 bits; 0n when absent. */
  integer(field: number): bigint {
    const fields = this.#fields
    for (let at = fields.length - FIELD_NUMBERS; at >= 0; at -= FIELD_NUMBERS) {
      if (fields[at] !== field) continue
      if (fields[at + 1] === 0) throw new ProtobufError(`field ${field} is not a varint`)
      return BigInt.asIntN(64, readVarint({ bytes: this.#bytes, at: fields[at + 2]!, end: fields[at + 3]! }))
    }
    return 0n
  }

  /** Returns a varint from 0 to `max`; 0 when absent. */
  natural(field: number, max = Number.MAX_SAFE_INTEGER): number {
    const value = this.integer(field)
    if (value < 0n || value > BigInt(max)) throw new ProtobufError(`field ${field} is out of range`)
    return Number(value)
  }

  bytes(field: number): Uint8Array {
    const at = this.#last(field)
    return at === undefined ? EMPTY_BYTES : this.#value(at)
  }

  /** Returns `length` bytes, in an array of their own: a view would keep the whole message in memory. */
  fixedBytes(field: number, length: number): Uint8Array {
    const bytes = this.bytes(field)
    if (bytes.length !== length) throw new ProtobufError(`field ${field} has ${bytes.length} bytes, not ${length}`)
    return bytes.slice()
  }

  string(field: number): string {
    const text = decodeUtf8(this.bytes(field))
    if (text === undefined) throw new ProtobufError(`field ${field} is not UTF-8`)
    return text
  }

  repeatedBytes(field: number): Uint8Array[] {
    return this.#all(field).map((at) => this.#value(at))
  }

  /** @throws ProtobufError when the field is absent */
  message<T>(field: number, read: (fields: ProtobufFields) => T): T {
    const at = this.#last(field)
    if (at === undefined) throw new ProtobufError(`field ${field} is missing`)
    return read(this.#nested(at))
  }

  repeatedMessage<T>(field: number, read: (fields: ProtobufFields) => T): T[] {
    return this.#all(field).map((at) => read(this.#nested(at)))
  }

  /** Returns where the fields of this number are described. @throws ProtobufError when one of them is a varint */
  #all(field: number): number[] {
    const fields = this.#fields
    const all: number[] = []
    for (let at = 0; at < fields.length; at += FIELD_NUMBERS) {
      if (fields[at] !== field) continue
      if (fields[at + 1] === 1) throw new ProtobufError(`field ${field} is not length-delimited`)
      all.push(at)
    }
    return all
  }

  /** Returns the last of {@link #all}. */
  #last(field: number): number | undefined {
    const fields = this.#fields
    let last: number | undefined
    for (let at = 0; at < fields.length; at += FIELD_NUMBERS) {
      if (fields[at] !== field) continue
      if (fields[at + 1] === 1) throw new ProtobufError(`field ${field} is not length-delimited`)
      last = at
    }
    return last
  }

  #value(at: number): Uint8Array {
    const start = this.#fields[at + 2]!
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + start, this.#fields[at + 3]! - start)
  }

  #nested(at: number): ProtobufFields {
    return new ProtobufFields(this.#bytes, this.#fields[at + 2]!, this.#fields[at + 3]!, this.#budget)
  }
}

/** Reads the fields of a message in their order; bytes are views on the input. @throws ProtobufError */
export function visitFields(bytes: Uint8Array, visit: (field: number, value: FieldValue) => void): void {
  const cursor = { bytes, at: 0, end: bytes.length }
  while (cursor.at < cursor.end) {
    countField()
    const tag = readTag(cursor)
    visit(Math.floor(tag / 8), readValue(cursor, tag % 8))
  }
}

/** how many fields may still be read, see {@link withFieldLimit} */
let fieldsLeft = Number.POSITIVE_INFINITY

/**
 * Lets {@link visitFields} read at most `limit` fields, all messages inside messages and items of
 * packed fields together, until `read` returns. The smallest field has two bytes, and the decoded
 * value takes a hundred times as much memory.
 * @throws ProtobufError from within `read`
 */
export function withFieldLimit<T>(limit: number, read: () => T): T {
  const before = fieldsLeft
  fieldsLeft = limit
  try {
    return read()
  } finally {
    fieldsLeft = before
  }
}

function countField(): void {
  if (--fieldsLeft < 0) throw new ProtobufError('too many fields')
}

interface Cursor {
  readonly bytes: Uint8Array
  at: number
  readonly end: number
}

function readTag(cursor: Cursor): number {
  const tag = readNumber(cursor)
  if (tag < 8 || tag > 0xffff_ffff) throw new ProtobufError(`illegal tag ${tag}`)
  return tag
}

/** Reads a varint as a number: exact up to 53 bits, rounded above. */
function readNumber(cursor: Cursor): number {
  const first = cursor.bytes[cursor.at]!
  if (cursor.at >= cursor.end || first >= 0x80) return Number(readVarint(cursor))
  cursor.at++
  return first
}

/** Bytes of a varint that a number holds without BigInt. */
const EXACT_VARINT_BYTES = 7
const LONGEST_VARINT = 10

function readVarint(cursor: Cursor): bigint {
  const { bytes, end } = cursor
  let low = 0
  for (let index = 0, factor = 1; index < EXACT_VARINT_BYTES; index++, factor *= 0x80) {
    if (cursor.at >= end) throw new ProtobufError('unexpected end')
    const byte = bytes[cursor.at++]!
    low += (byte & 0x7f) * factor
    if (byte < 0x80) return BigInt(low)
  }
  let value = BigInt(low)
  for (let index = EXACT_VARINT_BYTES; index < LONGEST_VARINT; index++) {
    if (cursor.at >= end) throw new ProtobufError('unexpected end')
    const byte = bytes[cursor.at++]!
    value |= BigInt(byte & 0x7f) << BigInt(7 * index)
    if (byte < 0x80) return BigInt.asUintN(64, value)
  }
  throw new ProtobufError('a varint has more than ten bytes')
}

/** Returns where the varint at the cursor ends. */
function varintEnd({ bytes, at, end }: Cursor): number {
  for (let next = at; next < at + LONGEST_VARINT; next++) {
    if (next >= end) throw new ProtobufError('unexpected end')
    if (bytes[next]! < 0x80) return next + 1
  }
  throw new ProtobufError('a varint has more than ten bytes')
}

/** Moves the cursor to the first byte of a value that is not a varint; returns where it ends. Groups (wire types 3 and 4) are obsolete. */
function valueEndOf(cursor: Cursor, wireType: number): number {
  if (wireType !== 1 && wireType !== 2 && wireType !== 5) throw new ProtobufError(`wire type ${wireType}`)
  const length = wireType === 2 ? readNumber(cursor) : wireType === 1 ? 8 : 4
  const end = cursor.at + length
  if (end > cursor.end) throw new ProtobufError('unexpected end')
  return end
}

function readValue(cursor: Cursor, wireType: number): FieldValue {
  if (wireType === 0) return readVarint(cursor)
  const end = valueEndOf(cursor, wireType)
  const value = cursor.bytes.subarray(cursor.at, end)
  cursor.at = end
  return value
}
