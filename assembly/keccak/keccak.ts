// keccak-256, on Keccak-f[1600] (FIPS 202, section 3.3), written for V8: the 25 lanes stay in memory and alternate between two
// states, in a loop of two rounds. Lanes in local variables, or more rounds unrolled, are slower: registers spill, and the code
// outgrows the processor's cache of decoded instructions.
//
// Six lanes are stored complemented (the Keccak team's "lane complementing"), which leaves one negation in most rows of χ.
import { copyWord } from '../evm/word'

/** The lane (x, y) is at 8 × (x + 5y). Six lanes are complemented, between permutations too. */
const state = memory.data(200, 16)
const other = memory.data(200, 16)

const constants = memory.data<u64>([
  0x0000000000000001,
  0x0000000000008082,
  0x800000000000808a,
  0x8000000080008000,
  0x000000000000808b,
  0x0000000080000001,
  0x8000000080008081,
  0x8000000000008009,
  0x000000000000008a,
  0x0000000000000088,
  0x0000000080008009,
  0x000000008000000a,
  0x000000008000808b,
  0x800000000000008b,
  0x8000000000008089,
  0x8000000000008003,
  0x8000000000008002,
  0x8000000000000080,
  0x000000000000800a,
  0x800000008000000a,
  0x8000000080008081,
  0x8000000000008080,
  0x0000000080000001,
  0x8000000080008008,
])

/** Begins a hash: all lanes are zero. */
// @ts-ignore: decorator
@inline
function clearState(): void {
  for (let i: usize = 0; i < 200; i += 8) store<u64>(state + i, 0)
  // The complemented lanes: 1, 2, 8, 12, 17, 20.
  store<u64>(state, u64.MAX_VALUE, 8)
  store<u64>(state, u64.MAX_VALUE, 16)
  store<u64>(state, u64.MAX_VALUE, 64)
  store<u64>(state, u64.MAX_VALUE, 96)
  store<u64>(state, u64.MAX_VALUE, 136)
  store<u64>(state, u64.MAX_VALUE, 160)
}

/**
 * The 24 rounds, two at a time. A round waits for the parities of the columns (c). Each is complete when its lane of the row that is
 * written last is; the order of the rows is the one that was fastest.
 */
