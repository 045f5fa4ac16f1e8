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
import { type AnyValue, anyCodec, decodeContent } from '../../primitives/protoSchema.ts'
import { formatTimestamp } from '../../primitives/timeText.ts'
import { Coin } from '../coin.ts'
import type { MessageTable } from '../message.ts'
import { ANY_TYPES, type AnyType } from '../messageTable.ts'
import {
  Ed25519PubKey,
  EthSecp256k1PubKey,
  FOREIGN_ETH_SECP256K1_PUB_KEYS,
  LegacyAminoPubKey,
  Secp256k1PubKey,
} from './publicKey.ts'

/** The most levels of messages inside messages. */
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
  // Several codecs have the same type of value; they are distinguished by identity.
  const known: unknown = codec
  if (known === anyCodec) return anyToAmino(value as AnyValue, messages, depth + 1)
  if (DIGITS.includes(known)) return (value as bigint).toString()
  if (known === decimalCodec) return formatDecimal(value as bigint)
  if (known === timestampCodec) return formatTimestamp(value as bigint)
  if (known === bytesCodec) return Buffer.from(value as Uint8Array).toString('base64')
  return value as string | number | boolean
}

/** A message with its amino name around it. */
export function anyToAmino(any: AnyValue, messages: MessageTable, depth = 0): Json {
  const { typeUrl } = any
  const handler = messages.get(typeUrl)
  const known = handler === undefined ? AMINO_TYPES.get(typeUrl) : { type: handler.type, aminoName: handler.aminoName }
  if (known?.aminoName === undefined) throw new ProtobufError(`${typeUrl} has no amino name`)
  return { type: known.aminoName, value: valueInAny(known.type, decodeContent(known.type, any), messages, depth) }
}

/** The value inside an Any; public keys have forms of their own. */
function valueInAny(type: AnyMessageType, value: unknown, messages: MessageTable, depth: number): Json {
  if (KEY_TYPES.has(type.typeUrl)) {
    const { key } = value as { readonly key: Uint8Array }
    return key.length === 0 ? null : Buffer.from(key).toString('base64')
  }
  if (type.typeUrl !== LegacyAminoPubKey.typeUrl) return messageToAmino(type, value, messages, depth)
  const { threshold, publicKeys } = value as ReturnType<typeof LegacyAminoPubKey.decode>
  return { threshold: threshold.toString(), pubkeys: publicKeys.map((key) => anyToAmino(key, messages, depth + 1)) }
}

/**
 * Fields with the option `amino.dont_omitempty` in the SDK's .proto files, except those that are written anyway (custom number
 * types and nested messages): an empty list in them is null. Lists of coins that are not named here have the option
 * `legacy_coins` too: an empty one stays a list.
 */
const ALWAYS_WRITTEN: Readonly<Record<string, readonly string[]>> = {
  'cosmos.bank.v1beta1.MsgMultiSend': ['inputs', 'outputs'],
  'cosmos.gov.v1.MsgDeposit': ['proposal_id', 'amount'],
  'cosmos.gov.v1.MsgVote': ['proposal_id'],
  'cosmos.gov.v1.MsgVoteWeighted': ['proposal_id'],
  'cosmos.gov.v1.Params': ['min_deposit', 'expedited_min_deposit'],
  'cosmos.gov.v1beta1.MsgDeposit': ['proposal_id'],
  'cosmos.gov.v1beta1.MsgVoteWeighted': ['proposal_id', 'options'],
  'cosmos.params.v1beta1.ParameterChangeProposal': ['changes'],
  'cosmos.slashing.v1beta1.MsgUnjail': ['validator_addr'],
  'cosmos.vesting.v1beta1.MsgCreatePeriodicVestingAccount': ['vesting_periods'],
}

/** The name of a message's oneof, and the amino names of its members by field. */
const ONEOFS: Readonly<Record<string, { readonly group: string; readonly types: Readonly<Record<string, string>> }>> = {
  'cosmos.staking.v1beta1.StakeAuthorization': {
    group: 'Validators',
    types: {
      allow_list: 'cosmos-sdk/StakeAuthorization/AllowList',
      deny_list: 'cosmos-sdk/StakeAuthorization/DenyList',
    },
  },
}

/** Fields with another name in amino JSON (the option `amino.field_name`). */
const FIELD_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'cosmos.slashing.v1beta1.MsgUnjail': { validator_addr: 'address' },
  'cosmos.crypto.multisig.LegacyAminoPubKey': { public_keys: 'pubkeys' },
}

/** A field's name in amino JSON. @param messageName e.g. `cosmos.bank.v1beta1.MsgSend` */
export function aminoFieldName(messageName: string, jsonName: string): string {
  return FIELD_NAMES[messageName]?.[jsonName] ?? jsonName
}

/** Keys that amino JSON writes as their bytes alone. */
const KEYS: readonly AnyType[] = [
  { type: Secp256k1PubKey, aminoName: 'tendermint/PubKeySecp256k1' },
  { type: Ed25519PubKey, aminoName: 'tendermint/PubKeyEd25519' },
  ...[EthSecp256k1PubKey, ...FOREIGN_ETH_SECP256K1_PUB_KEYS].map((type) => ({
    type,
    aminoName: 'os/PubKeyEthSecp256k1',
  })),
]
export const KEY_TYPES: ReadonlySet<string> = new Set(KEYS.map(({ type }) => type.typeUrl))

/** The types that an Any inside a message may have besides messages, by type URL. */
export const AMINO_TYPES: ReadonlyMap<string, AnyType> = new Map([
  ...ANY_TYPES,
  ...[...KEYS, { type: LegacyAminoPubKey, aminoName: 'tendermint/PubKeyMultisigThreshold' }].map(
    (entry) => [entry.type.typeUrl, entry] as const,
  ),
])
