/** Processor time of this thread by step of a repeated work. */
export interface StepTimes {
  /** Runs a step and counts its time; of a step that waits only what this thread did meanwhile. */
  run<Result>(step: string, work: () => Result): Result
  /** The same for a step that is a part of another one, which runs: its time is not the other's. */
  within<Result>(other: string, step: string, work: () => Result): Result
  /** Counts the time of `other` since `sinceMicroseconds` of {@link threadMicroseconds} for this step. */
  divide(other: string, step: string, sinceMicroseconds: number): void
  /** Forgets what was counted so far, but not the order of the steps. */
  reset(): void
  /** each step with its microseconds, in the order in which they first ran */
  readonly entries: ReadonlyMap<string, number>
}

export function createStepTimes(): StepTimes {
  const entries = new Map<string, number>()
  const add = (step: string, microseconds: number): void => {
    entries.set(step, (entries.get(step) ?? 0) + microseconds)
  }
  const timed = <Result>(work: () => Result, count: (microseconds: number) => void): Result => {
    const before = threadMicroseconds()
    const end = (): void => count(threadMicroseconds() - before)
    const result = work()
    if (result instanceof Promise) return result.finally(end) as Result
    end()
    return result
  }
  const move = (other: string, step: string, microseconds: number): void => {
    add(step, microseconds)
    add(other, -microseconds)
  }
  return {
    run: (step, work) => {
      // Its place in the order is that of its begin.
      add(step, 0)
      return timed(work, (microseconds) => add(step, microseconds))
    },
    within: (other, step, work) => timed(work, (microseconds) => move(other, step, microseconds)),
    divide: (other, step, since) => move(other, step, threadMicroseconds() - since),
    reset: () => {
      for (const step of entries.keys()) entries.set(step, 0)
    },
    entries,
  }
}

/** Returns the processor time that this thread has used. */
export function threadMicroseconds(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
