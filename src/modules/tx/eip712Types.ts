import { type Address, toBech32 } from '../../primitives/address.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { MessageTable } from '../message.ts'
import { legacyMessageTypes } from './eip712LegacyTypes.ts'
import type { NativeMessage } from './nativeTransaction.ts'
import { type StructType, type TypedData, typeName } from './typedData.ts'

type JsonObject = { readonly [name: string]: Json }

/** As many types of one name, with other members, may there be (cosmos/evm's maxDuplicateTypeDefs). */
const MAX_SAME_NAME = 1000

const COIN: StructType = [
  { name: 'denom', type: 'string' },
  { name: 'amount', type: 'string' },
]

/**
 * Typed data of a StdSignDoc in the present encoding: each message is a member `msg0`, `msg1`, … of the transaction, with
 * types derived from its JSON. Undefined where there are too many types.
 */
export function flatTypedData(doc: JsonObject): TypedData | undefined {
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

/** Adds the types of an object and of what is in it; gives the name of its own. */
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
    // A null and an array of arrays have no type; with them the data cannot be hashed.
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

/** A type under the first name with a number that is free, or has the same members. */
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
 * Typed data of a StdSignDoc in the older encoding, which only takes messages of one type: they stay in an array, types are
 * derived from the first message's fields, and the fee names who pays it. Undefined for other messages.
 */
export function legacyTypedData(
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
