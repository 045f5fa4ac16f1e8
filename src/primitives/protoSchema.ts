import { EMPTY_BYTES } from './bytes.ts'
import { type FieldValue, ProtobufError, ProtobufFields, ProtobufWriter, visitFields } from './protobuf.ts'
import {
  type AnyMessageType,
  boolCodec,
  bytesCodec,
  decimalCodec,
  durationCodec,
  enumCodec,
  int32Codec,
  int64Codec,
  integerCodec,
  type Json,
  type JsonContext,
  type ProtoType,
  safeUint64Codec,
  stringCodec,
  timestampCodec,
  uint32Codec,
  uint64Codec,
  type ValueCodec,
  wrongForm,
} from './protoScalars.ts'

/**
 * Protobuf messages as tables: one table defines the wire format, the JSON of grpc-gateway (names
 * of the .proto file, 64-bit integers in strings) and the TypeScript type. The table has names in
 * camel case; JSON has them in snake case.
 */
export interface MessageType<T> extends AnyMessageType {
  /** e.g. `cosmos.bank.v1beta1.MsgSend` */
  readonly name: string
  /** `/` and the name */
  readonly typeUrl: string
  readonly fields: readonly NamedField[]
  /** Creates a message of `values`, with zero values for the missing fields. */
  create(values?: Partial<T>): T
  encode(value: T): Uint8Array
  /**
   * Decodes a message. Unknown fields are refused, as the SDK does in transactions.
   * @throws ProtobufError
   */
  decode(bytes: Uint8Array): T
  /** Converts to JSON with all fields, also those that are zero. */
  toJson(value: T, context: JsonContext): Json
  /**
   * Accepts the names of the .proto file and those of the standard JSON mapping; fields may be missing.
   * @throws JsonFormError
   */
  fromJson(json: Json, context: JsonContext, path?: string): T
}

/** The type of a message type's values. */
export type ValueOf<M> = M extends MessageType<infer T> ? T : never

/** A field of a message, see the functions below. */
export interface Field<T> {
  readonly number: number
  readonly codec: ValueCodec<unknown>
  /** `optional`: undefined when absent; `oneof`: the same, and an absent one is not in the JSON */
  readonly presence: 'plain' | 'optional' | 'oneof' | 'repeated'
  readonly zero: T
  /** how its .proto file declares it, where the codec's other fields are declared in another way with the same bytes */
  readonly protoType?: ProtoType
}

interface NamedField extends Field<unknown> {
  readonly name: string
  readonly jsonName: string
}

/** google.protobuf.Any */
export interface AnyValue {
  /** e.g. `/cosmos.bank.v1beta1.MsgSend` */
  readonly typeUrl: string
  readonly value: Uint8Array
}

const NO_TYPES: JsonContext = { typeOf: () => undefined }
/** No valid message is nested deeper. */
const MAX_DEPTH = 32

function plain<T>(number: number, codec: ValueCodec<T>): Field<T> {
  return { number, codec: codec as ValueCodec<unknown>, presence: 'plain', zero: codec.zero }
}

export const string = (number: number): Field<string> => plain(number, stringCodec)
export const bytes = (number: number): Field<Uint8Array> => plain(number, bytesCodec)
export const bool = (number: number): Field<boolean> => plain(number, boolCodec)
export const uint64 = (number: number): Field<bigint> => plain(number, uint64Codec)
/** a uint64 as a number: a height or a time in milliseconds */
export const safeUint64 = (number: number): Field<number> => plain(number, safeUint64Codec)
export const int64 = (number: number): Field<bigint> => plain(number, int64Codec)
export const uint32 = (number: number): Field<number> => plain(number, uint32Codec)
export const int32 = (number: number): Field<number> => plain(number, int32Codec)
/** the SDK's math.Int */
export const integer = (number: number): Field<bigint> => plain(number, integerCodec)
/** the SDK's LegacyDec, see `Decimal` */
export const decimal = (number: number): Field<bigint> => plain(number, decimalCodec)
/** a LegacyDec that is declared as `bytes`, which has the same digits */
export const decimalBytes = (number: number): Field<bigint> => ({ ...decimal(number), protoType: 'bytes' })
/** nanoseconds since the epoch; a field that is not nullable in the SDK */
export const timestamp = (number: number): Field<bigint> => plain(number, timestampCodec)
/** nanoseconds */
export const duration = (number: number): Field<bigint> => plain(number, durationCodec)
/** a nullable timestamp or duration, nanoseconds */
export const optionalTimestamp = (number: number): Field<bigint | undefined> => optional(number, timestampCodec)
export const optionalDuration = (number: number): Field<bigint | undefined> => optional(number, durationCodec)
/** a nullable math.Int: nil is not written */
export const optionalInteger = (number: number): Field<bigint | undefined> => optional(number, integerCodec)
/** a nullable LegacyDec */
export const optionalDecimal = (number: number): Field<bigint | undefined> => optional(number, decimalCodec)
export const enumeration = (number: number, names: Readonly<Record<string, number>>): Field<number> =>
  plain(number, enumCodec(names))
