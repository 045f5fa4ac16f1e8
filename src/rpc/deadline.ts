/**
 * The outcome of `work`, or of `onTimeout` when `work` takes longer than until `deadlineMs` (on the clock of
 * `performance.now`). The work itself goes on: nothing waits for it any more.
 */
export async function before<T>(deadlineMs: number, work: Promise<T>, onTimeout: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    // A timer may fire up to a millisecond early; who is told of the timeout should find the deadline passed.
    timer = setTimeout(() => reject(onTimeout()), Math.max(0, deadlineMs - performance.now()) + 1)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
    // A late failure has nobody to tell.
    work.catch(() => undefined)
  }
}
