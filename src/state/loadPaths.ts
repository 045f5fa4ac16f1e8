import { LISTED_KEY_BYTES, PART_BYTES } from '../../assembly/trie/trieLayout.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { BulkReader } from '../storage/database.ts'
import type { MissingNodes, TrieEngine, UpdateList } from './trieEngine.ts'

/** A trie that is about to be updated. */
export interface TrieToLoad {
  readonly owner: Uint8Array
  readonly updates: UpdateList
}

/**
 * Nodes for fewer updates are not loaded here: the updates read node by node, without a turn of the
 * event loop for each level.
 */
const LEAST_UPDATES = 32
/**
 * Reads at a time, each in a thread of Node.js's pool. The pool has four threads, and the
 * write-ahead log needs one for its syncs.
 */
const READS = 3

/**
 * Loads the nodes that updates of tries will reach: level by level, since a node shows its
 * children, and many with one read in another thread. As soon as a trie has several parts, they are
 * loaded concurrently, so that the nodes of one part are processed while those of another are read.
 * Nodes that are missing in the database are left to the update.
 * @param isCurrent whether the nodes that were read are still those of the head
 */
export async function loadPaths(
  tries: readonly TrieToLoad[],
  source: BulkReader,
  engine: TrieEngine,
  isCurrent: () => boolean,
): Promise<void> {
  for (const { owner, updates } of tries) {
    if (updates.count < LEAST_UPDATES) continue
    const find = (parts: Uint8Array): MissingNodes => engine.findMissing(owner, updates, parts)
    const load = async (missing: MissingNodes, isWhole: boolean): Promise<void> => {
      for (let at = missing; updatesOf(at) >= LEAST_UPDATES; ) {
        if (isWhole && at.count >= READS) {
          await Promise.all(divide(at).map((part) => load(part, false)))
          return
        }
        const names = listedKeys(at)
        const nodes = await source.getMany(names)
        if (!isCurrent()) return
        for (let i = 0; i < nodes.length; i++) {
          const rlp = nodes[i]
          if (rlp !== undefined) engine.keep(names[i]!, rlp)
        }
        const next = find(at.parts)
        // Otherwise nodes that the database lacks would be requested again and again.
        if (equalBytes(next.parts, at.parts)) return
        at = next
      }
    }
    const whole = new Uint8Array(new Uint32Array([0, updates.count, 0]).buffer)
    await load(find(whole), true)
  }
}

/** Deals the nodes out in turn to as many parts as there are concurrent reads. */
function divide({ keys, parts, count }: MissingNodes): MissingNodes[] {
  const size = Math.ceil(count / READS)
  return Array.from({ length: READS }, (_, part) => {
    const low = Math.min(part * size, count)
    const high = Math.min(low + size, count)
    return {
      keys: keys.subarray(low * LISTED_KEY_BYTES, high * LISTED_KEY_BYTES),
      parts: parts.subarray(low * PART_BYTES, high * PART_BYTES),
      count: high - low,
    }
  })
}

/** Returns how many updates need the nodes. */
function updatesOf({ parts }: MissingNodes): number {
  const numbers = new Uint32Array(parts.slice().buffer)
  let count = 0
  for (let i = 0; i < numbers.length; i += 3) count += numbers[i + 1]! - numbers[i]!
  return count
}

/** Views on one array, since V8 would move each small one out of its heap when it is passed to LevelDB. */
function listedKeys({ keys, count }: MissingNodes): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => {
    const start = index * LISTED_KEY_BYTES
    return keys.subarray(start, start + keys[start + LISTED_KEY_BYTES - 1]!)
  })
}

/**
 * Reads many keys in other threads. All reads begin at once, so that they continue while the
 * calling thread works.
 */
export async function readMany(source: BulkReader, keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
  const size = Math.ceil(keys.length / READS)
  const parts = Array.from({ length: READS }, (_, i) => source.getMany(keys.slice(i * size, (i + 1) * size)))
  return (await Promise.all(parts)).flat()
}
