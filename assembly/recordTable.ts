// Buckets of a hash table whose records chain themselves: heads by hash, grown as records are added.

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

/** Forgets the records, and gives back what a large run made the table grow by. */
export function emptyTable(table: usize): void {
  if (load<u32>(table, 4) >= 1 << 12) {
    heap.free(load<usize>(table))
    store<usize>(table, heap.alloc(<usize>MINIMUM << 2))
    store<u32>(table, MINIMUM - 1, 4)
  }
  memory.fill(load<usize>(table), 0, (<usize>load<u32>(table, 4) + 1) << 2)
  store<u32>(table, 0, 8)
}

/** Counts a record in; true when the buckets have just doubled (they are empty then) and all records must be chained anew. */
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
