import { type Address, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import {
  type AnyMessageType,
  boolCodec,
  bytesCodec,
  decimalCodec,
  durationCodec,
  int64Codec,
  integerCodec,
  type Json,
  stringCodec,
  timestampCodec,
  uint32Codec,
  uint64Codec,
} from '../../primitives/protoScalars.ts'
import { type AnyValue, anyCodec, decodeContent } from '../../primitives/protoSchema.ts'
import type { MessageTable } from '../message.ts'
import { AMINO_TYPES, aminoFieldName, KEY_TYPES } from './aminoJson.ts'
import type { DecodedTransaction, NativeMessage } from './nativeTransaction.ts'
import { type StructType, type TypedData, type TypedDataHashes, typedDataHashes, typeName } from './typedData.ts'
import { SIGN_MODES } from './types.ts'

/**
 * The EIP-712 hashes that an Ethereum wallet may have signed instead of the transaction's sign bytes: that of the flat
 * encoding and that of the legacy one, both of the amino JSON, as cosmos/evm accepts them (ethereum/eip712). The list is empty
 * for transactions that these encodings cannot represent: messages of several signers, several signers in SIGN_MODE_DIRECT,
 * extension options, a timeout height, a fee payer or granter.
 */
export function eip712Hashes(
  decoded: DecodedTransaction,
  document: { json(sequence: bigint): JsonObject },
  { mode, sequence, evmChainId, messages }: TypedDataContext,
): readonly TypedDataHashes[] {
  const [signer, ...others] = decoded.messages.flatMap(({ handler, value }) => handler.signers(value))
  if (signer === undefined || others.some((other) => !equalBytes(other, signer))) return []
  if (mode === SIGN_MODES.SIGN_MODE_DIRECT && decoded.authInfo.signerInfos.length !== 1) return []
  const json = document.json(sequence)
  const typed = [flatTypedData(json), legacyTypedData(json, decoded.messages, signer, messages)]
  const domain = domainOf(evmChainId)
  return typed.flatMap((data) => (data === undefined ? [] : typedDataHashes(data, domain)))
}

interface TypedDataContext {
  readonly mode: number
  /** of the signer */
  readonly sequence: bigint
  readonly evmChainId: bigint
  readonly messages: MessageTable
}

/** The domain of all typed data: cosmos/evm has strings where EIP-712 has an address and 32 bytes. */
function domainOf(evmChainId: bigint): { readonly [name: string]: Json } {
  return {
    name: 'Cosmos Web3',
    version: '1.0.0',
    chainId: evmChainId.toString(),
    verifyingContract: 'cosmos',
    salt: '0',
  }
}

type JsonObject = { readonly [name: string]: Json }

/** The most types of one name with different members (cosmos/evm's maxDuplicateTypeDefs). */
const MAX_SAME_NAME = 1000

const COIN: StructType = [
  { name: 'denom', type: 'string' },
  { name: 'amount', type: 'string' },
]

/**
 * Typed data of a StdSignDoc in the flat encoding, which is the current one: each message is a member `msg0`, `msg1`, … of the transaction, with
 * types derived from its JSON. Undefined where there are too many types.
 */
function flatTypedData(doc: JsonObject): TypedData | undefined {
  const { msgs, ...rest } = doc
  const message: Record<string, Json> = { ...rest }
  const tx: { name: string; type: string }[] = [
    { name: 'account_number', type: 'string' },
    { name: 'chain_id', type: 'string' },
    { name: 'fee', type: 'Fee' },
    { name: 'memo', type: 'string' },
    { name: 'sequence', type: 'string' },
  ]
  const types = new Map<string, StructType>([
    [
      'Fee',
      [
        { name: 'amount', type: 'Coin[]' },
        { name: 'gas', type: 'string' },
      ],
    ],
    ['Coin', COIN],
  ])
  for (const [index, msg] of (msgs as readonly JsonObject[]).entries()) {
    const root = `Type${(msg['type'] as string).split('/').at(-1)}`
    const type = addTypes(types, root, '_', msg)
    if (type === undefined) return undefined
    message[`msg${index}`] = msg
    tx.push({ name: `msg${index}`, type })
  }
  types.set('Tx', tx)
  return { types, message }
}

/** Adds the types of an object and of its members. @returns the name of the object's type */
function addTypes(
  types: Map<string, StructType>,
  root: string,
  prefix: string,
  object: JsonObject,
): string | undefined {
  const members: { name: string; type: string }[] = []
  for (const name of Object.keys(object).sort().reverse()) {
    const value = object[name]!
    const isArray = Array.isArray(value)
    if (isArray && value.length === 0) {
      members.push({ name, type: 'string[]' })
      continue
    }
    const sample: Json = isArray ? (value[0] as Json) : value
    const type =
      primitiveType(sample) ?? (isPlainObject(sample) ? addTypes(types, root, `${prefix}.${name}`, sample) : null)
    if (type === undefined) return undefined
    // Null and an array of arrays have no type: data with them cannot be hashed.
    if (type !== null) members.push({ name, type: isArray ? `${type}[]` : type })
  }
  return addType(types, prefix === '_' ? root : typeName(prefix), members)
}

function primitiveType(value: Json): string | undefined {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return 'int64'
  return typeof value === 'string' ? 'string' : undefined
}

function isPlainObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Adds a type under the first numbered name that is free or has the same members. */
function addType(types: Map<string, StructType>, name: string, members: StructType): string | undefined {
  for (let number = 0; number < MAX_SAME_NAME; number++) {
    const numbered = `${name}${number}`
    const known = types.get(numbered)
    if (known === undefined) types.set(numbered, members)
    if (known === undefined || areEqual(known, members)) return numbered
  }
  return undefined
}

function areEqual(a: StructType, b: StructType): boolean {
  return a.length === b.length && a.every(({ name, type }, i) => name === b[i]!.name && type === b[i]!.type)
}

/**
 * Typed data of a StdSignDoc in the legacy encoding, for messages of one type: they stay in an array, their types are derived
 * from the first message's fields, and the fee names its payer. Undefined for messages of several types.
 */
function legacyTypedData(
  doc: JsonObject,
  nativeMessages: readonly NativeMessage[],
  signer: Address,
  messages: MessageTable,
): TypedData | undefined {
  const [first] = nativeMessages
  if (first === undefined || nativeMessages.some(({ handler }) => handler !== first.handler)) return undefined
  const types = new Map<string, StructType>([
    [
      'Tx',
      [
        { name: 'account_number', type: 'string' },
        { name: 'chain_id', type: 'string' },
        { name: 'fee', type: 'Fee' },
        { name: 'memo', type: 'string' },
        { name: 'msgs', type: 'Msg[]' },
        { name: 'sequence', type: 'string' },
      ],
    ],
    [
      'Fee',
      [
        { name: 'feePayer', type: 'string' },
        { name: 'amount', type: 'Coin[]' },
        { name: 'gas', type: 'string' },
      ],
    ],
    ['Coin', COIN],
    [
      'Msg',
      [
        { name: 'type', type: 'string' },
        { name: 'value', type: 'MsgValue' },
      ],
    ],
  ])
  for (const [name, members] of legacyMessageTypes(first, messages)) types.set(name, members)
  const fee = { ...(doc['fee'] as JsonObject), feePayer: toBech32(signer) }
  return { types, message: { ...doc, fee } }
}

type Field = AnyMessageType['fields'][number]

/** The types of the legacy encoding found so far. */
interface Collector {
  readonly types: Map<string, { name: string; type: string }[]>
  readonly messages: MessageTable
}

/**
 * The struct types of a message in the legacy encoding: `MsgValue` and one for every path of nested messages. Members are in
 * the order of the .proto file; those without a value are left out.
 */
function legacyMessageTypes(
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

/** Whether a field has Go's zero value: the legacy encoding leaves it out then. */
function isEmpty({ codec }: Field, value: unknown): boolean {
  const type = codec.messageType?.()
  if (type === undefined) return codec.isZero(value)
  return type.fields.every((field) => {
    const member = (value as Record<string, unknown>)[field.name]
    if (field.presence === 'repeated') return (member as readonly unknown[]).length === 0
    return member === undefined || (field.presence === 'plain' && isEmpty(field, member))
  })
}

/** The EIP-712 types of Go's scalar types. */
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
  const any = value as AnyValue
  const { typeUrl } = any
  const inner = collector.messages.get(typeUrl)?.type ?? AMINO_TYPES.get(typeUrl)?.type
  const members: { name: string; type: string }[] = [{ name: 'type', type: 'string' }]
  collector.types.set(name, members)
  if (inner === undefined) return name
  if (KEY_TYPES.has(typeUrl)) {
    members.push({ name: 'value', type: 'string' })
  } else {
    members.push({ name: 'value', type: typeName(`${path}.value`) })
    collect(collector, typeName(`${path}.value`), `${path}.value`, inner, decodeContent(inner, any))
  }
  return name
}
