import { bytesKeyOf, bytesToBigInt, writeBigInt } from '../primitives/bytes.ts'
import { type Hash, toHash } from '../primitives/hash.ts'
import type { Account } from './reader.ts'
import { decodeList, encodeHeader } from './trieRlp.ts'

/** Nonce of 8 bytes, balance of 32, two hashes, a header of up to 3 bytes each. */
const scratch = new Uint8Array(160)
const HASH_ITEM = 33

/**
 * Value of an account's leaf in the state trie, as a string: RLP of [nonce, balance, storage root, code hash].
 * @param storageRoot 32 bytes as a string
 */
export function encodeAccountLeaf({ nonce, balance, codeHash }: Account, storageRoot: string): string {
  // The list of an account has more than 55 bytes and less than 256: its header takes two.
  let at = writeInteger(2, nonce)
  at = writeInteger(at, balance)
  if (at > 2 + 9 + 33) throw new RangeError('a nonce has at most 8 bytes, a balance 32')
  scratch[at++] = 0xa0
  for (let i = 0; i < 32; i++) scratch[at++] = storageRoot.charCodeAt(i)
  scratch[at++] = 0xa0
  for (let i = 0; i < 32; i++) scratch[at++] = codeHash[i]!
  encodeHeader(scratch, 0, at - 2, 0xc0)
  return bytesKeyOf(scratch, 0, at)
}

/** Writes an integer's RLP and gives the position after it. */
function writeInteger(at: number, value: bigint): number {
  const end = writeBigInt(scratch, at + 1, value)
  const length = end - at - 1
  if (length === 1 && scratch[at + 1]! < 0x80) {
    scratch[at] = scratch[at + 1]!
    return at + 1
  }
  scratch[at] = 0x80 + length
  return end
}

/** The storage root, as a string, in a leaf that {@link encodeAccountLeaf} made. */
export function storageRootIn(leaf: string): string {
  return leaf.slice(leaf.length - HASH_ITEM - 32, leaf.length - HASH_ITEM)
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
