import { concatBytes } from '../primitives/bytes.ts'
import type { NativeStore } from '../state/world.ts'

const TIME_BYTES = 8
/** The most entries that one block removes, as in the SDK: the others wait for the next blocks. */
const REMOVED_PER_BLOCK = 200

/**
 * Removes up to `limit` entries that expired before this block: from a queue with keys `queue | time (8 bytes, ms) | id`, and from
 * the entries with keys `entries | id`. When none is due it costs one look-up.
 */
export function removeExpired(
  native: Pick<NativeStore, 'range' | 'delete'>,
  prefixes: { readonly queue: Uint8Array; readonly entries: Uint8Array },
  timeMs: number,
  limit: number = REMOVED_PER_BLOCK,
): void {
  const { queue, entries } = prefixes
  const due: Uint8Array[] = []
  for (const [key] of native.range(queue)) {
    const expiresMs = new DataView(key.buffer, key.byteOffset + queue.length).getBigUint64(0)
    if (expiresMs >= BigInt(timeMs) || due.length >= limit) break
    due.push(key)
  }
  for (const key of due) {
    native.delete(key)
    native.delete(concatBytes(entries, key.subarray(queue.length + TIME_BYTES)))
  }
}
