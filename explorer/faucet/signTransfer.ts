import { concatBytes, EMPTY_BYTES } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { encodeRLP, type RLPInput } from '../../src/primitives/rlp.ts'
import { signDigest } from '../../src/primitives/secp256k1.ts'

/** Coins for an account. */
interface Transfer {
  readonly chainId: bigint
  readonly nonce: number
  readonly to: Uint8Array
  /** acoin */
  readonly value: bigint
  readonly gas: bigint
  /** acoin per gas */
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** EIP-2718's type of EIP-1559. */
const TYPE = Uint8Array.of(2)

/** The transaction of type 2 (EIP-1559) that does this, and its hash. */
export function signTransfer(
  { chainId, nonce, to, value, gas, maxFeePerGas, maxPriorityFeePerGas }: Transfer,
  privateKey: Uint8Array,
): { readonly raw: Uint8Array; readonly hash: Uint8Array } {
  const accessList: readonly RLPInput[] = []
  const fields = [chainId, BigInt(nonce), maxPriorityFeePerGas, maxFeePerGas, gas, to, value, EMPTY_BYTES, accessList]
  const { r, s, yParity } = signDigest(keccak256(concatBytes(TYPE, encodeRLP(fields))), privateKey)
  const raw = concatBytes(TYPE, encodeRLP([...fields, BigInt(yParity), r, s]))
  return { raw, hash: keccak256(raw) }
}
