/** Index of the first element that is not below `key`. */
export function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

/** Where a walk over the keys with `prefix` begins: see `NativeStore.range`. The index may be outside, or of a key without the prefix. */
export function walkStart(
  sorted: readonly string[],
  prefix: string,
  start: string | undefined,
  reverse: boolean,
): number {
  if (!reverse) return lowerBound(sorted, start === undefined || start < prefix ? prefix : start)
  // No key holds a character above a byte, so this is behind every key with the prefix.
  const end = `${prefix}\u0100`
  if (start === undefined || start >= end) return lowerBound(sorted, end) - 1
  const at = lowerBound(sorted, start)
  return sorted[at] === start ? at : at - 1
}
