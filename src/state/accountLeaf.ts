import { bigIntToMinimalBytes, bytesToBigInt } from '../primitives/bytes.ts'
import { type Hash, toHash } from '../primitives/hash.ts'
import type { Account } from './reader.ts'
import { decodeList, encodeList } from './trieRlp.ts'

/** Value of an account's leaf in the state trie: RLP of [nonce, balance, storage root, code hash]. */
export function encodeAccountLeaf(account: Account, storageRoot: Hash): Uint8Array {
  const { nonce, balance, codeHash } = account
  return encodeList([bigIntToMinimalBytes(nonce), bigIntToMinimalBytes(balance), storageRoot, codeHash])
}

/** @throws Error when `leaf` is not such a value */
export function decodeAccountLeaf(leaf: Uint8Array): { account: Account; storageRoot: Hash } {
  const [nonce, balance, storageRoot, codeHash, ...rest] = decodeList(leaf)
  if (
    nonce === undefined ||
    balance === undefined ||
    storageRoot === undefined ||
    codeHash === undefined ||
    rest.length
  ) {
    throw new Error('not an account leaf')
  }
  return {
    account: { nonce: bytesToBigInt(nonce), balance: bytesToBigInt(balance), codeHash: toHash(codeHash.slice()) },
    storageRoot: toHash(storageRoot.slice()),
  }
}
