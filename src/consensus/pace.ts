/** A moment that the schedule of blocks counts from. */
export interface PaceAnchor {
  readonly height: number
  /** monotonic milliseconds at which that height was begun */
  readonly atMs: number
}

export interface PaceRules {
  /** aim for the average distance between blocks */
  readonly intervalMs: number
  /** a chain that is further behind its schedule than this does not catch up: the schedule begins anew */
  readonly maxLagMs: number
}

/**
 * When to begin `height`: the schedule is anchor + interval × heights since, so that a late block is made up for and the
 * average, not the gap, is the interval.
 * @returns milliseconds to wait from `nowMs` on, and the anchor for the next call
 */
export function paceHeight(
  anchor: PaceAnchor | undefined,
  height: number,
  nowMs: number,
  { intervalMs, maxLagMs }: PaceRules,
): { readonly delayMs: number; readonly anchor: PaceAnchor } {
  if (anchor === undefined) return { delayMs: 0, anchor: { height, atMs: nowMs } }
  const dueMs = anchor.atMs + intervalMs * (height - anchor.height)
  if (nowMs - dueMs > maxLagMs) return { delayMs: 0, anchor: { height, atMs: nowMs } }
  return { delayMs: Math.max(0, dueMs - nowMs), anchor }
}
