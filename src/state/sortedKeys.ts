/** The most keys in a chunk; adding a key moves half as many on average. */
const CHUNK_SIZE = 256

/**
 * A sorted set of keys. It consists of chunks of bounded size, so that adding a key is cheap also with many keys. A B-tree
 * would not be faster for up to millions of keys.
 */
export class SortedKeys {
  /** none is empty, except that an empty set has one empty chunk */
  readonly #chunks: string[][] = [[]]
  /** how many keys were added or removed; a walk that finds another number than at its beginning may have lost its place */
  #changes = 0

  /** Does nothing when the key is there. */
  add(key: string): void {
    const chunks = this.#chunks
    const index = Math.min(lowerBoundOf(chunks, key, lastOf), chunks.length - 1)
    const chunk = chunks[index]!
    const at = lowerBound(chunk, key)
    if (chunk[at] === key) return
    this.#changes++
    chunk.splice(at, 0, key)
    if (chunk.length > CHUNK_SIZE) chunks.splice(index + 1, 0, chunk.splice(CHUNK_SIZE >> 1))
  }

  /** Does nothing when the key is not there. */
  remove(key: string): void {
    const chunks = this.#chunks
    const index = Math.min(lowerBoundOf(chunks, key, lastOf), chunks.length - 1)
    const chunk = chunks[index]!
    const at = lowerBound(chunk, key)
    if (chunk[at] !== key) return
    this.#changes++
    chunk.splice(at, 1)
    if (chunk.length === 0 && chunks.length > 1) chunks.splice(index, 1)
  }

  /**
   * Yields the keys with `prefix` from `start` on, or with `reverse` down from it, as in
   * `NativeStore.range`.
   * @throws Error (a bug) when it continues after a key was added or removed: it could skip or repeat keys
   */
  *walk(prefix: string, start: string | undefined, reverse: boolean): Generator<string, void, void> {
    const chunks = this.#chunks
    const changes = this.#changes
    const step = reverse ? -1 : 1
    // The first chunk that may hold a key of the walk; a walk in reverse may begin in the chunk before.
    const from = Math.min(lowerBoundOf(chunks, walkBound(prefix, start, reverse), lastOf), chunks.length - 1)
    for (let index = from; index >= 0 && index < chunks.length; index += step) {
      const chunk = chunks[index]!
      for (let at = walkStart(chunk, prefix, start, reverse); at >= 0 && at < chunk.length; at += step) {
        const key = chunk[at]!
        if (!key.startsWith(prefix)) return
        yield key
        if (this.#changes !== changes) throw new Error('the keys changed during a walk over them')
      }
    }
  }
}

function lastOf(chunk: readonly string[]): string {
  return chunk.at(-1) ?? ''
}

/** Returns the index of the first element that is not below `key`. */
function lowerBound(sorted: readonly string[], key: string): number {
  return lowerBoundOf(sorted, key, (element) => element)
}

function lowerBoundOf<T>(sorted: readonly T[], key: string, keyOf: (element: T) => string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keyOf(sorted[middle]!) < key) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Returns the index at which a walk over the keys with `prefix` begins (see `NativeStore.range`).
 * When no key has the prefix, the index is out of range, or that of a key without the prefix.
 */
export function walkStart(
  sorted: readonly string[],
  prefix: string,
  start: string | undefined,
  reverse: boolean,
): number {
  const bound = walkBound(prefix, start, reverse)
  const at = lowerBound(sorted, bound)
  return !reverse || sorted[at] === bound ? at : at - 1
}

/**
 * Returns the least key of an ascending walk. In reverse: the greatest key, or a bound above it
 * that is not itself a key.
 */
function walkBound(prefix: string, start: string | undefined, reverse: boolean): string {
  if (!reverse) return start === undefined || start < prefix ? prefix : start
  // Keys hold no character above 0xff, so this is above every key with the prefix.
  const end = `${prefix}\u0100`
  return start === undefined || start >= end ? end : start
}
