import { createRequire } from 'node:module'
import {
  type Authorization,
  buildTransaction,
  encodeForSigning,
  encodeTransaction,
  type UnsignedTransaction,
} from '../../src/chain/block/transaction.ts'
import { authorizationHash } from '../../src/evm/authorization.ts'
import type { Address } from '../../src/primitives/address.ts'
import { bytesToBigInt, bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { publicKeyToAddress } from '../../src/primitives/secp256k1.ts'

/** The native library: signing 20,000 transactions takes a second. */
const native = createRequire(import.meta.url)('secp256k1') as {
  ecdsaSign(digest: Uint8Array, key: Uint8Array): { signature: Uint8Array; recid: number }
  publicKeyCreate(key: Uint8Array, compressed: boolean): Uint8Array
}

export const CHAIN_ID = 76287n
export const GWEI = 10n ** 9n

export interface Account {
  readonly key: Uint8Array
  readonly address: Address
}

/** A transaction as `eth_sendRawTransaction` takes it. */
export interface Signed {
  readonly raw: string
  readonly hash: string
}

/** Returns the same account for the same name in every run. */
export function accountOf(name: string): Account {
  return accountWithKey(keccak256(new TextEncoder().encode(name)))
}

/** Returns the account of a private key. */
export function accountWithKey(key: Uint8Array): Account {
  return { key, address: publicKeyToAddress(native.publicKeyCreate(key, false).subarray(1)) }
}

/** The first of the development accounts that coind's devnet and anvil fund alike. */
export const FUNDER = accountWithKey(hexToBytes('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'))

/** Returns the compressed public key, 33 bytes. */
export function publicKeyOf({ key }: Account): Uint8Array {
  return native.publicKeyCreate(key, true)
}

/** Returns r and s of a signature over a digest. */
export function signDigest({ key }: Account, digest: Uint8Array): Uint8Array {
  return native.ecdsaSign(digest, key).signature
}

/** Signs an EIP-7702 authorization. */
export function signAuthorization(
  account: Account,
  { chainId, address, nonce }: Pick<Authorization, 'chainId' | 'address' | 'nonce'>,
): Authorization {
  const digest = authorizationHash({ chainId, address, nonce })
  const { signature, recid } = native.ecdsaSign(digest, account.key)
  const [r, s] = [signature.subarray(0, 32), signature.subarray(32)].map(bytesToBigInt) as [bigint, bigint]
  return { chainId, address, nonce, yParity: BigInt(recid), r, s }
}

/** Signs a type 2 transaction; the fees are enough for a full chain. */
export function sign(account: Account, fields: Partial<UnsignedTransaction>): Signed {
  const transaction = buildTransaction({
    type: 2,
    chainId: CHAIN_ID,
    gasLimit: 21_000n,
    maxFeePerGas: 200n * GWEI,
    maxPriorityFeePerGas: GWEI,
    ...fields,
  })
  const { signature, recid } = native.ecdsaSign(keccak256(encodeForSigning(transaction)), account.key)
  const raw = encodeTransaction(transaction, {
    v: BigInt(recid),
    r: bytesToBigInt(signature.subarray(0, 32)),
    s: bytesToBigInt(signature.subarray(32)),
  })
  return { raw: bytesToHex(raw), hash: bytesToHex(keccak256(raw)) }
}
