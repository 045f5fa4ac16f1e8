import { formatDecimal } from '../../primitives/decimal.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import {
  type AnyMessageType,
  bytesCodec,
  decimalCodec,
  durationCodec,
  int64Codec,
  integerCodec,
  type Json,
  timestampCodec,
  uint64Codec,
  type ValueCodec,
} from '../../primitives/protoScalars.ts'
import { type AnyValue, anyCodec } from '../../primitives/protoSchema.ts'
import { formatTimestamp } from '../../primitives/timeText.ts'
import { Coin } from '../coin.ts'
import type { MessageTable } from '../message.ts'
import { ALWAYS_WRITTEN, AMINO_TYPES, aminoFieldName, KEY_TYPES, ONEOFS } from './aminoTypes.ts'
import { LegacyAminoPubKey } from './publicKey.ts'

/** Messages inside messages that amino JSON goes down to. */
const MAX_DEPTH = 16

/**
 * A message in the JSON that LEGACY_AMINO_JSON signs (x/tx/signing/aminojson of the Cosmos SDK), without its own type: names
 * of the .proto file, 64-bit integers and durations in strings, enums as numbers, fields left out when they are zero unless
 * the .proto file says otherwise.
 * @throws ProtobufError when an Any inside is of an unknown type, or does not decode
 */
export function messageToAmino(type: AnyMessageType, value: unknown, messages: MessageTable, depth = 0): Json {
  if (depth > MAX_DEPTH) throw new ProtobufError('nested too deeply')
  const writer: Writer = { messages, depth }
  const name = type.typeUrl.slice(1)
  const always = ALWAYS_WRITTEN[name] ?? []
  const oneof = ONEOFS[name]
  const out: Record<string, Json> = oneof === undefined ? {} : { [oneof.group]: null }
  for (const field of type.fields) {
    const member = (value as Record<string, unknown>)[field.name]
    const isAlwaysWritten = always.includes(field.jsonName)
    if (isOmitted(field, member) && !isAlwaysWritten) continue
    const json = isAlwaysWritten && isEmptyList(field, member) ? null : fieldToAmino(field, member, writer)
    if (oneof === undefined || field.presence !== 'oneof') out[aminoFieldName(name, field.jsonName)] = json
    else out[oneof.group] = { type: oneof.types[field.jsonName]!, value: { [field.jsonName]: json } }
  }
  return out
}

type Field = AnyMessageType['fields'][number]

interface Writer {
  readonly messages: MessageTable
  readonly depth: number
}

function isEmptyList({ presence }: Field, value: unknown): boolean {
  return presence === 'repeated' && (value as readonly unknown[]).length === 0
}

function isOmitted(field: Field, value: unknown): boolean {
  const { codec, presence } = field
  // Lists of coins are written even when they are empty ("legacy_coins").
  if (presence === 'repeated') return isEmptyList(field, value) && codec.messageType?.() !== Coin
  return value === undefined || (presence === 'plain' && codec.isZero(value))
}

function fieldToAmino({ codec, presence }: Field, value: unknown, writer: Writer): Json {
  if (presence !== 'repeated') return valueToAmino(codec, value, writer)
  return (value as readonly unknown[]).map((item) => valueToAmino(codec, item, writer))
}

/** Codecs whose values amino writes as digits in a string. */
const DIGITS: readonly unknown[] = [int64Codec, uint64Codec, integerCodec, durationCodec]

function valueToAmino(codec: ValueCodec<unknown>, value: unknown, { messages, depth }: Writer): Json {
  const type = codec.messageType?.()
  if (type !== undefined) return messageToAmino(type, value, messages, depth + 1)
  // Codecs of one type of value are told apart by identity.
  const known: unknown = codec
  if (known === anyCodec) return anyToAmino(value as AnyValue, messages, depth + 1)
  if (DIGITS.includes(known)) return (value as bigint).toString()
  if (known === decimalCodec) return formatDecimal(value as bigint)
  if (known === timestampCodec) return formatTimestamp(value as bigint)
  if (known === bytesCodec) return Buffer.from(value as Uint8Array).toString('base64')
  return value as string | number | boolean
}

/** A message with its amino name around it. */
function anyToAmino({ typeUrl, value }: AnyValue, messages: MessageTable, depth = 0): Json {
  const handler = messages.get(typeUrl)
  const known = handler === undefined ? AMINO_TYPES.get(typeUrl) : { type: handler.type, aminoName: handler.aminoName }
  if (known?.aminoName === undefined) throw new ProtobufError(`${typeUrl} has no amino name`)
  return { type: known.aminoName, value: valueInAny(known.type, known.type.decode(value), messages, depth) }
}

/** Keys have forms of their own. */
function valueInAny(type: AnyMessageType, value: unknown, messages: MessageTable, depth: number): Json {
  if (KEY_TYPES.has(type.typeUrl)) {
    const { key } = value as { readonly key: Uint8Array }
    return key.length === 0 ? null : Buffer.from(key).toString('base64')
  }
  if (type.typeUrl !== LegacyAminoPubKey.typeUrl) return messageToAmino(type, value, messages, depth)
  const { threshold, publicKeys } = value as ReturnType<typeof LegacyAminoPubKey.decode>
  return { threshold: threshold.toString(), pubkeys: publicKeys.map((key) => anyToAmino(key, messages, depth + 1)) }
}
