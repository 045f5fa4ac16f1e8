// keccak-256 for the node itself (src/primitives/keccak.ts), in a module of its own: what is written to its memory is hashed there by
// one call, without copies of the input or of the hash.
import { keccak256 } from './keccak'
import { reverseWord } from '../evm/word'

const LONGEST = 1 << 16

const input = memory.data(LONGEST, 16)
const hash = memory.data(32, 16)

/** Address of the bytes to hash. */
export function inputAddress(): usize {
  return input
}

/** Returns how many bytes there is room for. */
export function inputSize(): u32 {
  return LONGEST
}

/** Address of the last hash. */
export function hashAddress(): usize {
  return hash
}

/** Hashes the first `length` bytes of the input. */
export function hashInput(length: u32): void {
  keccak256(input, length, hash)
  reverseWord(hash, hash)
}
