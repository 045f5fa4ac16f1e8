/** Runs at most `limit` tasks at a time, the others in order of arrival. */
export interface TaskQueue {
  run<T>(task: () => Promise<T>): Promise<T>
  readonly waiting: number
}

export function createTaskQueue(limit: number): TaskQueue {
  const queue: (() => void)[] = []
  let free = limit
  const acquire = (): Promise<void> | undefined => {
    if (free === 0) return new Promise((resolve) => queue.push(resolve))
    free--
    return undefined
  }
  /** A place goes to whoever waits longest, so that nobody can take it in between. */
  const release = (): void => {
    const next = queue.shift()
    if (next === undefined) free++
    else next()
  }
  return {
    get waiting() {
      return queue.length
    },
    async run(task) {
      await acquire()
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}
