import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Metrics of a view thread. `queue`: cheap or heavy. */
export interface ViewMetrics {
  readonly taskSeconds: Histogram<'queue'>
  readonly waitingTasks: Gauge<'queue'>
  readonly deadlinesMissedTotal: Counter<'queue'>
}

export function createViewMetrics(registry: Registry): ViewMetrics {
  const registers = [registry]
  return {
    taskSeconds: new Histogram({
      name: 'coind_view_task_seconds',
      help: 'Time that calls, traces, proofs and scans took in a view thread, by queue',
      labelNames: ['queue'],
      buckets: [0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 5],
      registers,
    }),
    waitingTasks: new Gauge({
      name: 'coind_view_waiting_tasks',
      help: 'Tasks that wait for a view thread, by queue',
      labelNames: ['queue'],
      registers,
    }),
    deadlinesMissedTotal: new Counter({
      name: 'coind_view_deadlines_missed_total',
      help: 'Tasks that were stopped at their deadline, by queue',
      labelNames: ['queue'],
      registers,
    }),
  }
}
