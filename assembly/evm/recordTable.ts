// The records of accounts and slots that a run has looked at: where they are allocated, and the hash tables that find them.

// Allocation: one record after the other from chunks, all freed together when the run ends. A record never moves.

const CHUNK: usize = 1 << 18
const HEADER: usize = 16

const first: usize = heap.alloc(CHUNK)
let chunk: usize = first
let next: usize = first + HEADER
let end: usize = first + CHUNK
store<usize>(first, 0)

/** Reserves `size` bytes, a multiple of 16 and no larger than a chunk, all zero. */
export function allocateRecord(size: usize): usize {
  if (next + size > end) {
    const added = heap.alloc(CHUNK)
    store<usize>(added, chunk)
    chunk = added
    next = added + HEADER
    end = added + CHUNK
  }
  const record = next
  next += size
  memory.fill(record, 0, size)
  return record
}

export function freeRecords(): void {
  while (chunk !== first) {
    const previous = load<usize>(chunk)
    heap.free(chunk)
    chunk = previous
  }
  next = first + HEADER
  end = first + CHUNK
}

// Hash tables: buckets hold the first record of a chain, records hold the next one. Buckets double as records are added.

const MINIMUM: u32 = 1 << 8

/** A table: u32 buckets pointer, u32 mask, u32 count. */
export const TABLE_SIZE: usize = 16

// @ts-ignore: decorator
@inline
export function bucketOf(table: usize, hash: u32): usize {
  return load<usize>(table) + ((hash & load<u32>(table, 4)) << 2)
}

export function initializeTable(table: usize): void {
  store<usize>(table, heap.alloc(<usize>MINIMUM << 2))
  store<u32>(table, MINIMUM - 1, 4)
  emptyTable(table)
}

/** Removes all records, and frees the room that the table needed for a large run. */
export function emptyTable(table: usize): void {
  if (load<u32>(table, 4) >= 1 << 12) {
    heap.free(load<usize>(table))
    store<usize>(table, heap.alloc(<usize>MINIMUM << 2))
    store<u32>(table, MINIMUM - 1, 4)
  }
  memory.fill(load<usize>(table), 0, (<usize>load<u32>(table, 4) + 1) << 2)
  store<u32>(table, 0, 8)
}

/** Counts a new record. True when the buckets have just doubled: they are empty then, and all records must be chained anew. */
export function countRecord(table: usize): bool {
  const count = load<u32>(table, 8) + 1
  store<u32>(table, count, 8)
  const mask = load<u32>(table, 4)
  if (count <= mask) return false
  const size = (<usize>mask + 1) << 3
  heap.free(load<usize>(table))
  store<usize>(table, heap.alloc(size))
  memory.fill(load<usize>(table), 0, size)
  store<u32>(table, (mask << 1) | 1, 4)
  return true
}

// The hash of the tables: multilinear over 32-bit pieces with secret 64-bit factors (Lemire and
// Kaser, "Strongly universal string hashing is fast"), so that an attacker cannot choose keys that
// fall into one bucket. The factors come from a seed that differs from instance to instance. They
// change how long a run takes, never its result.

const FACTORS: usize = 10
const factors: usize = heap.alloc(FACTORS * 8)

/** Makes the factors from a seed by splitmix64. */
export function seedTables(seed: u64): void {
  for (let i: usize = 0; i < FACTORS; i++) {
    seed += 0x9e3779b97f4a7c15
    let z = seed
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb
    store<u64>(factors + (i << 3), z ^ (z >> 31))
  }
}

/** Returns the hash of a word and a number. */
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

/** Returns the hash of 20 bytes. */
export function hashAddress(address: usize): u32 {
  let sum = load<u64>(factors)
  sum += load<u64>(factors, 16) * <u64>load<u32>(address)
  sum += load<u64>(factors, 24) * <u64>load<u32>(address, 4)
  sum += load<u64>(factors, 32) * <u64>load<u32>(address, 8)
  sum += load<u64>(factors, 40) * <u64>load<u32>(address, 12)
  sum += load<u64>(factors, 48) * <u64>load<u32>(address, 16)
  return <u32>(sum >> 32)
}
