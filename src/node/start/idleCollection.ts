import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'

/** V8's heap, as a thread measures and collects it. */
export interface Heap {
  /** bytes that the thread's heap takes of the system */
  committedBytes(): number
  /** share of the time since the last question in which the thread did something */
  busyShare(): number
  /** Collects all garbage and returns its memory to the system; the thread pauses for a tenth of a second or two. */
  collect(): void
}

const CHECK_MS = 5_000
const IDLE_SHARE = 0.1
/** Less is not worth the pause of a thread that serves a client now and then … */
const WORTH_BYTES = 32 * 1_048_576
/** … and less than this not the pause of a rested one, which was hardly busy in so many checks. */
const RESTED = { share: 0.02, looks: 12, worthBytes: 8 * 1_048_576 } as const
/** Threads that start together do not collect together, where they would wait for each other's processors. */
const STAGGER_MS = 500

/**
 * Collects garbage when the thread is idle for the first time after its start, and then whenever it is idle and the heap has
 * grown since it was smallest. V8 itself collects only when it needs memory: an idle thread would keep what its start, the
 * last traces or large answers left, for minutes or forever.
 */
export function collectWhenIdle(heap: Heap = threadHeap(), delayMs = threadId * STAGGER_MS): void {
  let smallest = Number.NEGATIVE_INFINITY
  let restedLooks = 0
  const look = (): void => {
    const share = heap.busyShare()
    const bytes = heap.committedBytes()
    restedLooks = share < RESTED.share ? restedLooks + 1 : 0
    const worth = restedLooks >= RESTED.looks ? RESTED.worthBytes : WORTH_BYTES
    if (share < IDLE_SHARE && bytes - smallest >= worth) {
      heap.collect()
      // What is left is in use: it is not collected again.
      smallest = heap.committedBytes()
    } else {
      smallest = Math.min(smallest, bytes)
    }
  }
  setTimeout(() => setInterval(look, CHECK_MS).unref(), delayMs).unref()
}

/** Returns the heap of this thread, in which V8 shows its collector: see `setV8Flags`. */
function threadHeap(): Heap {
  // The main thread's context is older than the flag that shows the collector.
  const collector = globalThis.gc ?? (runInNewContext('gc') as NonNullable<typeof globalThis.gc>)
  let last = performance.eventLoopUtilization()
  return {
    committedBytes: () => getHeapStatistics().total_heap_size,
    busyShare: () => {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    collect: () => void collector({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  }
}
