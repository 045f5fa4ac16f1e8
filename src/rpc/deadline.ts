/**
 * The outcome of `work`, or of `onTimeout` when `work` takes longer than until `deadlineMs` (on the clock of
 * `performance.now`). The work itself goes on: nothing waits for it any more.
 */
export function before<T>(deadlineMs: number, work: Promise<T>, onTimeout: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout
    const wait = (): void => {
      const leftMs = deadlineMs - performance.now()
      // A timer may fire early; who is told of the timeout should find the deadline passed.
      if (leftMs > 0) timer = setTimeout(wait, leftMs + 1)
      else reject(onTimeout())
    }
    timer = setTimeout(wait, Math.max(0, deadlineMs - performance.now()) + 1)
    // A late outcome, failures too, has nobody to tell: the promise is settled.
    work.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
