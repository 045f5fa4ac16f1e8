import type { MessagePort } from 'node:worker_threads'
import {
  createParallelExecution,
  type ParallelCounts,
  type ParallelExecution,
} from '../../../execution/parallel/parallelExecution.ts'
import { createTableMemory, type TableMemory } from '../../../execution/parallel/versionTable.ts'
import { channel, type Started, type StartThread } from '../../start/spawn.ts'
import type { SpeculatorData, SpeculatorService } from '../speculator/speculatorThread.ts'

/** The executor's links to the threads that execute alongside it. */
export interface SpeculatorLinks {
  readonly memory: TableMemory
  /** one for each thread, to which it moves with these */
  readonly ports: readonly MessagePort[]
}

export interface StartedSpeculators {
  readonly threads: readonly Started<SpeculatorService>[]
  /** for the executor */
  readonly links: SpeculatorLinks
}

/** Starts all threads that execute but the executor itself. @param executionThreads EXECUTION_THREADS, 2 or more */
export function startSpeculators(
  executionThreads: number,
  data: Omit<SpeculatorData, 'memory' | 'index' | 'offers'>,
  start: StartThread,
): StartedSpeculators {
  const memory = createTableMemory(executionThreads - 1)
  const ports: MessagePort[] = []
  const threads: Started<SpeculatorService>[] = []
  for (let index = 0; index < executionThreads - 1; index++) {
    const { left, right } = channel()
    const own: SpeculatorData = { ...data, memory, index, offers: right }
    threads.push(start<SpeculatorService>('speculator', index, own, [right]))
    ports.push(left)
  }
  return { threads, links: { memory, ports } }
}

/**
 * Connects the executor with the speculators.
 * @param onEnd one of the threads has ended: from now on the executor executes alone
 */
export function connectSpeculators(
  { memory, ports }: SpeculatorLinks,
  {
    observe,
    onEnd,
    isForced,
  }: {
    readonly observe: (counts: ParallelCounts) => void
    readonly onEnd: () => void
    /** see `ParallelOptions` */
    readonly isForced?: boolean
  },
): ParallelExecution & { close(): void } {
  let areAlive = true
  const close = (): void => {
    areAlive = false
    for (const port of ports) port.close()
  }
  for (const port of ports) {
    port.on('close', () => {
      if (!areAlive) return
      close()
      onEnd()
    })
    // It carries no messages, and must not keep the process alive.
    port.unref()
  }
  const execution = createParallelExecution({
    memory,
    send: (offer) => {
      for (const port of ports) port.postMessage(offer)
    },
    areAlive: () => areAlive,
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    observe,
    now: () => performance.now(),
    speculators: ports.length,
    ...(isForced !== undefined && { isForced }),
  })
  return { ...execution, close }
}
