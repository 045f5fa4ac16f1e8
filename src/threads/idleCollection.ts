import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

/** What the thread asks of V8. */
export interface Heap {
  /** bytes that the thread's heap takes of the system */
  committedBytes(): number
  /** share of the time since the last question in which the thread did something */
  busyShare(): number
  /** Collects all garbage and gives its memory back; the thread stands still for a tenth of a second or two. */
  collect(): void
}

const CHECK_MS = 5_000
const IDLE_SHARE = 0.1
/** Less is not worth the pause. */
const WORTH_BYTES = 32 * 1_048_576

/**
 * V8 collects garbage when it needs memory: a thread with nothing to do would keep what the last traces or large answers left, for
 * minutes or for ever. Looks from time to time whether the heap has grown since it was smallest and the thread is idle, and collects then.
 */
export function collectWhenIdle(heap: Heap = threadHeap()): NodeJS.Timeout {
  let smallest = Infinity
  return setInterval(() => {
    const isIdle = heap.busyShare() < IDLE_SHARE
    const bytes = heap.committedBytes()
    if (isIdle && bytes - smallest >= WORTH_BYTES) {
      heap.collect()
      // What is left is in use: it is not collected again.
      smallest = heap.committedBytes()
    } else {
      smallest = Math.min(smallest, bytes)
    }
  }, CHECK_MS).unref()
}

/** Of this thread, in which V8 shows its collector: see `setV8Flags`. */
function threadHeap(): Heap {
  let last = performance.eventLoopUtilization()
  return {
    committedBytes: () => getHeapStatistics().total_heap_size,
    busyShare: () => {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    collect: () => void globalThis.gc!({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  }
}
