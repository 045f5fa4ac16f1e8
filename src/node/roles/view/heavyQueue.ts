/** `trace`: collects each step of the code, which takes far more memory than the answer. */
type TaskKind = 'heavy' | 'trace'

/** A task that may have to wait. */
export interface HeavyTask {
  /** the client that the task counts for: clients take turns */
  readonly client: string
  /** each kind of task has a limit of its own */
  readonly kind: TaskKind
  /**
   * bytes of the parameters, which are in memory while the task waits; only called when it has to
   * wait
   */
  readonly bytes: () => number
  /** on the queue's clock: from then on the result is not needed */
  readonly deadlineMs: number
  /** aborted when the result is no longer needed */
  readonly signal: AbortSignal
}

interface HeavyQueueOptions {
  /** tasks that run at the same time: of all clients, of one client, and traces of all clients */
  readonly maxRunning: { readonly all: number; readonly client: number; readonly traces: number }
  /**
   * of all waiting tasks, each with its parameters and {@link PLACE_BYTES}; it limits their number
   * as well
   */
  readonly maxWaitingBytes: number
  readonly monotonicMs: () => number
  readonly observer?: {
    /** called after each change */
    counts(counts: { readonly waiting: number; readonly running: number }): void
    dropped(reason: DropReason): void
  }
}

/**
 * Why a task was not run: `expired`: its time was over; `cancelled`: its result was no longer
 * needed; `refused`: there was no place for it, or it lost its place because clients with fewer
 * waiting tasks came.
 */
export type DropReason = 'expired' | 'cancelled' | 'refused'

export class TaskDropped extends Error {
  override readonly name = 'TaskDropped'
  readonly reason: DropReason

  constructor(reason: DropReason) {
    super(`the task was not run: ${reason}`)
    this.reason = reason
  }
}

/** Minimum memory of a waiting task; a MiB has 32 places. */
export const PLACE_BYTES = 32_768
/**
 * A client is saturated when its oldest task has waited longer: it sends more than can be done, so
 * if the oldest went first, all of its tasks would end late. Then its newest go first, and their
 * answers come in time; the oldest expire (adaptive LIFO, as in Facebook's "Fail at Scale").
 */
const SATURATED_MS = 1_000

interface WaitingTask extends HeavyTask {
  readonly weight: number
  readonly sinceMs: number
  readonly onAbort: () => void
  readonly start: () => void
  readonly drop: (error: TaskDropped) => void
}

/** The waiting tasks of one kind of one client. */
interface ClientLine {
  /** in order of arrival, never empty */
  readonly tasks: WaitingTask[]
  weight: number
}

/**
 * Runs a limited number of tasks at a time. Others wait:
 * - Clients get turns one after the other, for their traces and for their other tasks. A client's
 *   oldest task goes first, or its newest while it is saturated. Clients and traces that have
 *   reached their limit continue to wait, and others pass them.
 * - A task whose time is over, or that is cancelled, is dropped and never runs.
 * - When there is no place for a new task, the client with the most places loses its oldest tasks,
 *   as long as it then still has more places than the new task's client. When no other client has
 *   more, the new task is refused.
 */
