/** What was measured of a workload on this machine. */
export interface Costs {
  /** milliseconds that the execution of a transaction in order takes */
  readonly serial: number
  /** the same before its turn, with the notes of what it reads and writes */
  readonly speculation: number
  /** of the executor, to check a result and make its changes */
  readonly adoption: number
  /** what became of each transaction in the run with two threads: adopted, or executed again */
  readonly isAdopted: readonly boolean[]
}

/** As in `src/app/parallel/parallelExecution.ts`. */
const LEAD = 8

/**
 * The milliseconds that a block takes on so many threads, if each has a processor: the executor goes through the block in order, and the
 * others execute ahead of it, as `ParallelExecution` does. What the model leaves out is that processors share caches and memory.
 */
export function modelledTime({ serial, speculation, adoption, isAdopted }: Costs, threads: number): number {
  /** when each of the other threads is free */
  const free = new Array<number>(threads - 1).fill(0)
  /** when the result of each transaction is there; Infinity where the executor keeps it for itself */
  const done = new Array<number | undefined>(isAdopted.length).fill(undefined)
  let next = 0
  let now = 0
  /** The others take what they can until now. */
  const proceed = (): void => {
    for (;;) {
      const at = free.indexOf(Math.min(...free))
      if (next >= isAdopted.length || free[at]! > now) return
      free[at]! += speculation
      done[next++] = free[at]!
    }
  }
  const keep = (count: number): void => {
    for (let kept = 0; kept < count && next < isAdopted.length; kept++) done[next++] = Number.POSITIVE_INFINITY
  }
  for (const [index, isRight] of isAdopted.entries()) {
    proceed()
    if (done[index] === undefined) keep(1)
    const at = done[index]!
    if (at === Number.POSITIVE_INFINITY) {
      now += serial
      continue
    }
    if (at > now) {
      keep(LEAD)
      now = at
    }
    now += isRight ? adoption : adoption + serial
  }
  return now
}
