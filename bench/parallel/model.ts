/** Measured costs of a workload on this machine. */
export interface Costs {
  /** milliseconds that the execution of a transaction in order takes */
  readonly serial: number
  /** the same before its turn, with the notes of what it reads and writes */
  readonly speculation: number
  /** of the executor, to check a result and make its changes */
  readonly adoption: number
  /** what becomes of a guess about each transaction: it is adopted, or the transaction is executed again */
  readonly isRight: readonly boolean[]
  /** transactions of the block until the executor continues alone, because guesses are wrong */
  readonly guessed: number
}

/** As in `src/execution/parallel/parallelExecution.ts`. */
const LEAD_MS = 0.5
const MOST_LEAD = 32
const LEAD_SHARE = 1 / 8

/**
 * Returns the milliseconds that a block takes on so many threads, if each has a processor: the executor goes through the block in
 * order, and the others execute ahead of it, as `ParallelExecution` does. It counts only work: threads wake at once, share no
 * caches and memory, and no transaction has to wait for another one's result.
 */
export function modelledTime(costs: Costs, threads: number): number {
  const { serial, speculation, adoption, isRight, guessed } = costs
  /** when each of the other threads is free */
  const free = new Array<number>(threads - 1).fill(0)
  /** when the result of each transaction is there; Infinity where the executor keeps it for itself */
  const done = new Array<number | undefined>(isRight.length).fill(undefined)
  let next = 0
  let now = 0
  /** The others take what they can until now. */
  const proceed = (): void => {
    for (;;) {
      const at = free.indexOf(Math.min(...free))
      if (next >= guessed || free[at]! > now) return
      free[at]! += speculation
      done[next++] = free[at]!
    }
  }
  const keep = (count: number): void => {
    for (let adopted = 0; adopted < count && next < guessed; adopted++) done[next++] = Number.POSITIVE_INFINITY
  }
  for (let index = 0; index < guessed; index++) {
    proceed()
    if (done[index] === undefined) keep(1)
    const at = done[index]!
    if (at === Number.POSITIVE_INFINITY) {
      now += serial
      continue
    }
    if (at > now) {
      keep(Math.max(1, Math.floor(Math.min(LEAD_MS / serial, (isRight.length - index) * LEAD_SHARE, MOST_LEAD))))
      now = at
    }
    now += isRight[index]! ? adoption : adoption + serial
  }
  return now + (isRight.length - guessed) * serial
}
