import { createRequire } from 'node:module'
import {
  decodeTransaction,
  encodeForSigning,
  encodeTransaction,
  type Transaction,
  type UnsignedTransaction,
} from '../src/chain/block/transaction.ts'
import { bytesToBigInt } from '../src/primitives/bytes.ts'
import { type Hash, keccak256 } from '../src/primitives/hash.ts'

/** Signs as the node's own `signDigest` does (RFC 6979, low s) in a fifteenth of the time: tests sign ten thousands of transactions. */
const { ecdsaSign } = createRequire(import.meta.url)('secp256k1') as {
  ecdsaSign(digest: Uint8Array, privateKey: Uint8Array): { readonly signature: Uint8Array; readonly recid: number }
}

/** The hash to sign for an unsigned transaction. */
export function unsignedHash(transaction: UnsignedTransaction): Hash {
  return keccak256(encodeForSigning(transaction))
}

/** Signs with a private key of 32 bytes and returns the decoded transaction. */
export function signEvmTransaction(transaction: UnsignedTransaction, privateKey: Uint8Array): Transaction {
  const { signature, recid } = ecdsaSign(unsignedHash(transaction), privateKey)
  const [r, s] = [bytesToBigInt(signature.subarray(0, 32)), bytesToBigInt(signature.subarray(32))]
  let v = BigInt(recid)
  if (transaction.type === 0) v += transaction.chainId === undefined ? 27n : transaction.chainId * 2n + 35n
  return decodeTransaction(encodeTransaction(transaction, { v, r, s }))
}
