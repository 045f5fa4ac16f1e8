import type { HeavyCallLimits } from '../../../config/config.ts'
import { ExecutionTimeout } from '../../../evm/engine.ts'
import { bytesOf } from '../../../primitives/valueBytes.ts'
import { type CallScope, REQUEST_TIMEOUT_MS } from '../../../rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../rpc/jsonrpc/method.ts'
import type { ViewQueue } from '../../../rpc/jsonrpc/place.ts'
import type { ContextLease } from '../../../rpc/jsonrpc/runMethod.ts'
import type { ViewMetrics } from '../../../telemetry/metrics.ts'
import { createHeavyQueue, PLACE_BYTES, TaskDropped } from './heavyQueue.ts'

interface ViewTasksOptions {
  /** a context on the newest head */
  readonly lease: (scope: CallScope) => ContextLease
  /** heavy tasks that run at the same time, in turns; more of them would only make each one slower */
  readonly heavyCalls: HeavyCallLimits
  /** see `monotonicMs` */
  readonly monotonicMs: () => number
  readonly metrics: ViewMetrics
}

interface ViewTasks {
  /**
   * Runs a task in its queue, unless no client waits for it any more.
   * @param parameters what the task keeps in memory while it waits
   * @throws TaskDropped (rejects) when it was not run
   */
  run<T>(queue: ViewQueue, scope: CallScope, parameters: unknown, task: (context: RpcContext) => Promise<T>): Promise<T>
  /**
   * Returns the function that a running task awaits between the parts of its work, to let other tasks run.
   * @param deadlineMs of the task's method; the request's own may be earlier
   * @throws ExecutionTimeout (rejects, when awaited) when no client waits for the task any more
   */
  yieldUntil(scope: CallScope, deadlineMs: number): () => Promise<void>
}

/** Memory of heavy tasks that wait: 2,048 small ones, fewer with large parameters. */
const WAITING_HEAVY_BYTES = 2_048 * PLACE_BYTES

/** Creates the queues of the work that a view thread does for clients. */
export function createViewTasks({ lease, heavyCalls, monotonicMs, metrics }: ViewTasksOptions): ViewTasks {
  const heavy = createHeavyQueue({
    maxRunning: heavyCalls,
    maxWaitingBytes: WAITING_HEAVY_BYTES,
    monotonicMs,
    observer: {
      counts: ({ waiting, running }) => {
        metrics.waitingTasks.set({ queue: 'heavy' }, waiting)
        metrics.runningTasks.set({ queue: 'heavy' }, running)
      },
      dropped: (reason) => metrics.droppedTasksTotal.inc({ queue: 'heavy', reason }),
    },
  })

  const runNow = async <T>(
    queue: ViewQueue,
    scope: CallScope,
    task: (context: RpcContext) => Promise<T>,
  ): Promise<T> => {
    const startMs = monotonicMs()
    const waitedMs = REQUEST_TIMEOUT_MS - (scope.deadlineMs - startMs)
    metrics.waitSeconds.observe({ queue }, waitedMs / 1000)
    const { context, release } = lease(scope)
    try {
      return await task(context)
    } finally {
      release()
      metrics.taskSeconds.observe({ queue }, (monotonicMs() - startMs) / 1000)
    }
  }

  return {
    run: async (queue, scope, parameters, task) => {
      if (queue !== 'cheap') {
        return heavy.run({ ...scope, kind: queue, bytes: () => bytesOf(parameters) }, () => runNow(queue, scope, task))
      }
      // Cheap tasks do not wait here, but may have waited on the way.
      if (monotonicMs() < scope.deadlineMs) return runNow(queue, scope, task)
      metrics.droppedTasksTotal.inc({ queue, reason: 'expired' })
      throw new TaskDropped('expired')
    },
    yieldUntil: (scope, deadlineMs) => {
      const untilMs = Math.min(scope.deadlineMs, deadlineMs)
      return async () => {
        await new Promise((resolve) => setImmediate(resolve))
        if (scope.signal.aborted) {
          metrics.cancelledTasksTotal.inc()
          throw new ExecutionTimeout('cancelled')
        }
        if (monotonicMs() < untilMs) return
        metrics.deadlinesMissedTotal.inc({ queue: 'heavy' })
        throw new ExecutionTimeout('execution timeout')
      }
    },
  }
}
