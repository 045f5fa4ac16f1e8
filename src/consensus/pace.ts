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
  /** others propose too: their schedules and this one draw near to each other */
  readonly followsOthers: boolean
}

/** Share of its lag that a schedule gives up at each height, so that it meets those of other validators. */
const FOLLOWED_SHARE = 1 / 8

/**
 * When to begin `height`: the schedule is anchor + interval × heights since, so that a late block is made up for and the
 * average, not the gap, is the interval. Each validator has a schedule of its own, and they draw near to each other: who is
 * behind the others waits no longer than the interval, and who is ahead of them gives way. Otherwise some would propose right
 * after the block before and others late, for good.
 * @returns milliseconds to wait from `nowMs` on, and the anchor for the next call
 */
export function paceHeight(
  anchor: PaceAnchor | undefined,
  height: number,
  nowMs: number,
  { intervalMs, maxLagMs, followsOthers }: PaceRules,
): { readonly delayMs: number; readonly anchor: PaceAnchor } {
  if (anchor === undefined) return { delayMs: 0, anchor: { height, atMs: nowMs } }
  const dueMs = anchor.atMs + intervalMs * (height - anchor.height)
  const lagMs = nowMs - dueMs
  if (lagMs > maxLagMs) return { delayMs: 0, anchor: { height, atMs: nowMs } }
  if (lagMs < -intervalMs) return { delayMs: intervalMs, anchor: { height, atMs: nowMs + intervalMs } }
  if (lagMs < 0) return { delayMs: dueMs - nowMs, anchor }
  if (lagMs === 0 || !followsOthers) return { delayMs: 0, anchor }
  return { delayMs: 0, anchor: { height: anchor.height, atMs: anchor.atMs + lagMs * FOLLOWED_SHARE } }
}