function permute(): void {
  let c0 = load<u64>(state, 0) ^ load<u64>(state, 40) ^ load<u64>(state, 80) ^ load<u64>(state, 120) ^ load<u64>(state, 160)
  let c1 = load<u64>(state, 8) ^ load<u64>(state, 48) ^ load<u64>(state, 88) ^ load<u64>(state, 128) ^ load<u64>(state, 168)
  let c2 = load<u64>(state, 16) ^ load<u64>(state, 56) ^ load<u64>(state, 96) ^ load<u64>(state, 136) ^ load<u64>(state, 176)
  let c3 = load<u64>(state, 24) ^ load<u64>(state, 64) ^ load<u64>(state, 104) ^ load<u64>(state, 144) ^ load<u64>(state, 184)
  let c4 = load<u64>(state, 32) ^ load<u64>(state, 72) ^ load<u64>(state, 112) ^ load<u64>(state, 152) ^ load<u64>(state, 192)
  for (let round: usize = 0; round < 192; round += 16) {
    let e: u64
    let b0: u64
    let b1: u64
    let b2: u64
    let b3: u64
    let b4: u64
    let d0: u64
    let d1: u64
    let d2: u64
    let d3: u64
    let d4: u64

    d0 = c4 ^ rotl<u64>(c1, 1)
    d1 = c0 ^ rotl<u64>(c2, 1)
    d2 = c1 ^ rotl<u64>(c3, 1)
    d3 = c2 ^ rotl<u64>(c4, 1)
    d4 = c3 ^ rotl<u64>(c0, 1)

    b0 = rotl<u64>(load<u64>(state, 8) ^ d1, 1)
    b1 = rotl<u64>(load<u64>(state, 56) ^ d2, 6)
    b2 = rotl<u64>(load<u64>(state, 104) ^ d3, 25)
    b3 = rotl<u64>(load<u64>(state, 152) ^ d4, 8)
    b4 = rotl<u64>(load<u64>(state, 160) ^ d0, 18)
    store<u64>(other, b0 ^ (b1 | b2), 80)
    store<u64>(other, b1 ^ (b2 & b3), 88)
    store<u64>(other, b2 ^ (~b3 & b4), 96)
    store<u64>(other, ~b3 ^ (b4 | b0), 104)
    store<u64>(other, b4 ^ (b0 & b1), 112)

    b0 = rotl<u64>(load<u64>(state, 32) ^ d4, 27)
    b1 = rotl<u64>(load<u64>(state, 40) ^ d0, 36)
    b2 = rotl<u64>(load<u64>(state, 88) ^ d1, 10)
    b3 = rotl<u64>(load<u64>(state, 136) ^ d2, 15)
    b4 = rotl<u64>(load<u64>(state, 184) ^ d3, 56)
    store<u64>(other, b0 ^ (b1 & b2), 120)
    store<u64>(other, b1 ^ (b2 | b3), 128)
    store<u64>(other, b2 ^ (~b3 | b4), 136)
    store<u64>(other, ~b3 ^ (b4 & b0), 144)
    store<u64>(other, b4 ^ (b0 | b1), 152)

    b0 = rotl<u64>(load<u64>(state, 16) ^ d2, 62)
    b1 = rotl<u64>(load<u64>(state, 64) ^ d3, 55)
    b2 = rotl<u64>(load<u64>(state, 112) ^ d4, 39)
    b3 = rotl<u64>(load<u64>(state, 120) ^ d0, 41)
    b4 = rotl<u64>(load<u64>(state, 168) ^ d1, 2)
    store<u64>(other, b0 ^ (~b1 & b2), 160)
    store<u64>(other, ~b1 ^ (b2 | b3), 168)
    store<u64>(other, b2 ^ (b3 & b4), 176)
    store<u64>(other, b3 ^ (b4 | b0), 184)
    store<u64>(other, b4 ^ (b0 & b1), 192)

    b0 = load<u64>(state, 0) ^ d0
    b1 = rotl<u64>(load<u64>(state, 48) ^ d1, 44)
    b2 = rotl<u64>(load<u64>(state, 96) ^ d2, 43)
    b3 = rotl<u64>(load<u64>(state, 144) ^ d3, 21)
    b4 = rotl<u64>(load<u64>(state, 192) ^ d4, 14)
    store<u64>(other, b0 ^ (b1 | b2) ^ load<u64>(constants + round, 0), 0)
    store<u64>(other, b1 ^ (~b2 | b3), 8)
    store<u64>(other, b2 ^ (b3 & b4), 16)
    store<u64>(other, b3 ^ (b4 | b0), 24)
    store<u64>(other, b4 ^ (b0 & b1), 32)

    b0 = rotl<u64>(load<u64>(state, 24) ^ d3, 28)
    b1 = rotl<u64>(load<u64>(state, 72) ^ d4, 20)
    b2 = rotl<u64>(load<u64>(state, 80) ^ d0, 3)
    b3 = rotl<u64>(load<u64>(state, 128) ^ d1, 45)
    b4 = rotl<u64>(load<u64>(state, 176) ^ d2, 61)
    e = b0 ^ (b1 | b2)
    store<u64>(other, e, 40)
    c0 = load<u64>(other, 0) ^ load<u64>(other, 80) ^ load<u64>(other, 120) ^ load<u64>(other, 160) ^ e
    e = b1 ^ (b2 & b3)
    store<u64>(other, e, 48)
    c1 = load<u64>(other, 8) ^ load<u64>(other, 88) ^ load<u64>(other, 128) ^ load<u64>(other, 168) ^ e
    e = b2 ^ (b3 | ~b4)
    store<u64>(other, e, 56)
    c2 = load<u64>(other, 16) ^ load<u64>(other, 96) ^ load<u64>(other, 136) ^ load<u64>(other, 176) ^ e
    e = b3 ^ (b4 | b0)
    store<u64>(other, e, 64)
    c3 = load<u64>(other, 24) ^ load<u64>(other, 104) ^ load<u64>(other, 144) ^ load<u64>(other, 184) ^ e
    e = b4 ^ (b0 & b1)
    store<u64>(other, e, 72)
    c4 = load<u64>(other, 32) ^ load<u64>(other, 112) ^ load<u64>(other, 152) ^ load<u64>(other, 192) ^ e

    d0 = c4 ^ rotl<u64>(c1, 1)
    d1 = c0 ^ rotl<u64>(c2, 1)
    d2 = c1 ^ rotl<u64>(c3, 1)
    d3 = c2 ^ rotl<u64>(c4, 1)
    d4 = c3 ^ rotl<u64>(c0, 1)

    b0 = rotl<u64>(load<u64>(other, 8) ^ d1, 1)
    b1 = rotl<u64>(load<u64>(other, 56) ^ d2, 6)
    b2 = rotl<u64>(load<u64>(other, 104) ^ d3, 25)
    b3 = rotl<u64>(load<u64>(other, 152) ^ d4, 8)
    b4 = rotl<u64>(load<u64>(other, 160) ^ d0, 18)
    store<u64>(state, b0 ^ (b1 | b2), 80)
    store<u64>(state, b1 ^ (b2 & b3), 88)
    store<u64>(state, b2 ^ (~b3 & b4), 96)
    store<u64>(state, ~b3 ^ (b4 | b0), 104)
    store<u64>(state, b4 ^ (b0 & b1), 112)

    b0 = rotl<u64>(load<u64>(other, 32) ^ d4, 27)
    b1 = rotl<u64>(load<u64>(other, 40) ^ d0, 36)
    b2 = rotl<u64>(load<u64>(other, 88) ^ d1, 10)
    b3 = rotl<u64>(load<u64>(other, 136) ^ d2, 15)
    b4 = rotl<u64>(load<u64>(other, 184) ^ d3, 56)
    store<u64>(state, b0 ^ (b1 & b2), 120)
    store<u64>(state, b1 ^ (b2 | b3), 128)
    store<u64>(state, b2 ^ (~b3 | b4), 136)
    store<u64>(state, ~b3 ^ (b4 & b0), 144)
    store<u64>(state, b4 ^ (b0 | b1), 152)

    b0 = rotl<u64>(load<u64>(other, 16) ^ d2, 62)
    b1 = rotl<u64>(load<u64>(other, 64) ^ d3, 55)
    b2 = rotl<u64>(load<u64>(other, 112) ^ d4, 39)
    b3 = rotl<u64>(load<u64>(other, 120) ^ d0, 41)
    b4 = rotl<u64>(load<u64>(other, 168) ^ d1, 2)
    store<u64>(state, b0 ^ (~b1 & b2), 160)
    store<u64>(state, ~b1 ^ (b2 | b3), 168)
    store<u64>(state, b2 ^ (b3 & b4), 176)
    store<u64>(state, b3 ^ (b4 | b0), 184)
    store<u64>(state, b4 ^ (b0 & b1), 192)

    b0 = load<u64>(other, 0) ^ d0
    b1 = rotl<u64>(load<u64>(other, 48) ^ d1, 44)
    b2 = rotl<u64>(load<u64>(other, 96) ^ d2, 43)
    b3 = rotl<u64>(load<u64>(other, 144) ^ d3, 21)
    b4 = rotl<u64>(load<u64>(other, 192) ^ d4, 14)
    store<u64>(state, b0 ^ (b1 | b2) ^ load<u64>(constants + round, 8), 0)
    store<u64>(state, b1 ^ (~b2 | b3), 8)
    store<u64>(state, b2 ^ (b3 & b4), 16)
    store<u64>(state, b3 ^ (b4 | b0), 24)
    store<u64>(state, b4 ^ (b0 & b1), 32)

    b0 = rotl<u64>(load<u64>(other, 24) ^ d3, 28)
    b1 = rotl<u64>(load<u64>(other, 72) ^ d4, 20)
    b2 = rotl<u64>(load<u64>(other, 80) ^ d0, 3)
    b3 = rotl<u64>(load<u64>(other, 128) ^ d1, 45)
    b4 = rotl<u64>(load<u64>(other, 176) ^ d2, 61)
    e = b0 ^ (b1 | b2)
    store<u64>(state, e, 40)
    c0 = load<u64>(state, 0) ^ load<u64>(state, 80) ^ load<u64>(state, 120) ^ load<u64>(state, 160) ^ e
    e = b1 ^ (b2 & b3)
    store<u64>(state, e, 48)
    c1 = load<u64>(state, 8) ^ load<u64>(state, 88) ^ load<u64>(state, 128) ^ load<u64>(state, 168) ^ e
    e = b2 ^ (b3 | ~b4)
    store<u64>(state, e, 56)
    c2 = load<u64>(state, 16) ^ load<u64>(state, 96) ^ load<u64>(state, 136) ^ load<u64>(state, 176) ^ e
    e = b3 ^ (b4 | b0)
    store<u64>(state, e, 64)
    c3 = load<u64>(state, 24) ^ load<u64>(state, 104) ^ load<u64>(state, 144) ^ load<u64>(state, 184) ^ e
    e = b4 ^ (b0 & b1)
    store<u64>(state, e, 72)
    c4 = load<u64>(state, 32) ^ load<u64>(state, 112) ^ load<u64>(state, 152) ^ load<u64>(state, 192) ^ e
  }
}

