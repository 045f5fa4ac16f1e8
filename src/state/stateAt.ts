import { CodeCache } from './codeCache.ts'
import { FlatReader } from './flatReader.ts'
import type { StateHead } from './head.ts'
import { HeadCache } from './headCache.ts'
import { valueAt } from './history.ts'
import type { StateReader } from './reader.ts'
import { StateUnavailable } from './view.ts'

interface KeyReader {
  get(key: Uint8Array): Uint8Array | undefined
}

export interface StateCaches {
  readonly codes: CodeCache
  /** entries at the head */
  readonly head: HeadCache
}

export function createStateCaches(codeBytes = 16 << 20, headBytes = 16 << 20): StateCaches {
  return { codes: new CodeCache(codeBytes), head: new HeadCache(headBytes) }
}

/**
 * The state after block `height`, for any thread. `snapshot` is one of the database with the head record `head` (see
 * `readStateHead`) and must stay open; `caches` may be shared by all readers of a thread.
 * @throws StateUnavailable below the window that is kept
 */
export function openStateAt(snapshot: KeyReader, caches: StateCaches, head: StateHead, height: number): StateReader {
  checkHeight(head, height)
  return new FlatReader({
    value:
      height === head.height
        ? (key) => caches.head.get(snapshot, height, key)
        : (key) => valueAt(snapshot, key, height),
    code: (hash) => caches.codes.get(snapshot, hash),
  })
}

/**
 * @throws StateUnavailable below the window that is kept
 * @throws RangeError above the head
 */
export function checkHeight(head: StateHead, height: number): void {
  if (height < head.oldestHeight) throw new StateUnavailable(height, head.oldestHeight)
  if (height > head.height) throw new RangeError(`block ${height} is above the head ${head.height}`)
}
