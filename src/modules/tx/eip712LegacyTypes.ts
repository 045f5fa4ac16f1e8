import {
  type AnyMessageType,
  boolCodec,
  bytesCodec,
  decimalCodec,
  durationCodec,
  int64Codec,
  integerCodec,
  stringCodec,
  timestampCodec,
  uint32Codec,
  uint64Codec,
} from '../../primitives/protoScalars.ts'
import { type AnyValue, anyCodec } from '../../primitives/protoSchema.ts'
import type { MessageTable } from '../message.ts'
import { AMINO_TYPES, aminoFieldName, KEY_TYPES } from './aminoTypes.ts'
import type { NativeMessage } from './nativeTransaction.ts'
import { type StructType, typeName } from './typedData.ts'

type Field = AnyMessageType['fields'][number]

/** Types of the older encoding while they are found. */
interface Collector {
  readonly types: Map<string, { name: string; type: string }[]>
  readonly messages: MessageTable
}

/**
 * The struct types of a message in the older EIP-712 encoding: `MsgValue` and one for every path of nested messages. Members
 * are in the order of the .proto file; those without a value are left out.
 */
export function legacyMessageTypes(
  { handler, value }: NativeMessage,
  messages: MessageTable,
): ReadonlyMap<string, StructType> {
  const collector: Collector = { types: new Map(), messages }
  collect(collector, 'MsgValue', '_', handler.type, value)
  return collector.types
}

function collect(collector: Collector, name: string, path: string, type: AnyMessageType, value: unknown): void {
  const members: { name: string; type: string }[] = []
  collector.types.set(name, members)
  for (const field of type.fields) {
    const member = (value as Record<string, unknown>)[field.name]
    const sample = field.presence === 'repeated' ? (member as readonly unknown[])[0] : member
    if (sample === undefined || (field.presence === 'plain' && isEmpty(field, sample))) continue
    const jsonName = aminoFieldName(type.typeUrl.slice(1), field.jsonName)
    const memberType = typeOf(collector, `${path}.${jsonName}`, field, sample)
    members.push({ name: jsonName, type: field.presence === 'repeated' ? `${memberType}[]` : memberType })
  }
}

/** Go's zero value of the field, by which the older encoding tells that it is not in the JSON. */
function isEmpty({ codec }: Field, value: unknown): boolean {
  const type = codec.messageType?.()
  if (type === undefined) return codec.isZero(value)
  return type.fields.every((field) => {
    const member = (value as Record<string, unknown>)[field.name]
    if (field.presence === 'repeated') return (member as readonly unknown[]).length === 0
    return member === undefined || (field.presence === 'plain' && isEmpty(field, member))
  })
}

/** Types of Go's fields as EIP-712 types. */
const SCALARS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [stringCodec, 'string'],
  [boolCodec, 'bool'],
  [bytesCodec, 'uint8[]'],
  [int64Codec, 'int64'],
  [uint64Codec, 'uint64'],
  [uint32Codec, 'uint32'],
  [integerCodec, 'string'],
  [decimalCodec, 'string'],
  [timestampCodec, 'string'],
  [durationCodec, 'int64'],
])

function typeOf(collector: Collector, path: string, { codec }: Field, value: unknown): string {
  const scalar = SCALARS.get(codec)
  if (scalar !== undefined) return scalar
  const type = codec.messageType?.()
  const name = typeName(path)
  if (type !== undefined) {
    if (!collector.types.has(name)) collect(collector, name, path, type, value)
    return name
  }
  if ((codec as unknown) !== anyCodec) return 'int32' // an enum
  const { typeUrl, value: encoded } = value as AnyValue
  const inner = collector.messages.get(typeUrl)?.type ?? AMINO_TYPES.get(typeUrl)?.type
  const members: { name: string; type: string }[] = [{ name: 'type', type: 'string' }]
  collector.types.set(name, members)
  if (inner === undefined) return name
  if (KEY_TYPES.has(typeUrl)) {
    members.push({ name: 'value', type: 'string' })
  } else {
    members.push({ name: 'value', type: typeName(`${path}.value`) })
    collect(collector, typeName(`${path}.value`), `${path}.value`, inner, inner.decode(encoded))
  }
  return name
}
