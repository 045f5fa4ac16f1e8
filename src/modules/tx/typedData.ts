import { concatBytes } from '../../primitives/bytes.ts'
import { type Hash, keccak256 } from '../../primitives/hash.ts'
import type { Json } from '../../primitives/protoScalars.ts'

/** Members of a struct type, in the order in which they are hashed. */
export type StructType = readonly { readonly name: string; readonly type: string }[]

/** Typed data of EIP-712; the message's type is `Tx`. */
export interface TypedData {
  readonly types: ReadonlyMap<string, StructType>
  readonly message: { readonly [name: string]: Json }
}

/** The name of the type at a path of a message: `_.value.min_self_delegation` -> `TypeValueMinSelfDelegation`. */
export function typeName(path: string): string {
  const [, ...parts] = path.split('.')
  const words = parts.flatMap((part) => part.split('_'))
  return `Type${words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')}`
}

const DOMAIN_TYPE: StructType = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'string' },
  { name: 'salt', type: 'string' },
]

const utf8 = new TextEncoder()

/** The two hashes in the digest of typed data; devices that sign it get them instead of the data. */
export interface TypedDataHashes {
  readonly domain: Hash
  readonly message: Hash
}

/** Returns the digest of typed data, which is what a wallet signs. */
export function typedDataDigest({ domain, message }: TypedDataHashes): Hash {
  return keccak256(concatBytes(Uint8Array.of(0x19, 0x01), domain, message))
}

/**
 * The hashes of typed data that may have been signed (EIP-712). None where the data does not fit the types or a member has no
 * type: wallets refuse to sign it. These are go-ethereum's rules (signer/core/apitypes), which wallets of these chains follow.
 * go-ethereum writes a type without members as `Name)`, other libraries as `Name()`: with such a type there are two of each.
 */
export function typedDataHashes(
  data: TypedData,
  domain: { readonly [name: string]: Json },
): readonly TypedDataHashes[] {
  const types = new Map([...data.types, ['EIP712Domain', DOMAIN_TYPE]])
  const hasEmptyType = [...types.values()].some((members) => members.length === 0)
  const forms = hasEmptyType ? ['()', ')'] : ['()']
  return forms.flatMap((noMembers) => {
    const encoding = { types, noMembers, typeHashes: new Map() }
    const separator = hashStruct('EIP712Domain', domain, encoding)
    const message = hashStruct('Tx', data.message, encoding)
    if (separator === undefined || message === undefined) return []
    return [{ domain: separator, message }]
  })
}

interface Encoding {
  readonly types: ReadonlyMap<string, StructType>
  /** what follows the name of a type without members */
  readonly noMembers: string
  /** hashes of the types that were met so far: a list has many values of one type */
  readonly typeHashes: Map<string, Hash>
}

function hashStruct(name: string, value: Json | undefined, encoding: Encoding): Hash | undefined {
  const members = encoding.types.get(name)
  if (members === undefined || !isObject(value)) return undefined
  if (Object.keys(value).length > members.length) return undefined
  const parts = [typeHash(name, encoding)]
  for (const member of members) {
    const part = Object.hasOwn(value, member.name) ? encodeValue(member.type, value[member.name], encoding) : undefined
    if (part === undefined) return undefined
    parts.push(part)
  }
  return keccak256(concatBytes(...parts))
}

function typeHash(name: string, encoding: Encoding): Hash {
  let hash = encoding.typeHashes.get(name)
  if (hash === undefined) {
    hash = keccak256(utf8.encode(encodeType(name, encoding)))
    encoding.typeHashes.set(name, hash)
  }
  return hash
}

function isObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `Tx(…)` and the types that it refers to, these in the order of their names. */
function encodeType(name: string, { types, noMembers }: Encoding): string {
  const found = new Set<string>()
  collectTypes(name, types, found)
  found.delete(name)
  const text = (type: string) => {
    const members = types.get(type)!.map((member) => `${member.type} ${member.name}`)
    return members.length === 0 ? `${type}${noMembers}` : `${type}(${members.join(',')})`
  }
  return [name, ...[...found].sort()].map(text).join('')
}

function collectTypes(type: string, types: Encoding['types'], found: Set<string>): void {
  const name = type.endsWith('[]') ? type.slice(0, -2) : type
  const members = types.get(name)
  if (members === undefined || found.has(name)) return
  found.add(name)
  for (const member of members) collectTypes(member.type, types, found)
}

/** 32 bytes */
function encodeValue(type: string, value: Json | undefined, encoding: Encoding): Uint8Array | undefined {
  if (type.endsWith('[]')) {
    if (!Array.isArray(value)) return undefined
    const items = value.map((item: Json) => encodeValue(type.slice(0, -2), item, encoding))
    return items.some((item) => item === undefined) ? undefined : keccak256(concatBytes(...(items as Uint8Array[])))
  }
  if (encoding.types.has(type)) return hashStruct(type, value, encoding)
  if (type === 'string') return typeof value === 'string' ? keccak256(utf8.encode(value)) : undefined
  if (type === 'bool') return typeof value === 'boolean' ? word(value ? 1n : 0n) : undefined
  const bounds = /^(u?)int(\d+)$/.exec(type)
  return bounds === null ? undefined : encodeInteger(value, bounds[1] !== 'u', Number(bounds[2]))
}

/** A JSON number or the digits of one. */
function encodeInteger(value: Json | undefined, isSigned: boolean, bits: number): Uint8Array | undefined {
  const isInteger =
    typeof value === 'number' ? Number.isSafeInteger(value) : typeof value === 'string' && /^-?\d{1,80}$/.test(value)
  if (!isInteger) return undefined
  const integer = BigInt(value as string | number)
  const fits = isSigned ? BigInt.asIntN(bits, integer) === integer : BigInt.asUintN(bits, integer) === integer
  return fits ? word(integer) : undefined
}

function word(integer: bigint): Uint8Array {
  const out = new Uint8Array(32)
  let rest = BigInt.asUintN(256, integer)
  for (let i = 31; i >= 0; i--) {
    out[i] = Number(rest & 0xffn)
    rest >>= 8n
  }
  return out
}
