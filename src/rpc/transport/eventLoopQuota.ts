/** Limits how many calls a thread runs before it reads from its sockets again. */
export interface EventLoopQuota {
  /** Whether one more call may run in this turn of the event loop. @param weight of the call, by default 1 */
  take(weight?: number): boolean
}

/**
 * Creates a quota of `callsPerTurn` calls. It does not count time: on a busy machine time passes
 * without any work.
 */
export function createEventLoopQuota(callsPerTurn: number): EventLoopQuota {
  let left = callsPerTurn
  const refill = (): void => {
    left = callsPerTurn
  }
  return {
    take: (weight = 1) => {
      if (left < weight) return false
      if (left === callsPerTurn) setImmediate(refill)
      left -= weight
      return true
    },
  }
}
