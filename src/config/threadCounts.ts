/** Threads that serve sockets, and threads that execute for clients. */
interface ThreadCounts {
  readonly socketThreads: number
  readonly viewThreads: number
}

/**
 * Returns the numbers of threads where the operator sets none. Those that decide blocks, and
 * LevelDB, need two processors when there is much to do, and those that serve sockets wait for the
 * system half of the time; calls are executed by what is left.
 * @param processors that the process may use
 * @param sharesPort whether the platform lets several threads listen on one port
 */
export function defaultThreadCounts(processors: number, sharesPort: boolean): ThreadCounts {
  const between = (low: number, value: number, high: number): number => Math.min(high, Math.max(low, Math.floor(value)))
  return {
    socketThreads: sharesPort ? between(1, processors / 4, 4) : 1,
    viewThreads: between(2, 2 + (processors - 4) / 3, 6),
  }
}
