import { clearState, permute, state } from './keccakPermutation'

/** Bytes a permutation takes in. */
const RATE: u32 = 136

/** Adds `lanes` lanes of input to the state. */
// @ts-ignore: decorator
@inline
function absorb(data: usize, lanes: u32): void {
  const end = lanes << 3
  for (let i: usize = 0; i < end; i += 8) store<u64>(state + i, load<u64>(state + i) ^ load<u64>(data + i))
}

/** The last `count` (1 to 7) bytes of an input, the first of them lowest. Reads nothing outside of the input. */
function lastBytes(end: usize, count: u32, length: u32): u64 {
  if (length >= 8) return load<u64>(end - 8) >>> u64(64 - (count << 3))
  let bytes: u64 = 0
  for (let i: u32 = 1; i <= count; i++) bytes = (bytes << 8) | u64(load<u8>(end - i))
  return bytes
}

// @ts-ignore: decorator
@inline
function reversedBytes(a: v128): v128 {
  return v128.shuffle<u8>(a, a, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

/** keccak-256 (Keccak's original padding) of `length` bytes, written as a word: the last byte of the hash first. */
export function keccak256(data: usize, length: u32, out: usize): void {
  let left = length
  clearState()
  while (left >= RATE) {
    absorb(data, RATE >>> 3)
    permute()
    data += RATE
    left -= RATE
  }
  const lanes = left >>> 3
  const rest = left & 7
  absorb(data, lanes)
  let padded: u64 = u64(1) << u64(rest << 3)
  if (rest != 0) padded |= lastBytes(data + left, rest, length)
  const lane = state + (lanes << 3)
  store<u64>(lane, load<u64>(lane) ^ padded)
  store<u64>(state, load<u64>(state, 128) ^ 0x8000000000000000, 128)
  permute()
  // Lanes 1 and 2 are complemented.
  const high = i64x2(load<i64>(state), ~load<i64>(state, 8))
  const low = i64x2(~load<i64>(state, 16), load<i64>(state, 24))
  v128.store(out, reversedBytes(low))
  v128.store(out, reversedBytes(high), 16)
}
