import { bytesKey, concatBytes } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import { ProtobufError, type ProtobufWriter } from '../../primitives/protobuf.ts'
import {
  type AnyMessageType,
  bytesCodec,
  durationCodec,
  int64Codec,
  type ValueCodec,
  wrongForm,
} from '../../primitives/protoScalars.ts'
import {
  type AnyValue,
  anyCodec,
  defineMessage,
  type Field,
  isJsonObject,
  type MessageType,
} from '../../primitives/protoSchema.ts'
import { MESSAGES } from '../messageTable.ts'
import { AMINO_TYPES, aminoFieldName, KEY_TYPES } from './aminoJson.ts'

/*
 * The encoding of transactions before protobuf (tendermint/go-amino), which the Cosmos SDK keeps for old clients: protobuf's wire format with fields numbered
 * in the order of their declaration, durations as varints, and four bytes of the hash of a type's name where protobuf has an Any.
 */

/** A type by its name, and by the bytes that stand for it. */
interface AminoType {
  readonly type: AnyMessageType
  readonly name: string
  readonly prefix: Uint8Array
}

const PREFIX_BYTES = 4
const DISAMBIGUATION_BYTES = 3
/** No valid message is nested deeper. */
const MAX_DEPTH = 32

const TYPES: readonly AminoType[] = [
  ...[...MESSAGES.values()].flatMap(({ type, aminoName }) => (aminoName === undefined ? [] : [{ type, aminoName }])),
  ...AMINO_TYPES.values(),
].map(({ type, aminoName }) => ({ type, name: aminoName, prefix: aminoPrefix(aminoName) }))
// Of types with one name, as the keys of several chains, the first: this chain's.
const first = <K>(keyOf: (entry: AminoType) => K): ReadonlyMap<K, AminoType> =>
  new Map(TYPES.toReversed().map((entry) => [keyOf(entry), entry]))
const BY_URL = first(({ type }) => type.typeUrl)
const BY_NAME = first(({ name }) => name)
const BY_PREFIX = first(({ prefix }) => bytesKey(prefix))

/** The bytes of a registered name: of its SHA-256, without zeros, three are passed over and four taken. */
export function aminoPrefix(name: string): Uint8Array {
  const hash = sha256(new TextEncoder().encode(name))
  const start = hash.findIndex((byte) => byte !== 0) + DISAMBIGUATION_BYTES
  const from = hash.findIndex((byte, index) => index >= start && byte !== 0)
  return hash.slice(from, from + PREFIX_BYTES)
}

/** A message or key with its prefix; its JSON has its name. */
const aminoAnyCodec: ValueCodec<AnyValue> = {
  ...anyCodec,
  write: (writer, field, value) => void writer.repeatedBytes(field, [encodeAny(value)]),
  read: (raw) => {
    if (typeof raw === 'bigint') throw new ProtobufError('expected a registered type')
    return nested(() => decodeAny(raw))
  },
  fromJson: (json, context, path) =>
    nested(() => {
      const { type: name, value } = isJsonObject(json) ? json : {}
      const found = typeof name === 'string' ? BY_NAME.get(name) : undefined
      if (found === undefined) throw wrongForm(`${path}.type`, 'the amino name of a known type')
      const { type } = found
      if (KEY_TYPES.has(type.typeUrl)) {
        return {
          typeUrl: type.typeUrl,
          value: type.encode({ key: bytesCodec.fromJson(value ?? '', context, path) } as never),
        }
      }
      const content = aminoForm(type).fromJson(value ?? null, context, `${path}.value`)
      return { typeUrl: type.typeUrl, value: type.encode(content as never) }
    }),
}

