import { bytesToBigIntOf, EMPTY_BYTES, writeBigInt } from './bytes.ts'

/**
 * Input that is not the canonical encoding of the expected value. The messages are geth's (rlp/decode.go), since RPC clients
 * compare them.
 */
export class DecodingError extends Error {
  override readonly name = 'DecodingError'
}

/** A position in RLP input: the items up to `end` are still to be read. */
export interface RLPCursor {
  readonly bytes: Uint8Array
  offset: number
  end: number
}

/** The value that is being decoded, for error texts: its Go type and the path to it. */
export interface RLPTarget {
  /** e.g. `uint64` */
  readonly type: string
  /** e.g. `.Nonce` of `(types.LegacyTx)`; empty for an outermost value */
  readonly path: string
  /** Go type and path of the list that must have this element; undefined for an outermost value */
  readonly of?: RLPTarget
}

/** Returns the target of the field `name` (with its point) of a Go structure; `type` is the field's Go type. */
export function rlpField(of: RLPTarget, name: string, type: string): RLPTarget {
  return { type, path: `${of.path === '' ? `(${of.type})` : of.path}${name}`, of }
}

const HUGE = 0x1_0000_0000_0000

/** Opens a cursor over the whole of `bytes` from `offset`. */
export function openRLP(bytes: Uint8Array, offset = 0): RLPCursor {
  return { bytes, offset, end: bytes.length }
}

function fail(message: string, target: RLPTarget): never {
  const path = target.path === '' ? '' : `, decoding into ${target.path}`
  throw new DecodingError(`rlp: ${message} for ${target.type}${path}`)
}

/** Reads the length in the bytes after a long header; the cursor moves past them. */
function readLongLength(cursor: RLPCursor, size: number, target: RLPTarget): number {
  const { bytes, offset } = cursor
  if (offset + size > cursor.end) throw new DecodingError('unexpected EOF')
  if (bytes[offset] === 0) fail('non-canonical size information', target)
  let length = 0
  for (let i = 0; i < size; i++) length = Math.min(length * 256 + bytes[offset + i]!, HUGE)
  if (length < 56) fail('non-canonical size information', target)
  cursor.offset = offset + size
  return length
}

/** Fails where the input or the list ends too early. */
function failAtEnd(target: RLPTarget): never {
  if (target.of === undefined) throw new DecodingError('EOF')
  fail('too few elements', target.of)
}

function checkLength(cursor: RLPCursor, length: number): void {
  if (cursor.offset + length <= cursor.end) return
  throw new DecodingError(
    cursor.end === cursor.bytes.length
      ? 'rlp: value size exceeds available input length'
      : 'rlp: element is larger than containing list',
  )
}

/** Returns whether the list (or input) that is being read has no further item. */
export function atEnd(cursor: RLPCursor): boolean {
  return cursor.offset >= cursor.end
}

/** Returns whether the next item is a list; false at the end. */
export function isListNext(cursor: RLPCursor): boolean {
  return cursor.offset < cursor.end && cursor.bytes[cursor.offset]! >= 0xc0
}

/**
 * Moves the cursor to the end of a byte string, and returns where its content begins. Views on a few bytes cost more than what is
 * read from them.
 */
function passString(cursor: RLPCursor, target: RLPTarget): number {
  const { bytes, offset } = cursor
  if (offset >= cursor.end) failAtEnd(target)
  const first = bytes[offset]!
  if (first < 0x80) {
    cursor.offset = offset + 1
    return offset
  }
  if (first >= 0xc0) fail('expected input string or byte', target)
  cursor.offset = offset + 1
  const length = first < 0xb8 ? first - 0x80 : readLongLength(cursor, first - 0xb7, target)
  checkLength(cursor, length)
  const start = cursor.offset
  if (length === 1 && bytes[start]! < 0x80) fail('non-canonical size information', target)
  cursor.offset = start + length
  return start
}

/**
 * Reads a byte string: a view on the input.
 * @throws DecodingError
 */