/** Bytes a permutation takes in. */
const RATE: u32 = 136

/** Adds `lanes` lanes of input to the state. */
// @ts-ignore: decorator
@inline
function absorb(data: usize, lanes: u32): void {
  const end = lanes << 3
  for (let i: usize = 0; i < end; i += 8) store<u64>(state + i, load<u64>(state + i) ^ load<u64>(data + i))
}

/**
 * Returns the last `count` (1 to 7) bytes of an input, the first of them in the lowest bits. Reads
 * nothing outside of the input.
 */
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

/**
 * Computes keccak-256 (Keccak's original padding) of `length` bytes, written as a word: the last
 * byte of the hash first.
 */
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

// Hashes of 64 bytes: by these Solidity and Vyper find the slots of mappings, and the same few keys are hashed again and again.
// So hashes are remembered, in a table by a mix of the key's bytes, where a new key replaces the one that had its entry.

const KEY_LENGTH: u32 = 64
const ENTRIES: u32 = 1024
/** The bytes that were hashed, then the hash as a word. */
const ENTRY_SIZE: usize = 96
const HASH: usize = 64

const hashes: usize = heap.alloc(<usize>ENTRIES * ENTRY_SIZE)

// at first every entry holds the key of zeros with its hash: correct in all of them, found in one
for (let index: usize = 0; index < <usize>ENTRIES; index++) {
  const entry = hashes + index * ENTRY_SIZE
  memory.fill(entry, 0, <usize>KEY_LENGTH)
  keccak256(entry, KEY_LENGTH, entry + HASH)
}

// @ts-ignore: decorator
@inline
function indexOf(bytes: usize): usize {
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
  for (let at: usize = 0; at < <usize>KEY_LENGTH; at += 16) {
    difference |= (load<u64>(a + at) ^ load<u64>(b + at)) | (load<u64>(a + at, 8) ^ load<u64>(b + at, 8))
  }
  return difference === 0
}

/** Writes the hash of 64 bytes as a word. */
export function hashMappingKey(bytes: usize, out: usize): void {
  const entry = hashes + indexOf(bytes) * ENTRY_SIZE
  if (!areEqual(entry, bytes)) {
    memory.copy(entry, bytes, <usize>KEY_LENGTH)
    keccak256(bytes, KEY_LENGTH, entry + HASH)
  }
  copyWord(out, entry + HASH)
}
