/** Answers of the node that are kept for a moment, so that a thousand readers of a page are one question. */
export interface NodeCache {
  /**
   * The answer under this name, or what `ask` gives when there is none or it is older than `maxAgeMs`. Whoever comes while it is asked
   * for waits for the same answer.
   * @throws what `ask` throws; a failure is not kept
   */
  get<T>(name: string, maxAgeMs: number, ask: () => Promise<T>): Promise<T>
}

/** Answers kept at most. Their names are few. */
const MAX_KEPT = 1_000

interface Kept {
  /** when it came; undefined: it is under way */
  sinceMs: number | undefined
  readonly answer: Promise<unknown>
}

/** @param nowMs a clock that never goes back */
export function createNodeCache(nowMs: () => number = () => performance.now()): NodeCache {
  const kept = new Map<string, Kept>()
  return {
    get: <T>(name: string, maxAgeMs: number, ask: () => Promise<T>): Promise<T> => {
      const own = kept.get(name)
      const isFresh = own !== undefined && (own.sinceMs === undefined || nowMs() - own.sinceMs < maxAgeMs)
      if (isFresh) return own.answer as Promise<T>
      if (kept.size >= MAX_KEPT) kept.clear()
      const answer = ask()
      const entry: Kept = { sinceMs: undefined, answer }
      kept.set(name, entry)
      answer.then(
        () => {
          entry.sinceMs = nowMs()
        },
        () => {
          if (kept.get(name) === entry) kept.delete(name)
        },
      )
      return answer
    },
  }
}
