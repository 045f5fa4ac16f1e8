// The hash of the account and slot tables: multilinear over 32-bit pieces with secret 64-bit factors (Lemire and Kaser,
// "Strongly universal string hashing is fast"), so that nobody can choose keys that fall into one bucket. The factors
// come from a seed that differs from instance to instance; nothing but time depends on them.

const FACTORS: usize = 10
const factors: usize = heap.alloc(FACTORS * 8)

/** splitmix64, as a source of factors. */
export function seedTables(seed: u64): void {
  for (let i: usize = 0; i < FACTORS; i++) {
    seed += 0x9e3779b97f4a7c15
    let z = seed
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb
    store<u64>(factors + (i << 3), z ^ (z >> 31))
  }
}

/** Of a word and a number; the upper bits are good. */
export function hashWord(word: usize, owner: u32): u32 {
  let sum = load<u64>(factors) + load<u64>(factors, 8) * <u64>owner
  sum += load<u64>(factors, 16) * <u64>load<u32>(word)
  sum += load<u64>(factors, 24) * <u64>load<u32>(word, 4)
  sum += load<u64>(factors, 32) * <u64>load<u32>(word, 8)
  sum += load<u64>(factors, 40) * <u64>load<u32>(word, 12)
  sum += load<u64>(factors, 48) * <u64>load<u32>(word, 16)
  sum += load<u64>(factors, 56) * <u64>load<u32>(word, 20)
  sum += load<u64>(factors, 64) * <u64>load<u32>(word, 24)
  sum += load<u64>(factors, 72) * <u64>load<u32>(word, 28)
  return <u32>(sum >> 32)
}

/** Of 20 bytes. */
export function hashAddress(address: usize): u32 {
  let sum = load<u64>(factors)
  sum += load<u64>(factors, 16) * <u64>load<u32>(address)
  sum += load<u64>(factors, 24) * <u64>load<u32>(address, 4)
  sum += load<u64>(factors, 32) * <u64>load<u32>(address, 8)
  sum += load<u64>(factors, 40) * <u64>load<u32>(address, 12)
  sum += load<u64>(factors, 48) * <u64>load<u32>(address, 16)
  return <u32>(sum >> 32)
}
