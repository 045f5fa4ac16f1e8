import { createKeccak, createRIPEMD160, createSHA256 } from 'hash-wasm'
import { EMPTY_BYTES } from './bytes.ts'
import { keccakInput, keccakOfInput, writeInput } from './keccak.ts'

/** The 32-byte result of a hash function. */
export type Hash = Uint8Array & { readonly __hash?: 'Hash' }

const keccak = await createKeccak(256)
const sha = await createSHA256()
const ripemd = await createRIPEMD160()

/** Computes keccak-256 in WebAssembly. Returns a new array of 32 bytes. */
export function keccak256(data: Uint8Array): Hash {
  // Our own module has room for most inputs; longer ones go through the library in pieces.
  if (data.length > keccakInput.length) return keccak.init().update(data).digest('binary')
  writeInput(data)
  return keccakOfInput(data.length)
}

export function sha256(data: Uint8Array): Hash {
  return sha.init().update(data).digest('binary')
}

/** Returns 20 bytes. */
export function ripemd160(data: Uint8Array): Uint8Array {
  return ripemd.init().update(data).digest('binary')
}

export const ZERO_HASH: Hash = new Uint8Array(32)
/** keccak256 of no bytes: the code hash of an account without code. */
export const EMPTY_CODE_HASH: Hash = keccak256(EMPTY_BYTES)
/** Root of an empty Merkle-Patricia trie: keccak256(rlp("")). */
export const EMPTY_TRIE_ROOT: Hash = keccak256(Uint8Array.of(0x80))
/** keccak256(rlp([])): the uncles hash of a block without uncles. */
export const EMPTY_UNCLES_HASH: Hash = keccak256(Uint8Array.of(0xc0))

/**
 * @throws TypeError when `bytes` is not 32 bytes long
 */
export function toHash(bytes: Uint8Array): Hash {
  if (bytes.length !== 32) throw new TypeError(`a hash is 32 bytes, not ${bytes.length}`)
  return bytes
}
