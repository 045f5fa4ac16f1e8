import { createKeccak, createRIPEMD160, createSHA256 } from 'hash-wasm'
import { EMPTY_BYTES } from './bytes.ts'

/** The 32-byte result of a hash function. */
export type Hash = Uint8Array & { readonly __hash?: 'Hash' }

const keccak = await createKeccak(256)
const sha = await createSHA256()
const ripemd = await createRIPEMD160()

/** keccak-256 in WebAssembly, about eight times as fast as @noble/hashes. Returns a new array of 32 bytes. */
export function keccak256(data: Uint8Array): Hash {
  return keccak.init().update(outsideHeap(data)).digest('binary')
}

/** The longest array that V8 keeps within its heap. */
const MAX_ON_HEAP = 64
const small = new ArrayBuffer(MAX_ON_HEAP)
const smallArrays = Array.from({ length: MAX_ON_HEAP + 1 }, (_, length) => new Uint8Array(small, 0, length))

/**
 * A copy of a small array. The library accesses its input's buffer, for which V8 would permanently move a small array out of its heap;
 * that costs the garbage collector more time than the hashing takes.
 */
function outsideHeap(data: Uint8Array): Uint8Array {
  if (data.length > MAX_ON_HEAP) return data
  const copy = smallArrays[data.length]!
  copy.set(data)
  return copy
}

export function sha256(data: Uint8Array): Hash {
  return sha.init().update(data).digest('binary')
}

/** 20 bytes */
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
