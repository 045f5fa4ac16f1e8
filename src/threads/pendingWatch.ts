/**
 * How many subscriptions and filters want pending transactions, in memory that all threads share: while there are none, the pool
 * thread announces none.
 */
export type PendingWatch = Int32Array<SharedArrayBuffer>

export function createPendingWatch(): PendingWatch {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

/** Counts a watcher that has come (1) or gone (-1). */
export function countWatchers(watch: PendingWatch, change: 1 | -1): void {
  Atomics.add(watch, 0, change)
}

export function isWatched(watch: PendingWatch): boolean {
  return Atomics.load(watch, 0) > 0
}