function encodeAny({ typeUrl, value }: AnyValue): Uint8Array {
  const known = BY_URL.get(typeUrl)
  if (known === undefined) throw new ProtobufError(`${typeUrl} has no amino name`)
  const { type, prefix } = known
  const content = type.decode(value)
  if (!KEY_TYPES.has(typeUrl)) return concatBytes(prefix, aminoForm(type).encode(content))
  const { key } = content as { readonly key: Uint8Array }
  return concatBytes(prefix, Uint8Array.of(key.length), key)
}

let depth = 0

/** Reads the contents of a registered type, which may be another one. The depth has a limit, because deep nesting would exhaust the stack. */
function nested<T>(read: () => T): T {
  if (depth >= MAX_DEPTH) throw new ProtobufError('nested too deeply')
  depth++
  try {
    return read()
  } finally {
    depth--
  }
}

function decodeAny(raw: Uint8Array): AnyValue {
  const known = BY_PREFIX.get(bytesKey(raw.subarray(0, PREFIX_BYTES)))
  if (known === undefined) throw new ProtobufError('a prefix of no known type')
  const { type } = known
  const content = raw.subarray(PREFIX_BYTES)
  if (KEY_TYPES.has(type.typeUrl)) {
    if (content[0] !== content.length - 1) throw new ProtobufError('a key of another length than it says')
    return { typeUrl: type.typeUrl, value: type.encode({ key: content.slice(1) } as never) }
  }
  return { typeUrl: type.typeUrl, value: type.encode(aminoForm(type).decode(content) as never) }
}

/** Nanoseconds; in JSON their digits. */
const nanosecondsCodec: ValueCodec<bigint> = int64Codec

const FORMS = new Map<string, MessageType<unknown>>()

/** A message type in amino's encoding: its values are those of the type itself. @throws ProtobufError for one that has no such form */
export function aminoForm(type: AnyMessageType): MessageType<unknown> {
  const known = FORMS.get(type.typeUrl)
  if (known !== undefined) return known
  const name = type.typeUrl.slice(1)
  const fields = type.fields.map((field, index): [string, Field<unknown>] => {
    const { codec, presence } = field
    const zero = presence === 'plain' ? codec.zero : presence === 'repeated' ? [] : undefined
    if (presence === 'oneof') throw new ProtobufError(`${name} has no amino form`)
    return [field.name, { number: index + 1, codec: aminoCodec(codec, presence), presence, zero }]
  })
  const names = new Map(type.fields.map(({ jsonName }) => [aminoFieldName(name, jsonName), jsonName]))
  const plain = defineMessage(name, Object.fromEntries(fields)) as MessageType<unknown>
  const form: MessageType<unknown> = {
    ...plain,
    fromJson: (json, context, path) => {
      if (!isJsonObject(json)) throw wrongForm(path ?? '', 'an object')
      const renamed = Object.fromEntries(Object.entries(json).map(([key, value]) => [names.get(key) ?? key, value]))
      return plain.fromJson(renamed, context, path)
    },
  }
  FORMS.set(type.typeUrl, form)
  return form
}

function aminoCodec(codec: ValueCodec<unknown>, presence: Field<unknown>['presence']): ValueCodec<unknown> {
  const known: unknown = codec
  if (known === anyCodec) return aminoAnyCodec as ValueCodec<unknown>
  if (known === durationCodec) return nanosecondsCodec as ValueCodec<unknown>
  const inner = codec.messageType
  if (inner === undefined) return codec
  const form = (): MessageType<unknown> => aminoForm(inner())
  return {
    ...codec,
    get zero() {
      return codec.zero
    },
    // Encoded once: to ask before whether it is empty would double the work with each level of messages in one another.
    write: (writer: ProtobufWriter, field, value) => {
      const bytes = form().encode(value)
      if (bytes.length > 0 || presence !== 'plain') writer.repeatedBytes(field, [bytes])
    },
    read: (raw) => {
      if (typeof raw === 'bigint') throw new ProtobufError('expected a message')
      return form().decode(raw)
    },
    fromJson: (json, context, path) => form().fromJson(json, context, path),
  }
}