export function createHeavyQueue({ maxRunning, maxWaitingBytes, monotonicMs, observer }: HeavyQueueOptions) {
  /** by {@link lineOf}, in the order of their turns */
  const lines = new Map<string, ClientLine>()
  /** all, in order of arrival */
  const waiting = new Set<WaitingTask>()
  let weight = 0
  let running = 0
  let traces = 0
  /** running tasks by client */
  const ofClients = new Map<string, number>()

  const report = (): void => observer?.counts({ waiting: waiting.size, running })

  const mayRun = ({ client, kind }: Pick<HeavyTask, 'client' | 'kind'>): boolean =>
    running < maxRunning.all &&
    (ofClients.get(client) ?? 0) < maxRunning.client &&
    (kind !== 'trace' || traces < maxRunning.traces)

  /** @param change 1 when a task starts, -1 when it has ended */
  const count = ({ client, kind }: HeavyTask, change: 1 | -1): void => {
    running += change
    if (kind === 'trace') traces += change
    const ofClient = (ofClients.get(client) ?? 0) + change
    if (ofClient === 0) ofClients.delete(client)
    else ofClients.set(client, ofClient)
  }

  const remove = (task: WaitingTask): void => {
    const line = lines.get(lineOf(task))!
    waiting.delete(task)
    line.tasks.splice(line.tasks.indexOf(task), 1)
    line.weight -= task.weight
    weight -= task.weight
    if (line.tasks.length === 0) lines.delete(lineOf(task))
    task.signal.removeEventListener('abort', task.onAbort)
  }

  const dropped = (reason: DropReason): TaskDropped => {
    observer?.dropped(reason)
    return new TaskDropped(reason)
  }

  const drop = (task: WaitingTask, reason: DropReason): void => {
    remove(task)
    task.drop(dropped(reason))
    report()
  }

  /**
   * Drops expired tasks. Tasks have about as much time as each other: those that came first expire
   * first.
   */
  const dropExpired = (): void => {
    const nowMs = monotonicMs()
    for (const task of waiting) {
      if (task.deadlineMs > nowMs) return
      drop(task, 'expired')
    }
  }

  /**
   * Returns the task whose turn it is in a line. Deadlines need not be in order: tasks that came
   * late with little time left are dropped here.
   */
  const nextOf = ({ tasks }: ClientLine, nowMs: number): WaitingTask | undefined => {
    for (let [oldest] = tasks; oldest !== undefined; [oldest] = tasks) {
      const task = nowMs - oldest.sinceMs > SATURATED_MS ? tasks.at(-1)! : oldest
      if (task.deadlineMs > nowMs) return task
      drop(task, 'expired')
    }
    return undefined
  }

  /** Takes the task whose turn it is out of the queue; undefined: none may run. */
  const takeNext = (): WaitingTask | undefined => {
    dropExpired()
    const nowMs = monotonicMs()
    for (const [name, line] of lines) {
      const task = mayRun(line.tasks[0]!) ? nextOf(line, nowMs) : undefined
      if (task === undefined) continue
      remove(task)
      // Its next turn is after that of all others.
      if (lines.delete(name)) lines.set(name, line)
      return task
    }
    return undefined
  }

  /** Returns the tasks to drop for a new task; undefined: the new task has to be refused. */
  const tasksInTheWay = (added: HeavyTask, addedWeight: number): readonly WaitingTask[] | undefined => {
    if (weight + addedWeight <= maxWaitingBytes) return []
    const own = (lines.get(lineOf(added))?.weight ?? 0) + addedWeight
    const left = new Map([...lines].map(([name, line]) => [name, { line, weight: line.weight, taken: 0 }]))
    const found: WaitingTask[] = []
    for (let excess = weight + addedWeight - maxWaitingBytes; excess > 0; ) {
      let most: { readonly line: ClientLine; weight: number; taken: number } | undefined
      for (const other of left.values()) if (other.weight > (most?.weight ?? own)) most = other
      if (most === undefined) return undefined
      const task = most.line.tasks[most.taken++]!
      most.weight -= task.weight
      excess -= task.weight
      found.push(task)
    }
    return found
  }

  /** Waits for a turn. @throws TaskDropped (rejects) */
  const wait = (task: HeavyTask): Promise<void> =>
    new Promise((start, refuse) => {
      const taskWeight = task.bytes() + PLACE_BYTES
      dropExpired()
      const inTheWay = tasksInTheWay(task, taskWeight)
      if (inTheWay === undefined) return refuse(dropped('refused'))
      for (const other of inTheWay) drop(other, 'refused')
      const waitingTask: WaitingTask = {
        ...task,
        weight: taskWeight,
        sinceMs: monotonicMs(),
        onAbort: () => drop(waitingTask, 'cancelled'),
        start,
        drop: refuse,
      }
      const line = lines.get(lineOf(task)) ?? { tasks: [], weight: 0 }
      lines.set(lineOf(task), line)
      line.tasks.push(waitingTask)
      line.weight += taskWeight
      weight += taskWeight
      waiting.add(waitingTask)
      task.signal.addEventListener('abort', waitingTask.onAbort)
      report()
    })

  /**
   * Hands the place straight to waiting tasks: a task that arrives now cannot take it in between.
   */
  const release = (task: HeavyTask): void => {
    count(task, -1)
    for (let next = takeNext(); next !== undefined; next = takeNext()) {
      count(next, 1)
      next.start()
    }
    report()
  }

  return {
    /** Runs `work` once it is the task's turn. @throws TaskDropped (rejects) when it was not run */
    run: async <T>(task: HeavyTask, work: () => Promise<T>): Promise<T> => {
      if (task.signal.aborted) throw dropped('cancelled')
      if (task.deadlineMs <= monotonicMs()) throw dropped('expired')
      if (mayRun(task)) {
        count(task, 1)
        report()
      } else {
        await wait(task)
      }
      try {
        return await work()
      } finally {
        release(task)
      }
    },
  }
}

function lineOf({ kind, client }: Pick<HeavyTask, 'kind' | 'client'>): string {
  return `${kind} ${client}`
}
