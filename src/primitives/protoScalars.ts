import { bytesKey, decodeUtf8 } from './bytes.ts'
import { type Decimal, formatDecimal, parseDecimal } from './decimal.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from './protobuf.ts'
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from './timeText.ts'

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** JSON that does not have the expected form. The message starts with the path, like `msg.amount[0].denom: …`. */
export class JsonFormError extends Error {
  override readonly name = 'JsonFormError'
}

/** Context that message types need to convert values to and from JSON. */
export interface JsonContext {
  /** The type with this type URL, for an Any. */
  readonly typeOf: (typeUrl: string) => AnyMessageType | undefined
}

/** The part of a message type that codecs of values use, see `MessageType`. */
export interface AnyMessageType {
  readonly typeUrl: string
  readonly fields: readonly {
    readonly number: number
    readonly name: string
    readonly jsonName: string
    readonly codec: ValueCodec<unknown>
    readonly presence: 'plain' | 'optional' | 'oneof' | 'repeated'
    readonly protoType?: ProtoType
  }[]
  decode(bytes: Uint8Array): unknown
  encode(value: never): Uint8Array
  toJson(value: never, context: JsonContext): Json
  fromJson(json: Json, context: JsonContext, path?: string): unknown
}

/** A type of protobuf's language: a scalar, the full name of a well-known message, or the names of an enum. */
export type ProtoType =
  | 'string'
  | 'bytes'
  | 'bool'
  | 'uint64'
  | 'int64'
  | 'uint32'
  | 'int32'
  | { readonly message: `google.protobuf.${string}` }
  | { readonly enumeration: Readonly<Record<string, number>> }

/** How one type of value is written in protobuf and in the JSON of grpc-gateway. */
export interface ValueCodec<T> {
  /** how a .proto file declares it; absent for messages with a `messageType` */
  readonly protoType?: ProtoType
  /** proto3's default value, which is not written */
  readonly zero: T
  readonly isZero: (value: T) => boolean
  /** repeated values of this type share one length-delimited field */
  readonly isPacked: boolean
  /** of a message: its type */
  readonly messageType?: () => AnyMessageType
  write(writer: ProtobufWriter, field: number, value: T): void
  /** @param raw a varint as 64 bits, or bytes. @throws ProtobufError */
  read(raw: bigint | Uint8Array): T
  toJson(value: T, context: JsonContext): Json
  /** @throws JsonFormError */
  fromJson(json: Json, context: JsonContext, path: string): T
}

const MAX_UINT64 = 2n ** 64n - 1n
const MAX_INT64 = 2n ** 63n - 1n
const NANOS = 1_000_000_000n

export function wrongForm(path: string, expected: string): JsonFormError {
  return new JsonFormError(`${path === '' ? 'the value' : path}: expected ${expected}`)
}

function delimited(raw: bigint | Uint8Array): Uint8Array {
  if (typeof raw === 'bigint') throw new ProtobufError('expected a length-delimited field')
  return raw
}

function varint(raw: bigint | Uint8Array): bigint {
  if (typeof raw !== 'bigint') throw new ProtobufError('expected a varint')
  return raw
}

function readText(raw: bigint | Uint8Array): string {
  const bytes = delimited(raw)
  if (isAscii(bytes)) return bytesKey(bytes)
  const text = decodeUtf8(bytes)
  if (text === undefined) throw new ProtobufError('not UTF-8')
  return text
}

/** Returns true for nearly all text; for short texts the decoder takes several times as long as this check. */
function isAscii(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i]! > 0x7f) return false
  return true
}

export const stringCodec: ValueCodec<string> = {
  protoType: 'string',
  zero: '',
  isZero: (value) => value === '',
  isPacked: false,
  write: (writer, field, value) => void writer.repeatedBytes(field, [Buffer.from(value, 'utf8')]),
  read: readText,
  toJson: (value) => value,
  fromJson: (json, _, path) => {
    if (typeof json !== 'string') throw wrongForm(path, 'a string')
    return json
  },
}

export const bytesCodec: ValueCodec<Uint8Array> = {
  protoType: 'bytes',
  zero: new Uint8Array(0),
  isZero: (value) => value.length === 0,
  isPacked: false,
  write: (writer, field, value) => void writer.repeatedBytes(field, [value]),
  read: (raw) => delimited(raw).slice(),
  toJson: (value) => Buffer.from(value).toString('base64'),
  fromJson: (json, _, path) => {
    const isBase64 = typeof json === 'string' && /^[A-Za-z0-9+/_-]*={0,2}$/.test(json)
    if (!isBase64) throw wrongForm(path, 'base64')
    return new Uint8Array(Buffer.from(json, 'base64'))
  },
}

