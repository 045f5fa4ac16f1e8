/** Memory that one thread gives to what clients ask it to remember: the criteria of log subscriptions and filters. */
export interface MemoryBudget {
  /** false, and nothing is taken, when fewer bytes are left */
  take(bytes: number): boolean
  /** Returns bytes that were taken. */
  giveBack(bytes: number): void
}

/** for all clients of a thread */
const DEFAULT_LIMIT_BYTES = 64 * 1_048_576

/** @param onChange called with the bytes that are taken now */
export function createMemoryBudget(
  limitBytes: number = DEFAULT_LIMIT_BYTES,
  onChange?: (takenBytes: number) => void,
): MemoryBudget {
  let takenBytes = 0
  return {
    take: (bytes) => {
      if (takenBytes + bytes > limitBytes) return false
      takenBytes += bytes
      onChange?.(takenBytes)
      return true
    },
    giveBack: (bytes) => {
      takenBytes -= bytes
      onChange?.(takenBytes)
    },
  }
}
