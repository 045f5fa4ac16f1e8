/** Caches the node's answers for a moment, so that a thousand readers of a page cause one request. */
export interface NodeCache {
  /**
   * Returns the cached answer with this name, or calls `ask` when that is missing or older than `maxAgeMs`. Callers during the request
   * wait for the same answer.
   * @throws what `ask` throws; a failure is not cached
   */
  get<T>(name: string, maxAgeMs: number, ask: () => Promise<T>): Promise<T>
}

/** Most cached answers. Their names are few. */
const MAX_CACHED = 1_000

interface CachedAnswer {
  /** when it came; undefined: it is under way */
  sinceMs: number | undefined
  readonly answer: Promise<unknown>
}

/** @param nowMs a clock that never goes back */
export function createNodeCache(nowMs: () => number = () => performance.now()): NodeCache {
  const cached = new Map<string, CachedAnswer>()
  return {
    get: <T>(name: string, maxAgeMs: number, ask: () => Promise<T>): Promise<T> => {
      const own = cached.get(name)
      const isFresh = own !== undefined && (own.sinceMs === undefined || nowMs() - own.sinceMs < maxAgeMs)
      if (isFresh) return own.answer as Promise<T>
      if (cached.size >= MAX_CACHED) cached.clear()
      const answer = ask()
      const entry: CachedAnswer = { sinceMs: undefined, answer }
      cached.set(name, entry)
      answer.then(
        () => {
          entry.sinceMs = nowMs()
        },
        () => {
          if (cached.get(name) === entry) cached.delete(name)
        },
      )
      return answer
    },
  }
}
