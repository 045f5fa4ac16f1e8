// Hashes of 64 bytes, which is how Solidity and Vyper find the slots of mappings: the same few keys are hashed over and over.
// Each place of the table keeps the newest hash that fell on it, for as long as the instance lives.
import { keccak256 } from './keccak'
import { copyWord } from './wordAccess'

const LENGTH: u32 = 64
const PLACES: u32 = 1024
/** The bytes that were hashed, then the hash as a word. */
const PLACE_SIZE: usize = 96
const HASH: usize = 64

const table: usize = heap.alloc(<usize>PLACES * PLACE_SIZE)

// at first every place holds the hash of zeros, which is true, if of use on one place only
for (let place: usize = 0; place < <usize>PLACES; place++) {
  const entry = table + place * PLACE_SIZE
  memory.fill(entry, 0, <usize>LENGTH)
  keccak256(entry, LENGTH, entry + HASH)
}

// @ts-ignore: decorator
@inline
function placeOf(bytes: usize): usize {
  let mixed = load<u64>(bytes, 24) ^ (load<u64>(bytes, 16) * 0x9e3779b97f4a7c15)
  mixed = (mixed ^ load<u64>(bytes, 56)) * 0xbf58476d1ce4e5b9 + load<u64>(bytes, 8)
  mixed = (mixed ^ load<u64>(bytes, 40)) * 0x94d049bb133111eb + load<u64>(bytes, 48)
  mixed = (mixed ^ load<u64>(bytes) ^ load<u64>(bytes, 32)) * 0x9e3779b97f4a7c15
  return <usize>(mixed >> 54)
}

// @ts-ignore: decorator
@inline
function areEqual(a: usize, b: usize): bool {
  let difference: u64 = 0
  for (let at: usize = 0; at < <usize>LENGTH; at += 16) {
    difference |= (load<u64>(a + at) ^ load<u64>(b + at)) | (load<u64>(a + at, 8) ^ load<u64>(b + at, 8))
  }
  return difference === 0
}

/** Writes the hash of 64 bytes as a word. */
export function hashMappingKey(bytes: usize, out: usize): void {
  const entry = table + placeOf(bytes) * PLACE_SIZE
  if (!areEqual(entry, bytes)) {
    memory.copy(entry, bytes, <usize>LENGTH)
    keccak256(bytes, LENGTH, entry + HASH)
  }
  copyWord(out, entry + HASH)
}