/** a nullable message: undefined when absent, null in JSON */
export const message = <T>(number: number, type: MessageType<T>): Field<T | undefined> =>
  optional(
    number,
    messageCodec(() => type),
  )
/** a message that is not nullable in the SDK: always written, zero values when absent */
export const embedded = <T>(number: number, type: MessageType<T>): Field<T> =>
  plain(
    number,
    messageCodec(() => type),
  )
/** a member of a oneof */
export const oneOf = <T>(number: number, type: () => MessageType<T>): Field<T | undefined> => ({
  ...optional(number, messageCodec(type)),
  presence: 'oneof',
})
export const any = (number: number): Field<AnyValue | undefined> => optional(number, anyCodec)
export const repeated = <T>(field: Field<T>): Field<readonly NonNullable<T>[]> => ({
  number: field.number,
  codec: field.codec,
  presence: 'repeated',
  zero: [],
})

function optional<T>(number: number, codec: ValueCodec<T>): Field<T | undefined> {
  return { number, codec: codec as ValueCodec<unknown>, presence: 'optional', zero: undefined }
}

function messageCodec<T>(type: () => MessageType<T>): ValueCodec<T> {
  return {
    get zero() {
      return type().create()
    },
    isZero: () => false,
    isPacked: false,
    messageType: type,
    write: (writer, field, value) => void writer.repeatedBytes(field, [type().encode(value)]),
    read: (raw) => {
      if (typeof raw === 'bigint') throw new ProtobufError('expected a message')
      return nested(() => type().decode(raw))
    },
    toJson: (value, context) => type().toJson(value, context),
    fromJson: (json, context, path) => type().fromJson(json, context, path),
  }
}

let depth = 0

/** Decodes one level deeper, up to a limit: deep nesting could otherwise exhaust the stack. */
function nested<T>(decode: () => T): T {
  if (depth >= MAX_DEPTH) throw new ProtobufError('nested too deeply')
  depth++
  try {
    return decode()
  } finally {
    depth--
  }
}

/** In JSON an Any is an object with the message's fields and `@type`. */
export const anyCodec: ValueCodec<AnyValue> = {
  protoType: { message: 'google.protobuf.Any' },
  zero: { typeUrl: '', value: new Uint8Array(0) },
  isZero: () => false,
  isPacked: false,
  write: (writer, field, value) => void writer.repeatedBytes(field, [Any.encode(value)]),
  read: (raw) => {
    if (typeof raw === 'bigint') throw new ProtobufError('expected a message')
    return Any.decode(raw)
  },
  toJson: (any, context) => {
    const { typeUrl, value } = any
    const type = context.typeOf(typeUrl)
    const message = type && decodedOrUndefined(type, value)
    // One message of unknown type or bad content must not make a whole list fail.
    if (message === undefined) return { '@type': typeUrl, value: bytesCodec.toJson(value, context) }
    return { '@type': typeUrl, ...(type!.toJson(message as never, context) as { [name: string]: Json }) }
  },
  fromJson: (json, context, path) => {
    if (!isJsonObject(json)) throw wrongForm(path, 'an object with @type')
    const { '@type': typeUrl, ...rest } = json
    const type = typeof typeUrl === 'string' ? context.typeOf(typeUrl) : undefined
    if (type === undefined) throw wrongForm(`${path}.@type`, 'the type URL of a known message')
    return { typeUrl: type.typeUrl, value: type.encode(type.fromJson(rest, context, path) as never) }
  },
}

function decodedOrUndefined(type: AnyMessageType, value: Uint8Array): unknown {
  try {
    return type.decode(value)
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return undefined
  }
}

/**
 * Decoded contents by their Any. The checks of a transaction, its gas and its execution read the same messages: each is decoded once, however
 * deeply it is nested.
 */
const decodedContents = new WeakMap<AnyValue, { readonly type: object; readonly value: unknown }>()

/**
 * Decodes what an Any holds. The same object is decoded once.
 * @throws ProtobufError
 */
export function decodeContent<T>(type: { readonly decode: (bytes: Uint8Array) => T }, any: AnyValue): T {
  const known = decodedContents.get(any)
  if (known?.type === type) return known.value as T
  const value = type.decode(any.value)
  decodedContents.set(any, { type, value })
  return value
}

/** The wire form of {@link AnyValue} itself. */
export const Any: Pick<MessageType<AnyValue>, 'encode' | 'decode'> = {
  encode: ({ typeUrl, value }) => new ProtobufWriter().string(1, typeUrl).bytes(2, value).finish(),
  decode: (raw) => {
    let typeUrl: FieldValue = EMPTY_BYTES
    let value: FieldValue = EMPTY_BYTES
    visitFields(raw, (number, field) => {
      if (number === 1) typeUrl = field
      else if (number === 2) value = field
      else throw new ProtobufError(`unknown field ${number} in an Any`)
    })
    return { typeUrl: stringCodec.read(typeUrl), value: bytesCodec.read(value) }
  },
}

