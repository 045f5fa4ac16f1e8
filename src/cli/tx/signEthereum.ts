import { ConfigError } from '../../config/configError.ts'
import { bytesToBigInt, concatBytes, equalBytes } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { DecodingError, decodeRLP, encodeRLP, type RLPItem } from '../../primitives/rlp.ts'
import { compressPublicKey, recoverPublicKey } from '../../primitives/secp256k1.ts'
import type { Signer } from '../keys/signer.ts'

/** Fields of typed transactions (EIP-2718) before their signature, by type: access list, dynamic fee, set code. No blobs. */
const TYPED_FIELDS: ReadonlyMap<number, number> = new Map([
  [0x01, 8],
  [0x02, 9],
  [0x04, 10],
])
/** Where an unsigned legacy transaction has its chain ID; two zeros follow (EIP-155). */
const LEGACY_CHAIN_ID = 6

/**
 * Signs an Ethereum transaction.
 * @param unsigned its envelope without signature, as Ethereum's libraries serialize it
 * @returns the signed envelope
 * @throws ConfigError when the bytes are not an unsigned transaction, or have no replay protection
 */
export async function signEthereum(unsigned: Uint8Array, signer: Signer): Promise<Uint8Array> {
  const type = unsigned[0] ?? 0
  const typedFields = TYPED_FIELDS.get(type)
  const isTyped = typedFields !== undefined
  const fields = readFields(isTyped ? unsigned.subarray(1) : unsigned)
  const chainId = isTyped ? undefined : fields[LEGACY_CHAIN_ID]
  const isUnsigned = isTyped
    ? fields.length === typedFields
    : fields.length === LEGACY_CHAIN_ID + 3 && chainId instanceof Uint8Array && chainId.length > 0
  if (!isUnsigned) {
    throw new ConfigError('not an unsigned transaction of type 0 (with its chain ID, EIP-155), 1, 2 or 4')
  }
  const signature = await signer.signEthereum(unsigned)
  const r = bytesToBigInt(signature.subarray(0, 32))
  const s = bytesToBigInt(signature.subarray(32, 64))
  const yParity = parityOf(keccak256(unsigned), r, s, signer.key.key)
  if (isTyped) return concatBytes(Uint8Array.of(type), encodeRLP([...fields, BigInt(yParity), r, s]))
  const v = bytesToBigInt(chainId as Uint8Array) * 2n + 35n + BigInt(yParity)
  return encodeRLP([...fields.slice(0, LEGACY_CHAIN_ID), v, r, s])
}

function readFields(rlp: Uint8Array): readonly RLPItem[] {
  let item: RLPItem
  try {
    item = decodeRLP(rlp)
  } catch (error) {
    if (error instanceof DecodingError) throw new ConfigError(`not an Ethereum transaction: ${error.message}`)
    throw error
  }
  if (item instanceof Uint8Array) throw new ConfigError('not an Ethereum transaction: a list is missing')
  return item
}

/** @throws ConfigError when the signature is not the key's */
function parityOf(digest: Uint8Array, r: bigint, s: bigint, publicKey: Uint8Array): 0 | 1 {
  const found = ([0, 1] as const).find((parity) => {
    const point = recoverPublicKey(digest, parity, r, s)
    return point !== undefined && equalBytes(compressPublicKey(point), publicKey)
  })
  if (found === undefined) throw new ConfigError('the signature does not match the key')
  return found
}
