import { setPriority } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { MessageChannel, type MessagePort, type ResourceLimits, Worker } from 'node:worker_threads'
import type { Remote, Service } from '../wire/port.ts'

/** Start data of every thread of the node. */
export interface ThreadData<T> {
  /** calls from the main thread */
  readonly control: MessagePort
  readonly data: T
}

export interface Thread {
  readonly name: string
  readonly control: MessagePort
  /** rejects when the thread dies of an error or ends before `stop` */
  readonly died: Promise<never>
  /** Ends the thread at once; a caller that wants it to finish something asks through `control` before. */
  stop(): Promise<void>
}

/**
 * V8 lets a heap whose limit is 2 GiB or more grow to four times of what is in use before it collects it, a smaller one to twice
 * (`MemoryController::MaxGrowingFactor`).
 */
const OLD_MEGABYTES = Math.min(2_000, Math.floor(getHeapStatistics().heap_size_limit / 1_048_576))

/**
 * Heap limits of roles, in MiB: a smaller heap is collected more often. Executor and pool have V8's own limits, since their
 * throughput pays for the memory. So have view threads, whose traces are the largest objects, except for young objects.
 */
const LIMITS: Readonly<Record<string, ResourceLimits>> = {
  socket: { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: OLD_MEGABYTES },
  view: { maxYoungGenerationSizeMb: 24 },
  network: { maxYoungGenerationSizeMb: 12, maxOldGenerationSizeMb: OLD_MEGABYTES },
  background: { maxYoungGenerationSizeMb: 12, maxOldGenerationSizeMb: OLD_MEGABYTES },
  tracing: { maxYoungGenerationSizeMb: 12, maxOldGenerationSizeMb: OLD_MEGABYTES },
}

/**
 * The stack of every thread, MiB. Blocks are executed in threads alone, also while no node runs: the main thread's stack is smaller, and how
 * large it is depends on the system.
 */
const STACK_MEGABYTES = 4

/** The suffix in the names of threads that share a role. */
const INDEX = /-\d+$/

/** Starts the role in `entry` (a module of this folder) in its own thread. */
export function spawnThread<T>(name: string, entry: URL, data: T, transfer: readonly MessagePort[]): Thread {
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(entry, {
    name,
    workerData: { control: port2, data } satisfies ThreadData<T>,
    transferList: [port2, ...transfer],
    resourceLimits: { stackSizeMb: STACK_MEGABYTES, ...LIMITS[name.replace(INDEX, '')] },
  })
  let stopping = false
  const died = new Promise<never>((_, reject) => {
    worker.on('error', (error) => reject(new Error(`the ${name} thread failed`, { cause: error })))
    worker.on('exit', (code) => {
      if (!stopping) reject(new Error(`the ${name} thread ended unexpectedly (exit code ${code})`))
    })
  })
  // A rejection must not end the process when nothing awaits it yet.
  died.catch(() => undefined)
  return {
    name,
    control: port1,
    died,
    stop: async () => {
      stopping = true
      await worker.terminate()
      port1.close()
    },
  }
}

/** Niceness of threads that execute code for clients, and of those whose work can wait forever. */
const NICENESS = { calls: 5, background: 19 } as const

/** Lowers this thread's share of busy processors: threads that decide blocks have priority 0. */
export function lowerPriority(work: keyof typeof NICENESS): void {
  // On Linux this is the priority of the calling thread alone; elsewhere it would be that of the process.
  if (process.platform === 'linux') setPriority(NICENESS[work])
}

/** A started thread whose functions can be called. */
export interface Started<S extends Service> {
  readonly thread: Thread
  readonly remote: Remote<S>
}

/** Starts a thread of a role; `index`: which of several. */
export type StartThread = <S extends Service>(
  role: 'executor' | 'pool' | 'view' | 'socket' | 'network' | 'background' | 'snapshots' | 'speculator' | 'tracing',
  index: number | undefined,
  data: unknown,
  transfer: readonly MessagePort[],
) => Started<S>

/** Waits for a thread's answer. Rejects with the thread's own error when it dies. */
export function answered<T>(thread: Thread, answer: Promise<T>): Promise<T> {
  return Promise.race([thread.died, answer])
}

let isEnding = false

/**
 * Ends this thread, and with it the node, because it has found damage or another failure of the database. The caller that
 * caught the read's error may already have answered a client with it.
 * @param close closes the thread's handle of the database: when a thread ends in the middle of LevelDB's work, the process crashes
 */
export function endThread(error: unknown, close: () => Promise<void>): void {
  if (isEnding) return
  isEnding = true
  // Whatever reads a closed database in the meantime fails: that must not take the place of the damage.
  const ignore = (): void => undefined
  process.on('uncaughtException', ignore)
  const end = (): void => {
    process.off('uncaughtException', ignore)
    throw error
  }
  // Not at once: a thread that is starting ends with the error of the read itself, and nothing may be under way then.
  setImmediate(() =>
    close().then(
      () => setImmediate(end),
      () => setImmediate(end),
    ),
  )
}

/** Both ends of a channel between two threads. */
export interface Channel {
  readonly left: MessagePort
  readonly right: MessagePort
}

export function channel(): Channel {
  const { port1, port2 } = new MessageChannel()
  return { left: port1, right: port2 }
}