export function isJsonObject(json: Json | undefined): json is { readonly [name: string]: Json } {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** Declares a message type; `fields` in the order of the .proto file. */
// biome-ignore lint/suspicious/noExplicitAny: the type of each field is inferred from it
export function defineMessage<const F extends Readonly<Record<string, Field<any>>>>(
  name: string,
  fields: F,
): MessageType<{ readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }> {
  type Value = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }
  const named: readonly NamedField[] = Object.entries(fields).map(([key, field]) => ({
    ...field,
    name: key,
    jsonName: toSnakeCase(key),
  }))
  const ascending = [...named].sort((a, b) => a.number - b.number)
  const positions = new Map(named.map((field, position) => [field.number, position]))
  const byName = new Map(named.flatMap((field) => [[field.jsonName, field] as const, [field.name, field] as const]))

  const type: MessageType<Value> = {
    name,
    typeUrl: `/${name}`,
    fields: named,
    create: (values = {}) => {
      const out: Record<string, unknown> = {}
      for (const field of named) out[field.name] = field.zero
      return { ...out, ...values } as Value
    },
    encode: (value) => {
      const writer = new ProtobufWriter()
      for (const field of ascending) writeField(writer, field, (value as Record<string, unknown>)[field.name])
      return writer.finish()
    },
    decode: (raw) => {
      const found: (FieldValue[] | undefined)[] = []
      visitFields(raw, (number, value) => {
        const position = positions.get(number)
        if (position === undefined) throw new ProtobufError(`unknown field ${number} in ${name}`)
        const values = found[position]
        if (values === undefined) found[position] = [value]
        else values.push(value)
      })
      const out: Record<string, unknown> = {}
      for (let i = 0; i < named.length; i++) {
        const field = named[i]!
        const values = found[i]
        out[field.name] = values === undefined ? field.zero : readField(values, field, name)
      }
      return out as Value
    },
    toJson: (value, context) => {
      const out: Record<string, Json> = {}
      for (const field of named) {
        const json = fieldToJson(field, (value as Record<string, unknown>)[field.name], context)
        if (json !== undefined) out[field.jsonName] = json
      }
      return out
    },
    fromJson: (json, context = NO_TYPES, path = '') => {
      if (!isJsonObject(json)) throw wrongForm(path, 'an object')
      const out: Record<string, unknown> = {}
      for (const field of named) out[field.name] = field.zero
      for (const [key, member] of Object.entries(json)) {
        const field = byName.get(key)
        const at = path === '' ? key : `${path}.${key}`
        if (field === undefined) throw wrongForm(at, `no such member; ${name} has ${named.map((n) => n.jsonName)}`)
        out[field.name] = fieldFromJson(field, member, context, at)
      }
      return out as Value
    },
  }
  return type
}

function writeField(writer: ProtobufWriter, { number, codec, presence }: NamedField, value: unknown): void {
  if (presence === 'repeated') {
    const values = value as readonly unknown[]
    if (codec.isPacked && values.length > 0) {
      writer.repeatedBytes(number, [packed(codec, values)])
      return
    }
    for (const item of values) codec.write(writer, number, item)
  } else if (presence === 'plain' ? !codec.isZero(value) : value !== undefined) {
    codec.write(writer, number, value)
  }
}

/** Varints in sequence, without tags. */
function packed(codec: ValueCodec<unknown>, values: readonly unknown[]): Uint8Array {
  const parts = values.map((value) => {
    const single = new ProtobufWriter()
    codec.write(single, 1, value)
    const encoded = single.finish()
    // A field of zero is not written, but an item of zero is.
    return encoded.length === 0 ? Uint8Array.of(0) : encoded.subarray(1)
  })
  return Buffer.concat(parts)
}

/** @param values not empty */
function readField(values: readonly FieldValue[], { number, codec, presence }: NamedField, name: string): unknown {
  try {
    if (presence === 'repeated') {
      if (!codec.isPacked) return values.map((value) => codec.read(value))
      return values.flatMap((value) =>
        typeof value === 'bigint' ? [codec.read(value)] : ProtobufFields.varints(value).map((item) => codec.read(item)),
      )
    }
    return codec.read(values.at(-1)!)
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause
    throw new ProtobufError(`field ${number} of ${name}: ${cause.message}`, { cause })
  }
}

function fieldToJson({ codec, presence }: NamedField, value: unknown, context: JsonContext): Json | undefined {
  if (presence === 'repeated') return (value as readonly unknown[]).map((item) => codec.toJson(item, context))
  if (value === undefined) return presence === 'oneof' ? undefined : null
  // In Go, missing bytes are nil.
  if (codec.toJson === bytesCodec.toJson && codec.isZero(value)) return null
  return codec.toJson(value, context)
}

function fieldFromJson({ codec, presence, zero }: NamedField, json: Json, context: JsonContext, path: string): unknown {
  if (json === null) return zero
  if (presence !== 'repeated') return codec.fromJson(json, context, path)
  if (!Array.isArray(json)) throw wrongForm(path, 'an array')
  return json.map((item: Json, index) => codec.fromJson(item, context, `${path}[${index}]`))
}

/** Converts `minSelfDelegation` to `min_self_delegation`. */
function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