export const boolCodec: ValueCodec<boolean> = {
  protoType: 'bool',
  zero: false,
  isZero: (value) => !value,
  isPacked: true,
  write: (writer, field, value) => void writer.varint(field, value ? 1 : 0),
  read: (raw) => varint(raw) !== 0n,
  toJson: (value) => value,
  fromJson: (json, _, path) => {
    if (json === true || json === 'true') return true
    if (json === false || json === 'false') return false
    throw wrongForm(path, 'true or false')
  },
}

/** Reads an integer from a JSON number or its digits. */
function jsonInteger(json: Json, path: string, minimum: bigint, maximum: bigint): bigint {
  const text = typeof json === 'number' && Number.isSafeInteger(json) ? json.toString() : json
  if (typeof text !== 'string' || !/^-?\d{1,20}$/.test(text)) throw wrongForm(path, 'a whole number')
  const value = BigInt(text)
  if (value < minimum || value > maximum) throw wrongForm(path, `a number from ${minimum} to ${maximum}`)
  return value
}

function longCodec(protoType: ProtoType, minimum: bigint, maximum: bigint): ValueCodec<bigint> {
  return {
    protoType,
    zero: 0n,
    isZero: (value) => value === 0n,
    isPacked: true,
    write: (writer, field, value) => void writer.varint(field, value),
    read: (raw) => (minimum < 0n ? BigInt.asIntN(64, varint(raw)) : BigInt.asUintN(64, varint(raw))),
    toJson: (value) => value.toString(),
    fromJson: (json, _, path) => jsonInteger(json, path, minimum, maximum),
  }
}

export const uint64Codec: ValueCodec<bigint> = longCodec('uint64', 0n, MAX_UINT64)
export const int64Codec: ValueCodec<bigint> = longCodec('int64', -MAX_INT64 - 1n, MAX_INT64)
/** A uint64 that is exact as a number: for heights and times in milliseconds, which stay below 2^53. */
export const safeUint64Codec: ValueCodec<number> = {
  protoType: 'uint64',
  zero: 0,
  isZero: (value) => value === 0,
  isPacked: true,
  write: (writer, field, value) => uint64Codec.write(writer, field, BigInt(value)),
  read: (raw) => Number(uint64Codec.read(raw)),
  toJson: (value) => value.toString(),
  fromJson: (json, _, path) => Number(jsonInteger(json, path, 0n, BigInt(Number.MAX_SAFE_INTEGER))),
}

function shortCodec(protoType: ProtoType, minimum: number, maximum: number): ValueCodec<number> {
  return {
    protoType,
    zero: 0,
    isZero: (value) => value === 0,
    isPacked: true,
    write: (writer, field, value) => void writer.varint(field, value),
    read: (raw) => {
      const value = Number(BigInt.asIntN(64, varint(raw)))
      if (value < minimum || value > maximum) throw new ProtobufError(`${value} does not fit 32 bits`)
      return value
    },
    toJson: (value) => value,
    fromJson: (json, _, path) => Number(jsonInteger(json, path, BigInt(minimum), BigInt(maximum))),
  }
}

export const uint32Codec: ValueCodec<number> = shortCodec('uint32', 0, 0xffff_ffff)
export const int32Codec: ValueCodec<number> = shortCodec('int32', -0x8000_0000, 0x7fff_ffff)

/** Creates the codec of an enum; JSON has the names. Numbers without a name are retained, as in proto3. */
export function enumCodec(names: Readonly<Record<string, number>>): ValueCodec<number> {
  const byNumber = new Map(Object.entries(names).map(([name, number]) => [number, name]))
  return {
    ...int32Codec,
    protoType: { enumeration: names },
    toJson: (value) => byNumber.get(value) ?? value,
    fromJson: (json, context, path) => {
      if (typeof json === 'string' && Object.hasOwn(names, json)) return names[json]!
      if (typeof json === 'string' && !/^-?\d+$/.test(json)) {
        throw wrongForm(path, `one of ${Object.keys(names).join(', ')}, or its number`)
      }
      return int32Codec.fromJson(json, context, path)
    },
  }
}

/** The most digits of a math.Int: the SDK allows 256 bits. */
const MAX_INTEGER_DIGITS = 78

/** The SDK's math.Int: decimal digits. The codec accepts negative and empty ones; the modules check whether they are allowed. */
export const integerCodec: ValueCodec<bigint> = {
  protoType: 'string',
  zero: 0n,
  // Written even when it is zero, like all custom types of the SDK.
  isZero: () => false,
  isPacked: false,
  write: (writer, field, value) => void writer.repeatedBytes(field, [Buffer.from(value.toString())]),
  read: (raw) => {
    const value = parseInteger(readText(raw))
    if (value === undefined) throw new ProtobufError('expected the digits of an integer of at most 256 bits')
    return value
  },
  toJson: (value) => value.toString(),
  fromJson: (json, _, path) => {
    const value = typeof json === 'string' && json !== '' ? parseInteger(json) : undefined
    if (value === undefined) throw wrongForm(path, 'a whole number in a string')
    return value
  },
}

