import { BoundedCache } from '../../primitives/boundedCache.ts'
import { bytesKey } from '../../primitives/bytes.ts'

/** The heights that an index has for a term, between two heights. */
interface KnownHeights {
  readonly from: number
  readonly to: number
  /** ascending */
  readonly heights: readonly number[]
}

/** Ascending. */
type ReadHeights = (term: Uint8Array, from: number, to: number) => Promise<readonly number[]>

/**
 * A cache of an index's recently read lists. Blocks do not change, so a list only grows, with the
 * chain.
 */
export interface HeightCache {
  /**
   * Returns the heights in [from, to], ascending; `read` returns those that are not cached.
   * @param to at most the head's height
   */
  find(term: Uint8Array, from: number, to: number, read: ReadHeights): Promise<readonly number[]>
}

/** Longest cached list: copying a longer one at each block would cost more than reading it. */
const MAX_HEIGHTS = 4_096
const HEIGHT_BYTES = 8
const LIST_BYTES = 300

/** @param maxBytes of all lists */
export function createHeightCache(maxBytes: number): HeightCache {
  const cache = new BoundedCache<KnownHeights>(maxBytes, (_, { heights }) => LIST_BYTES + heights.length * HEIGHT_BYTES)

  const keep = (key: string, known: KnownHeights): void => {
    const { to, heights } = known
    if (heights.length <= MAX_HEIGHTS) cache.set(key, known)
    // A client that follows the chain asks for the newest.
    else cache.set(key, { from: heights.at(-MAX_HEIGHTS)!, to, heights: heights.slice(-MAX_HEIGHTS) })
  }

  return {
    find: async (term, from, to, read) => {
      const key = bytesKey(term)
      const known = cache.get(key)
      if (known === undefined || from < known.from || from > known.to + 1) {
        const heights = await read(term, from, to)
        keep(key, { from, to, heights })
        return heights
      }
      if (to <= known.to) return within(known.heights, from, to)
      const newer = await read(term, known.to + 1, to)
      const heights = newer.length === 0 ? known.heights : [...known.heights, ...newer]
      keep(key, { from: known.from, to, heights })
      return within(heights, from, to)
    },
  }
}

function within(heights: readonly number[], from: number, to: number): readonly number[] {
  const isAll = (heights[0] ?? from) >= from && (heights.at(-1) ?? to) <= to
  return isAll ? heights : heights.filter((height) => height >= from && height <= to)
}
