import { toBuffer, varintLength } from '../../primitives/bytes.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../../primitives/protobuf.ts'
import { type BlockId, isNilBlockId, NIL_BLOCK_ID, type PartSetHeader, ZERO_TIME_MS } from './types.ts'

/** Bytes that are not the canonical encoding of the expected message, or hold a value out of range. */
export class ConsensusDecodingError extends Error {
  override readonly name = 'ConsensusDecodingError'
}

/**
 * Most fields of a message, including those of nested messages. A field may have two bytes and take as long to decode as a
 * longer one. Without this bound, decoding 2 MB of a million empty transactions takes the main thread half a second.
 */
const MAX_FIELDS = 65_536

/** Writes and reads one type of message. `read` throws on a value out of range. */
export interface MessageCodec<T> {
  readonly name: string
  write(writer: ProtobufWriter, value: T): void
  read(fields: ProtobufFields): T
}

export function encodeMessage<T>(codec: Pick<MessageCodec<T>, 'write'>, value: T): Uint8Array {
  const writer = new ProtobufWriter()
  codec.write(writer, value)
  return writer.finish()
}

/**
 * Accepts exactly the encoding of {@link encodeMessage}: fields in order, shortest varints, no unknown fields, no default values
 * (ADR-027). So a message has only one encoding, and a relaying peer cannot change its hash.
 * @throws ConsensusDecodingError
 */
export function decodeMessage<T>(codec: MessageCodec<T>, bytes: Uint8Array): T {
  const value = decodeCheckedMessage(codec, bytes)
  if (!toBuffer(encodeMessage(codec, value)).equals(bytes)) {
    throw new ConsensusDecodingError(`${codec.name}: not the canonical encoding`)
  }
  return value
}

/**
 * As {@link decodeMessage}, but any encoding is accepted, since the comparison takes half of the time: for bytes that another thread of
 * this process has encoded, or decoded with that check.
 */
export function decodeCheckedMessage<T>(codec: MessageCodec<T>, bytes: Uint8Array): T {
  try {
    return codec.read(new ProtobufFields(bytes, 0, bytes.length, { left: MAX_FIELDS }))
  } catch (cause) {
    // A ConsensusDecodingError punishes the sender of the bytes; any other error is not the
    // sender's fault.
    if (!(cause instanceof ProtobufError || cause instanceof ConsensusDecodingError)) throw cause
    throw new ConsensusDecodingError(`${codec.name}: ${cause.message}`, { cause })
  }
}

export function fail(message: string): never {
  throw new ConsensusDecodingError(message)
}

/** Reads an int64 as a number, from `minimum` to the largest safe integer. */
export function toInteger(value: bigint, minimum: number, what: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < minimum) fail(`${what} ${value} is out of range`)
  return number
}

const MAX_INT32 = 0x7fff_ffff
const MAX_UINT32 = 0xffff_ffff

/** Reads an int32 of at least `minimum`. */
export function toInt32(value: bigint, minimum: number, what: string): number {
  const number = toInteger(value, minimum, what)
  return number <= MAX_INT32 ? number : fail(`${what} ${value} is out of range`)
}

export function toUint32(value: bigint, what: string): number {
  const number = toInteger(value, 0, what)
  return number <= MAX_UINT32 ? number : fail(`${what} ${value} is out of range`)
}

/** Checks that the bytes have this length. */
export function toSized(bytes: Uint8Array, length: number, what: string): Uint8Array {
  return bytes.length === length ? bytes : fail(`${what} has ${bytes.length} bytes, not ${length}`)
}

/** the last time of protobuf, the end of the year 9999 */
const MAX_TIME_MS = 253_402_300_799_999

/** Writes google.protobuf.Timestamp. */
export function writeTime(writer: ProtobufWriter, timeMs: number): void {
  const seconds = Math.floor(timeMs / 1000)
  writer.varint(1, seconds).varint(2, (timeMs - seconds * 1000) * 1_000_000)
}

/** Every time on this chain is a whole millisecond; CometBFT's format would allow nanoseconds. */
export function readTime(fields: ProtobufFields): number {
  const nanos = toInt32(fields.integer(2), 0, 'nanoseconds')
  if (nanos >= 1_000_000_000 || nanos % 1_000_000 !== 0) fail(`${nanos} ns is not a whole millisecond of a second`)
  const timeMs = Number(fields.integer(1)) * 1000 + nanos / 1_000_000
  if (!(timeMs >= ZERO_TIME_MS && timeMs <= MAX_TIME_MS)) fail('a time is out of range')
  return timeMs
}

/** Writes tendermint.types.PartSetHeader; the canonical one has the same encoding. */
function writePartSetHeader(writer: ProtobufWriter, header: PartSetHeader): void {
  writer.varint(1, header.total).bytes(2, header.hash)
}

function readPartSetHeader(fields: ProtobufFields): PartSetHeader {
  return { total: toUint32(fields.integer(1), 'part count'), hash: fields.bytes(2) }
}

/** Writes tendermint.types.BlockID; the canonical one has the same encoding. */
export function writeBlockId(writer: ProtobufWriter, id: BlockId): void {
  writer.bytes(1, id.hash).message(2, writePartSetHeader, id.partSetHeader)
}

/** A block ID is complete or nil (CometBFT types/block.go, IsComplete and IsNil). */
export function readBlockId(fields: ProtobufFields): BlockId {
  const id: BlockId = { hash: fields.bytes(1), partSetHeader: fields.message(2, readPartSetHeader) }
  if (isNilBlockId(id)) return NIL_BLOCK_ID
  const { hash, total } = id.partSetHeader
  if (id.hash.length !== 32 || hash.length !== 32 || total === 0) fail('a block ID is neither complete nor nil')
  return id
}

/** Bytes that a transaction (or piece of evidence) of `length` bytes takes in a block: tag, length as a varint, content. */
export function encodedTxSize(length: number): number {
  return 1 + varintLength(length) + length
}