function parseInteger(text: string): bigint | undefined {
  if (text === '') return 0n
  if (!/^-?\d+$/.test(text) || text.length > MAX_INTEGER_DIGITS + 1) return undefined
  const value = BigInt(text)
  return value < 2n ** 256n && value > -(2n ** 256n) ? value : undefined
}

/** The SDK's LegacyDec: in protobuf the digits of 10^-18 units, in JSON `0.050000000000000000`. */
export const decimalCodec: ValueCodec<Decimal> = {
  protoType: 'string',
  zero: 0n,
  isZero: () => false,
  isPacked: false,
  write: integerCodec.write,
  read: (raw) => {
    const text = readText(raw)
    if (text === '') return 0n
    if (!/^-?\d{1,96}$/.test(text)) throw new ProtobufError('expected the digits of a decimal')
    return BigInt(text)
  },
  toJson: formatDecimal,
  fromJson: (json, _, path) => {
    const value = typeof json === 'string' ? parseDecimal(json) : undefined
    if (value === undefined) throw wrongForm(path, 'a number with up to 18 decimals in a string')
    return value
  },
}

/** Reads the two fields that Timestamp and Duration have. */
function readSecondsAndNanos(raw: bigint | Uint8Array): { readonly seconds: bigint; readonly nanos: bigint } {
  const fields = new ProtobufFields(delimited(raw))
  for (const number of fields.numbers()) if (number > 2) throw new ProtobufError(`unknown field ${number}`)
  const nanos = fields.integer(2)
  if (nanos <= -NANOS || nanos >= NANOS) throw new ProtobufError(`${nanos} nanoseconds are more than a second`)
  return { seconds: fields.integer(1), nanos }
}

/** protobuf's range of times, the years 1 to 9999, in seconds */
const FIRST_SECOND = -62_135_596_800n
const LAST_SECOND = 253_402_300_799n
/** protobuf's longest duration, about 10,000 years */
const MAX_DURATION_SECONDS = 315_576_000_000n
const MAX_DURATION = MAX_DURATION_SECONDS * NANOS

function readTimestamp(raw: bigint | Uint8Array): bigint {
  const { seconds, nanos } = readSecondsAndNanos(raw)
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0n) throw new ProtobufError('a time is out of range')
  return seconds * NANOS + nanos
}

function readDuration(raw: bigint | Uint8Array): bigint {
  const { seconds, nanos } = readSecondsAndNanos(raw)
  const isOneSign = seconds === 0n || nanos === 0n || seconds < 0n === nanos < 0n
  if (!isOneSign || seconds > MAX_DURATION_SECONDS || seconds < -MAX_DURATION_SECONDS) {
    throw new ProtobufError('a duration is out of range')
  }
  return seconds * NANOS + nanos
}

function writeSecondsAndNanos(writer: ProtobufWriter, field: number, value: bigint): void {
  let seconds = value / NANOS
  let nanos = value % NANOS
  if (nanos < 0n) {
    seconds -= 1n
    nanos += NANOS
  }
  writer.repeatedBytes(field, [new ProtobufWriter().varint(1, seconds).varint(2, nanos).finish()])
}

/** google.protobuf.Timestamp as nanoseconds since the epoch. An absent one is Go's zero time, the beginning of year 1. */
export const timestampCodec: ValueCodec<bigint> = {
  protoType: { message: 'google.protobuf.Timestamp' },
  zero: FIRST_SECOND * NANOS,
  isZero: () => false,
  isPacked: false,
  write: writeSecondsAndNanos,
  read: readTimestamp,
  toJson: (nanos) => formatTimestamp(nanos, 3),
  fromJson: (json, _, path) => {
    const value = typeof json === 'string' ? parseTimestamp(json) : undefined
    if (value === undefined) throw wrongForm(path, 'a time, like 2026-01-01T00:00:00Z')
    return value
  },
}

/** google.protobuf.Duration as nanoseconds. */
export const durationCodec: ValueCodec<bigint> = {
  protoType: { message: 'google.protobuf.Duration' },
  zero: 0n,
  isZero: () => false,
  isPacked: false,
  write: (writer, field, value) =>
    void writer.repeatedBytes(field, [
      new ProtobufWriter()
        .varint(1, value / NANOS)
        .varint(2, value % NANOS)
        .finish(),
    ]),
  read: readDuration,
  toJson: formatDuration,
  fromJson: (json, _, path) => {
    const value = typeof json === 'string' ? parseDuration(json) : undefined
    const isInRange = value !== undefined && value <= MAX_DURATION && value >= -MAX_DURATION
    if (!isInRange) throw wrongForm(path, 'a duration, like 600s')
    return value
  },
}
