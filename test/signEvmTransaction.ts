import {
  decodeTransaction,
  encodeForSigning,
  encodeTransaction,
  type Transaction,
  type UnsignedTransaction,
} from '../src/chain/transaction.ts'
import { type Hash, keccak256 } from '../src/primitives/hash.ts'
import { signDigest } from '../src/primitives/secp256k1.ts'

/** The hash to sign for an unsigned transaction. */
export function unsignedHash(transaction: UnsignedTransaction): Hash {
  return keccak256(encodeForSigning(transaction))
}

/** Signs with a private key of 32 bytes and returns the decoded transaction. */
export function signEvmTransaction(transaction: UnsignedTransaction, privateKey: Uint8Array): Transaction {
  const { r, s, yParity } = signDigest(unsignedHash(transaction), privateKey)
  let v = BigInt(yParity)
  if (transaction.type === 0) v += transaction.chainId === undefined ? 27n : transaction.chainId * 2n + 35n
  return decodeTransaction(encodeTransaction(transaction, { v, r, s }))
}
