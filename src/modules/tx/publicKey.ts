import type { Address } from '../../primitives/address.ts'
import { concatBytes, EMPTY_BYTES, equalBytes, hexToBytes } from '../../primitives/bytes.ts'
import { ripemd160, sha256 } from '../../primitives/hash.ts'
import { ProtobufError, ProtobufWriter } from '../../primitives/protobuf.ts'
import type { AnyMessageType } from '../../primitives/protoScalars.ts'
import {
  type AnyValue,
  any,
  bytes,
  defineMessage,
  repeated,
  uint32,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { decompressPublicKey, publicKeyToAddress } from '../../primitives/secp256k1.ts'
import { isSdkError, type Outcome, sdkError } from '../sdkError.ts'

/** A key that can sign native transactions. */
export type PublicKey = SingleKey | MultisigKey

export interface SingleKey {
  /** `ethSecp256k1`: keccak-256 is signed, and the address is derived with it; `secp256k1`: the Cosmos SDK's own, with sha-256 */
  readonly kind: 'ethSecp256k1' | 'secp256k1'
  /** compressed, 33 bytes */
  readonly key: Uint8Array
  readonly address: Address
}

/** cosmos.crypto.multisig.LegacyAminoPubKey */
export interface MultisigKey {
  readonly kind: 'multisig'
  readonly threshold: number
  readonly keys: readonly PublicKey[]
  /** as CosmJS derives it, with a prefix for every member */
  readonly address: Address
  /** as the Go clients of cosmos/evm derive it, without a prefix for members of eth_secp256k1 */
  readonly goAddress: Address
}

/** Declares the message of a single key: one field, the key's bytes. */
const keyMessage = (name: string) => defineMessage(name, { key: bytes(1) })
type KeyMessage = ReturnType<typeof keyMessage>

export const Secp256k1PubKey: KeyMessage = keyMessage('cosmos.crypto.secp256k1.PubKey')
/** the type of consensus keys */
export const Ed25519PubKey: KeyMessage = keyMessage('cosmos.crypto.ed25519.PubKey')
/** The type of eth_secp256k1 keys on this chain. */
export const EthSecp256k1PubKey: KeyMessage = keyMessage('cosmos.evm.crypto.v1.ethsecp256k1.PubKey')
/** The types of the same keys on other chains. */
export const FOREIGN_ETH_SECP256K1_PUB_KEYS: readonly KeyMessage[] = [
  keyMessage('ethermint.crypto.v1.ethsecp256k1.PubKey'),
  keyMessage('injective.crypto.v1beta1.ethsecp256k1.PubKey'),
]

/** cosmos.crypto.multisig.LegacyAminoPubKey */
export const LegacyAminoPubKey = defineMessage('cosmos.crypto.multisig.LegacyAminoPubKey', {
  threshold: uint32(1),
  publicKeys: repeated(any(2)),
})

/** The types of keys of accounts. */
export const ACCOUNT_KEY_TYPES: readonly AnyMessageType[] = [
  LegacyAminoPubKey,
  Secp256k1PubKey,
  EthSecp256k1PubKey,
  ...FOREIGN_ETH_SECP256K1_PUB_KEYS,
]

const KINDS: ReadonlyMap<string, SingleKey['kind']> = new Map([
  [Secp256k1PubKey.typeUrl, 'secp256k1'],
  ...[EthSecp256k1PubKey, ...FOREIGN_ETH_SECP256K1_PUB_KEYS].map(({ typeUrl }) => [typeUrl, 'ethSecp256k1'] as const),
])

/** The first bytes of keys in amino's binary form, which only the address of a multisig needs. */
const AMINO_PREFIXES = {
  ethSecp256k1: hexToBytes('5d7423df'),
  secp256k1: hexToBytes('eb5ae987'),
  multisig: hexToBytes('22c1f7e2'),
} as const
type Prefixes = Readonly<Record<PublicKey['kind'], Uint8Array>>
/** In Go, multisigs use a codec of their own, in which the keys of cosmos/evm are not registered. */
const GO_PREFIXES: Prefixes = { ...AMINO_PREFIXES, ethSecp256k1: EMPTY_BYTES }

/** The most levels of multisigs inside multisigs. */
const MAX_DEPTH = 4

/** How many keys may still be read, members of multisigs included: reading each takes time. */
export interface KeyBudget {
  keys: number
}

/**
 * Reads a key of a SignerInfo. The errors are the SDK's: unknown types do not decode (2), others are invalid (8), or too many
 * (14).
 */
export function readPublicKey({ typeUrl, value }: AnyValue, budget: KeyBudget, depth = 0): Outcome<PublicKey> {
  const kind = KINDS.get(typeUrl)
  if (kind === undefined && typeUrl !== LegacyAminoPubKey.typeUrl) {
    return sdkError('txDecode', `unable to resolve type URL ${typeUrl}`)
  }
  try {
    if (kind === undefined) return multisigKey(LegacyAminoPubKey.decode(value), budget, depth + 1)
    if (budget.keys-- <= 0) return sdkError('tooManySignatures')
    // All kinds have the same fields.
    return singleKey(kind, Secp256k1PubKey.decode(value).key)
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('txDecode', error.message)
  }
}

export function singleKey(kind: SingleKey['kind'], key: Uint8Array): Outcome<SingleKey> {
  const point = decompressPublicKey(key)
  if (point === undefined) return sdkError('invalidPubKey', 'not a compressed point of secp256k1')
  const address = kind === 'ethSecp256k1' ? publicKeyToAddress(point) : ripemd160(sha256(key))
  return { kind, key, address }
}

function multisigKey(
  message: ValueOf<typeof LegacyAminoPubKey>,
  budget: KeyBudget,
  depth: number,
): Outcome<MultisigKey> {
  if (depth > MAX_DEPTH || message.publicKeys.length > budget.keys) return sdkError('tooManySignatures')
  const keys: PublicKey[] = []
  for (const member of message.publicKeys) {
    const key = readPublicKey(member, budget, depth)
    if (isSdkError(key)) return key
    keys.push(key)
  }
  const { threshold } = message
  if (threshold === 0 || threshold > keys.length) {
    return sdkError('invalidPubKey', `a multisig of ${keys.length} keys cannot have the threshold ${threshold}`)
  }
  const addressBy = (prefixes: Prefixes) =>
    sha256(aminoBytes({ kind: 'multisig', threshold, keys }, prefixes)).slice(0, 20)
  return { kind: 'multisig', threshold, keys, address: addressBy(AMINO_PREFIXES), goAddress: addressBy(GO_PREFIXES) }
}

/** A key in amino's binary form. */
function aminoBytes(
  key: Omit<SingleKey, 'address'> | Pick<MultisigKey, 'kind' | 'threshold' | 'keys'>,
  prefixes: Prefixes,
): Uint8Array {
  const prefix = prefixes[key.kind]
  if (key.kind !== 'multisig') return concatBytes(prefix, Uint8Array.of(key.key.length), key.key)
  const members = key.keys.map((member) => aminoBytes(member, prefixes))
  return concatBytes(prefix, new ProtobufWriter().varint(1, key.threshold).repeatedBytes(2, members).finish())
}

/** Whether a key is that of an account. */
export function hasAddress(key: PublicKey, address: Address): boolean {
  return equalBytes(key.address, address) || (key.kind === 'multisig' && equalBytes(key.goAddress, address))
}

/** How many single keys a key consists of: the limit of signatures counts them (the SDK's CountSubKeys). */
export function countKeys(key: PublicKey): number {
  return key.kind === 'multisig' ? key.keys.reduce((sum, member) => sum + countKeys(member), 0) : 1
}

/** The key as this chain stores and shows it. */
export function publicKeyToAny(key: PublicKey): AnyValue {
  if (key.kind === 'multisig') {
    const { threshold, keys } = key
    const value = LegacyAminoPubKey.encode({ threshold, publicKeys: keys.map(publicKeyToAny) })
    return { typeUrl: LegacyAminoPubKey.typeUrl, value }
  }
  const type = key.kind === 'ethSecp256k1' ? EthSecp256k1PubKey : Secp256k1PubKey
  return { typeUrl: type.typeUrl, value: type.encode({ key: key.key }) }
}
