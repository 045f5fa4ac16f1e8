import { bytesKey, bytesKeyOf, compareKeys, keyBytes } from '../primitives/bytes.ts'
import { Column } from '../storage/columns.ts'
import type { DatabaseReader, KeyRange, KeyReader } from '../storage/database.ts'
import { checkHeight, type StateHead } from './head.ts'
import { changedKeysOf, valueAt } from './history.ts'
import { nodeAt } from './proof.ts'

/**
 * The columns of the state at one height: accounts, slots, native entries and trie nodes; and
 * bytecode, which all heights share.
 */
export interface StateColumns extends KeyReader {
  /** Entries of the range in key order. */
  entries(range: Pick<KeyRange, 'start' | 'end'>): AsyncIterable<readonly [Uint8Array, Uint8Array]>
}

interface OlderStateOptions {
  /** entries that the later blocks may have changed */
  readonly maxEntries: number
  /** awaited after every few hundred of them; if it throws, the work ends */
  readonly pause?: () => Promise<void> | void
}

const ENTRIES_PER_PAUSE = 500

/**
 * Opens the columns of the state as they were after block `height`: all entries of `snapshot`, with
 * the previous values of those that later blocks changed. These values are in memory, so that range
 * reads have them too; `height` cannot be far from the head.
 * @param snapshot of the database, which stays open; `head` is its head record
 * @returns undefined when later blocks changed more than `maxEntries`
 * @throws StateUnavailable below the retained window; DatabaseError
 */
export async function openOlderState(
  snapshot: DatabaseReader,
  head: StateHead,
  height: number,
  { maxEntries, pause }: OlderStateOptions,
): Promise<StateColumns | undefined> {
  checkHeight(head, height)
  const former = new Map<string, Uint8Array | undefined>()
  for (let later = height + 1; later <= head.height; later++) {
    for (const key of changedKeysOf(snapshot, later, Number.POSITIVE_INFINITY)!) former.set(bytesKey(key), undefined)
    if (former.size > maxEntries) return undefined
  }
  let done = 0
  for (const name of former.keys()) {
    if (++done % ENTRIES_PER_PAUSE === 0) await pause?.()
    const key = keyBytes(name)
    const value = key[0] === Column.trieNode ? await nodeOf(snapshot, key, height) : valueAt(snapshot, key, height)
    // A copy, because LevelDB's arrays are outside of the heap.
    if (value !== undefined && value.length > 0) former.set(name, value.slice())
  }
  const names = [...former.keys()].sort(compareKeys)
  return {
    onDamage: snapshot.onDamage,
    get: (key) => {
      const name = bytesKey(key)
      return former.has(name) ? former.get(name) : snapshot.get(key)
    },
    entries: (range) => mergedEntries(snapshot, range, names, former),
  }
}

/** Returns the trie node of a key of its column, at an older height. */
function nodeOf(snapshot: DatabaseReader, key: Uint8Array, height: number): Promise<Uint8Array | undefined> {
  // The account trie's owner is a byte of 0, that of a storage trie 1 and the address.
  const depthAt = key[1] === 0 ? 2 : 22
  return nodeAt(snapshot, key.subarray(1, depthAt), bytesKeyOf(key, depthAt + 1, key.length), key[depthAt]!, height)
}

/**
 * Entries of `snapshot`, where those of `former` have their previous values, or are missing.
 * `names`: its keys in order.
 */
async function* mergedEntries(
  snapshot: DatabaseReader,
  range: Pick<KeyRange, 'start' | 'end'>,
  names: readonly string[],
  former: ReadonlyMap<string, Uint8Array | undefined>,
): AsyncGenerator<readonly [Uint8Array, Uint8Array], void, void> {
  const end = range.end && bytesKey(range.end)
  let at = firstAtOrAfter(names, bytesKey(range.start))
  const last = end === undefined ? names.length : firstAtOrAfter(names, end)
  const formerEntry = (): readonly [Uint8Array, Uint8Array] | undefined => {
    const name = names[at++]!
    const value = former.get(name)
    return value && [keyBytes(name), value]
  }
  for await (const entry of snapshot.entries(range)) {
    const name = bytesKey(entry[0])
    while (at < last && names[at]! < name) {
      const older = formerEntry()
      if (older !== undefined) yield older
    }
    if (!former.has(name)) yield entry
  }
  while (at < last) {
    const older = formerEntry()
    if (older !== undefined) yield older
  }
}

function firstAtOrAfter(names: readonly string[], name: string): number {
  let low = 0
  let high = names.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (names[middle]! < name) low = middle + 1
    else high = middle
  }
  return low
}