export function readBytes(cursor: RLPCursor, target: RLPTarget): Uint8Array {
  const start = passString(cursor, target)
  return start === cursor.offset ? EMPTY_BYTES : cursor.bytes.subarray(start, cursor.offset)
}

/**
 * Reads a byte string of exactly `length` bytes.
 * @throws DecodingError
 */
export function readFixedBytes(cursor: RLPCursor, length: number, target: RLPTarget): Uint8Array {
  const value = readBytes(cursor, target)
  if (value.length < length) fail('input string too short', target)
  if (value.length > length) fail('input string too long', target)
  return value
}

/**
 * Reads an unsigned integer of at most `maxBytes` bytes.
 * @throws DecodingError
 */
export function readInteger(cursor: RLPCursor, maxBytes: number, target: RLPTarget): bigint {
  const { bytes } = cursor
  const start = passString(cursor, target)
  const end = cursor.offset
  if (start === end) return 0n
  if (bytes[start] === 0) fail('non-canonical integer (leading zero bytes)', target)
  if (end - start > maxBytes) {
    if (maxBytes === 32) throw new DecodingError('rlp: value too large for uint256')
    fail('input string too long', target)
  }
  return bytesToBigIntOf(bytes, start, end)
}

/**
 * Enters a list: the cursor then ends at the end of the list. Pass the returned value to {@link leaveList}.
 * @throws DecodingError
 */
export function enterList(cursor: RLPCursor, target: RLPTarget): number {
  const { bytes, offset, end } = cursor
  if (offset >= end) failAtEnd(target)
  const first = bytes[offset]!
  if (first < 0xc0) fail('expected input list', target)
  cursor.offset = offset + 1
  const length = first < 0xf8 ? first - 0xc0 : readLongLength(cursor, first - 0xf7, target)
  checkLength(cursor, length)
  cursor.end = cursor.offset + length
  return end
}

/**
 * Leaves a list that was read to its end.
 * @throws DecodingError when it has further items
 */
export function leaveList(cursor: RLPCursor, outerEnd: number, target: RLPTarget): void {
  if (cursor.offset !== cursor.end) fail('input list has too many elements', target)
  cursor.end = outerEnd
}

