// Moving words, and words to and from big-endian bytes.

// By limbs rather than by halves: a load of 16 bytes waits for two stores of 8 that have just been made.

// @ts-ignore: decorator
@inline
export function setLimbs(word: usize, limb0: u64, limb1: u64, limb2: u64, limb3: u64): void {
  store<u64>(word, limb0)
  store<u64>(word, limb1, 8)
  store<u64>(word, limb2, 16)
  store<u64>(word, limb3, 24)
}

// @ts-ignore: decorator
@inline
export function copyWord(to: usize, from: usize): void {
  setLimbs(to, load<u64>(from), load<u64>(from, 8), load<u64>(from, 16), load<u64>(from, 24))
}

// @ts-ignore: decorator
@inline
export function swapWords(a: usize, b: usize): void {
  const limb0 = load<u64>(a)
  const limb1 = load<u64>(a, 8)
  const limb2 = load<u64>(a, 16)
  const limb3 = load<u64>(a, 24)
  copyWord(a, b)
  setLimbs(b, limb0, limb1, limb2, limb3)
}

/** A word from a number. */
// @ts-ignore: decorator
@inline
export function setWord(word: usize, value: u64): void {
  setLimbs(word, value, 0, 0, 0)
}

// @ts-ignore: decorator
@inline
export function clearWord(word: usize): void {
  setWord(word, 0)
}

/** Turns 32 bytes around: big-endian bytes to a word, or a word to big-endian bytes. `to` may be `from`. */
// @ts-ignore: decorator
@inline
export function reverseWord(to: usize, from: usize): void {
  const low = v128.load(from)
  const high = v128.load(from, 16)
  v128.store(to, reversed(high))
  v128.store(to, reversed(low), 16)
}

// @ts-ignore: decorator
@inline
export function reversed(half: v128): v128 {
  return v128.shuffle<i8>(half, half, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

/** Whether the word is below 2^64: its lowest limb then is its value. */
// @ts-ignore: decorator
@inline
export function fitsU64(word: usize): bool {
  return (load<u64>(word, 8) | load<u64>(word, 16) | load<u64>(word, 24)) === 0
}

/** The word's value, or 2^64 - 1 when it is larger. */
// @ts-ignore: decorator
@inline
export function saturatedU64(word: usize): u64 {
  return fitsU64(word) ? load<u64>(word) : u64.MAX_VALUE
}

/** Writes the 20 bytes of an address from the lower part of a word. */
// @ts-ignore: decorator
@inline
export function addressOfWord(to: usize, word: usize): void {
  store<u32>(to, bswap<u32>(load<u32>(word, 16)))
  const low = v128.load(word)
  v128.store(to, reversed(low), 4)
}

/** The word of an address of 20 bytes. */
// @ts-ignore: decorator
@inline
export function wordOfAddress(to: usize, address: usize): void {
  v128.store(to, reversed(v128.load(address, 4)))
  store<u64>(to, <u64>bswap<u32>(load<u32>(address)), 16)
  store<u64>(to, 0, 24)
}
