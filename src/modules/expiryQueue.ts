import { concatBytes } from '../primitives/bytes.ts'
import type { NativeStore } from '../state/world.ts'
import { budgetOf, isSpent } from './budget.ts'

const TIME_BYTES = 8
/** The most entries that one block removes, as in the SDK: the others wait for the next blocks. */
const REMOVED_PER_BLOCK = 200
/** Work that removals may do in a block, in gas: about 30 ms. */
const REMOVAL_BUDGET_GAS = 2_000_000

/**
 * Removes up to `limit` entries that expired before this block: from a queue with keys
 * `queue | time (8 bytes, ms) | id`, and from the entries with keys `entries | id`. An entry's
 * value counts as read, since the journal and the history hold it. Entries beyond the block's
 * budget wait for the next block. When no entry is due it costs one look-up.
 */
export function removeExpired(
  native: Pick<NativeStore, 'range' | 'get' | 'delete' | 'work'>,
  prefixes: { readonly queue: Uint8Array; readonly entries: Uint8Array },
  timeMs: number,
  limit: number = REMOVED_PER_BLOCK,
): void {
  const { queue, entries } = prefixes
  const budget = budgetOf(native, REMOVAL_BUDGET_GAS)
  const due: Uint8Array[] = []
  for (const [key] of native.range(queue)) {
    const expiresMs = new DataView(key.buffer, key.byteOffset + queue.length).getBigUint64(0)
    if (expiresMs >= BigInt(timeMs) || due.length >= limit) break
    due.push(key)
  }
  for (const key of due) {
    if (isSpent(native, budget)) return
    const entry = concatBytes(entries, key.subarray(queue.length + TIME_BYTES))
    native.get(entry)
    native.delete(key)
    native.delete(entry)
  }
}