/** An item that is encoded already, or still. */
export class EncodedItem {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A decoded value, as {@link decodeRLP} returns it: a byte string or a list. */
export type RLPItem = Uint8Array | readonly RLPItem[]
/** The same with lists that stayed encoded. */
export type PartlyEncodedItem = Uint8Array | EncodedItem | readonly PartlyEncodedItem[]

/**
 * Most lists in one another that are read: readers are recursive, and the accepted depth must not
 * depend on a thread's stack.
 */
const MAX_DEPTH = 64

/**
 * Decodes the single value in `bytes`, for records whose parts the caller checks. Byte strings are copies.
 * @throws DecodingError when `bytes` is not the canonical encoding of one value
 */
export function decodeRLP(bytes: Uint8Array): RLPItem {
  return decodeDownTo(bytes, Number.POSITIVE_INFINITY) as RLPItem
}

/**
 * Decodes like {@link decodeRLP}, except that lists in `depth` lists stay encoded, and are not
 * checked: for lists that few callers need.
 * @throws DecodingError as {@link decodeRLP}
 */
export function decodeDownTo(bytes: Uint8Array, depth: number): PartlyEncodedItem {
  const cursor = openRLP(bytes)
  const item = readItem(cursor, depth)
  failUnlessAtEnd(cursor)
  return item
}

/**
 * Checks what strangers gave before it is decoded: each item takes far more memory than its bytes may be.
 * @throws DecodingError when `bytes` is not the canonical encoding of one value, or has more than `maxItems` items
 */
export function checkRLP(bytes: Uint8Array, maxItems: number): void {
  const cursor = openRLP(bytes)
  passItem(cursor, { items: maxItems })
  failUnlessAtEnd(cursor)
}

function failUnlessAtEnd(cursor: RLPCursor): void {
  if (!atEnd(cursor)) throw new DecodingError('rlp: input contains more than one value')
}

const ANY: RLPTarget = { type: 'any value', path: '' }

function failIfTooDeep(level: number): void {
  if (level >= MAX_DEPTH) throw new DecodingError(`rlp: more than ${MAX_DEPTH} lists in one another`)
}

function readItem(cursor: RLPCursor, depth: number, level = 0): PartlyEncodedItem {
  if (!isListNext(cursor)) return readBytes(cursor, ANY).slice()
  failIfTooDeep(level)
  const start = cursor.offset
  const outerEnd = enterList(cursor, ANY)
  if (depth === 0) {
    cursor.offset = cursor.end
    cursor.end = outerEnd
    return new EncodedItem(cursor.bytes.slice(start, cursor.offset))
  }
  const items: PartlyEncodedItem[] = []
  while (!atEnd(cursor)) items.push(readItem(cursor, depth - 1, level + 1))
  leaveList(cursor, outerEnd, ANY)
  return items
}

function passItem(cursor: RLPCursor, left: { items: number }, level = 0): void {
  if (left.items-- <= 0) throw new DecodingError('rlp: input contains too many values')
  if (!isListNext(cursor)) {
    passString(cursor, ANY)
    return
  }
  failIfTooDeep(level)
  const outerEnd = enterList(cursor, ANY)
  while (!atEnd(cursor)) passItem(cursor, left, level + 1)
  leaveList(cursor, outerEnd, ANY)
}

/**
 * Returns the position of the content of the item at `at`. For bytes that were checked when they
 * were stored: it does not check that the encoding is canonical.
 * @throws DecodingError when the item goes past the end of `rlp`
 */
export function itemAt(rlp: Uint8Array, at: number): { isList: boolean; start: number; end: number } {
  const first = rlp[at]
  if (first === undefined) throw new DecodingError('RLP ends too early')
  if (first < 0x80) return { isList: false, start: at, end: at + 1 }
  const isList = first >= 0xc0
  const short = first - (isList ? 0xc0 : 0x80)
  let start = at + 1
  let length = short
  if (short > 55) {
    start += short - 55
    length = 0
    for (let i = at + 1; i < start; i++) length = length * 256 + rlp[i]!
  }
  if (!(start + length <= rlp.length)) throw new DecodingError('RLP ends too early')
  return { isList, start, end: start + length }
}

/** A value to encode with {@link encodeRLP}: bytes, an unsigned integer or a list. */
export type RLPInput = Uint8Array | bigint | EncodedItem | readonly RLPInput[]

/** Returns the canonical RLP of `input`. Integers are written in their minimal big-endian form. */
export function encodeRLP(input: RLPInput): Uint8Array {
  if (input instanceof Uint8Array) return encodeString(input)
  if (input instanceof EncodedItem) return input.bytes.slice()
  const lengths: number[] = []
  const size = measure(input, lengths)
  const out = new Uint8Array(size)
  write(input, lengths, { at: 0, next: 0 }, out)
  return out
}

function encodeString(bytes: Uint8Array): Uint8Array {
  const { length } = bytes
  if (length === 1 && bytes[0]! < 0x80) return bytes.slice()
  const out = new Uint8Array(headerLength(length) + length)
  out.set(bytes, writeHeader(out, 0, 0x80, length))
  return out
}

/**
 * Returns the bytes of the header of a string or list of `length` bytes. (Callers know that a
 * single byte below 0x80 has no header.)
 */
export function headerLength(length: number): number {
  if (length < 56) return 1
  return length < 0x100 ? 2 : length < 0x10000 ? 3 : length < 0x1000000 ? 4 : 5
}

/** Writes the header of a string (`base` 0x80) or list (0xc0) of `length` bytes, and returns the position after it. */
export function writeHeader(out: Uint8Array, at: number, base: 0x80 | 0xc0, length: number): number {
  if (length < 56) {
    out[at] = base + length
    return at + 1
  }
  const size = headerLength(length) - 1
  out[at] = base + 55 + size
  for (let i = size, rest = length; i > 0; i--, rest = Math.floor(rest / 256)) out[at + i] = rest & 0xff
  return at + 1 + size
}

/** Returns the bytes of a list, or of a string longer than one byte, with its header. @param length of its content */
export function rlpLength(length: number): number {
  return headerLength(length) + length
}

/** Returns the bytes of a string or an integer with its header. */
export function itemLength(item: Uint8Array | bigint): number {
  if (typeof item === 'bigint') return item < 0x80n ? 1 : rlpLength(integerLength(item))
  return item.length === 1 && item[0]! < 0x80 ? 1 : rlpLength(item.length)
}

/**
 * Returns the encoded size. Adds the payload size of each list to `lengths`, in pre-order, for the
 * writing that follows.
 */
function measure(input: RLPInput, lengths: number[]): number {
  if (input instanceof Uint8Array || typeof input === 'bigint') return itemLength(input)
  if (input instanceof EncodedItem) return input.bytes.length
  const index = lengths.push(0) - 1
  let length = 0
  for (const item of input) length += measure(item, lengths)
  lengths[index] = length
  return rlpLength(length)
}

/** Most integers are gas, nonces and fees. Up to this value they are handled as machine integers. */
const SMALL_INTEGER = 0xffff_ffffn

/** Returns the bytes of an integer without leading zeros. */
function integerLength(integer: bigint): number {
  let value = integer
  let above = 0
  for (; value > SMALL_INTEGER; above += 4) value >>= 32n
  return above + ((39 - Math.clz32(Number(value))) >> 3)
}

interface Position {
  at: number
  next: number
}

function write(input: RLPInput, lengths: readonly number[], position: Position, out: Uint8Array): void {
  if (input instanceof Uint8Array || typeof input === 'bigint') {
    position.at = writeItem(out, position.at, input)
    return
  }
  if (input instanceof EncodedItem) {
    out.set(input.bytes, position.at)
    position.at += input.bytes.length
    return
  }
  position.at = writeHeader(out, position.at, 0xc0, lengths[position.next++]!)
  for (const item of input) write(item, lengths, position, out)
}

/** Writes a string or an integer with its header, and returns the position after it. */
export function writeItem(out: Uint8Array, at: number, item: Uint8Array | bigint): number {
  return typeof item === 'bigint' ? writeInteger(out, at, item) : writeString(out, at, item)
}

function writeInteger(out: Uint8Array, at: number, integer: bigint): number {
  if (integer > SMALL_INTEGER) return writeBigInt(out, writeHeader(out, at, 0x80, integerLength(integer)), integer)
  let rest = Number(integer)
  if (rest === 0) {
    out[at] = 0x80
    return at + 1
  }
  if (rest < 0x80) {
    out[at] = rest
    return at + 1
  }
  const length = (39 - Math.clz32(rest)) >> 3
  out[at] = 0x80 + length
  for (let i = length; i > 0; i--) {
    out[at + i] = rest & 0xff
    rest >>>= 8
  }
  return at + length + 1
}

function writeString(out: Uint8Array, at: number, bytes: Uint8Array): number {
  const { length } = bytes
  const start = length !== 1 || bytes[0]! >= 0x80 ? writeHeader(out, at, 0x80, length) : at
  // For a few bytes a loop is faster than a call of `set`.
  if (length > 64) out.set(bytes, start)
  else for (let i = 0; i < length; i++) out[start + i] = bytes[i]!
  return start + length
}

/** Returns the RLP list of items that are encoded already. */
export function encodeRLPList(encodedItems: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const item of encodedItems) length += item.length
  const out = new Uint8Array(rlpLength(length))
  let at = writeHeader(out, 0, 0xc0, length)
  for (const item of encodedItems) {
    out.set(item, at)
    at += item.length
  }
  return out
}
