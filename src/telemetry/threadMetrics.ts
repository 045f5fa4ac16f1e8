import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { AggregatorRegistry, Gauge, type MetricObject, Registry } from 'prom-client'

/** The metrics of one thread as plain data that can be posted to another. */
export type MetricsSnapshot = readonly MetricObject[]

/** Where a thread's metrics are registered. Each thread has one; the main thread adds them up. */
interface ThreadMetrics {
  readonly registry: Registry
  /** the current values; structured-clonable */
  snapshot(): Promise<MetricsSnapshot>
}

/** Milliseconds between two measurements of the event loop. Each wakes the thread; the metric shows the delay above this. */
const DELAY_RESOLUTION_MS = 50
const NANOSECONDS = 1e9
const QUANTILES = [
  ['0.5', 50],
  ['0.99', 99],
  ['1', 100],
] as const

/**
 * Creates a registry for the thread `name` (e.g. `main`, `executor`, `socket-1`), with the delay of
 * its event loop since the last snapshot. The delay is measured from the first snapshot on: where
 * no one reads the metrics, it would be a third of an idle node's work.
 */
export function createThreadMetrics(name: string): ThreadMetrics {
  const registry = new Registry()
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  new Gauge({
    name: 'coind_event_loop_delay_seconds',
    help: 'How late timers of the thread fired since the last scrape, by quantile',
    labelNames: ['thread', 'quantile'],
    registers: [registry],
    collect() {
      delay.enable()
      for (const [quantile, percent] of QUANTILES) {
        const seconds = delay.count === 0 ? 0 : delay.percentile(percent) / NANOSECONDS
        this.set({ thread: name, quantile }, Math.max(0, seconds - DELAY_RESOLUTION_MS / 1000))
      }
      delay.reset()
    },
  })
  new Gauge({
    name: 'coind_thread_memory_bytes',
    help: 'Memory that V8 holds for the thread: used and committed heap, and external memory',
    labelNames: ['thread', 'kind'],
    registers: [registry],
    collect() {
      const { used_heap_size, total_physical_size, external_memory } = getHeapStatistics()
      this.set({ thread: name, kind: 'used' }, used_heap_size)
      this.set({ thread: name, kind: 'committed' }, total_physical_size)
      this.set({ thread: name, kind: 'external' }, external_memory)
    },
  })
  return { registry, snapshot: async () => (await registry.getMetricsAsJSON()) as MetricObject[] }
}

/**
 * Formats the snapshots of all threads as one page of the Prometheus text format; values with equal
 * labels are added up.
 */
export async function formatMetrics(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot])).metrics()
}
