import { type MessagePort, workerData } from 'node:worker_threads'
import { Registry } from 'prom-client'
import type { ContentRequest, PooledTransaction } from '../../../src/mempool/types.ts'
import type { CallDue } from '../../../src/node/roles/socket/viewPool.ts'
import { createViewTasks } from '../../../src/node/roles/view/viewTasks.ts'
import { connect, serve } from '../../../src/node/wire/port.ts'
import { monotonicMs } from '../../../src/rpc/jsonrpc/callScope.ts'
import { METHODS } from '../../../src/rpc/jsonrpc/methodTable.ts'
import type { ViewQueue } from '../../../src/rpc/jsonrpc/place.ts'
import { serveViewCall } from '../../../src/rpc/jsonrpc/runMethod.ts'
import { createViewMetrics } from '../../../src/telemetry/metrics.ts'
import type { MemoryPool } from '../../support/rpc/memoryPool.ts'
import { importSuite, SUITE_EXECUTION, suiteContext } from './rpcCompatNode.ts'

/** A view thread over the suite's chain instead of a database. */
export interface SuiteViewData {
  readonly directory: string
  readonly calls: MessagePort
  /** to the thread that has the pool */
  readonly pool: MessagePort
}

/** The pool as another thread sees it. */
export type PoolService = Pick<MemoryPool, Exclude<keyof MemoryPool, 'content'>> & {
  readonly transactions: (request: ContentRequest) => Promise<readonly PooledTransaction[]>
}

export type SuiteViewService = typeof service

const { directory, calls, pool } = workerData as SuiteViewData
const { add, get, pendingNonce, status, transactions } = connect<PoolService>(pool)
const context = suiteContext(await importSuite(directory), {
  add,
  get,
  pendingNonce,
  status,
  content: async (request) => ({ pending: await transactions(request), queued: [], release: () => undefined }),
})
const tasks = createViewTasks({
  lease: (scope) => ({
    context: {
      ...context,
      scope,
      execution: { ...SUITE_EXECUTION, yieldUntil: (deadlineMs) => tasks.yieldUntil(scope, deadlineMs) },
    },
    release: () => undefined,
  }),
  heavyCalls: { all: 8, client: 6, traces: 2 },
  monotonicMs,
  metrics: createViewMetrics(new Registry()),
})

const service = {
  call: (queue: ViewQueue, method: string, params: readonly unknown[], due: CallDue, signal: AbortSignal) =>
    tasks.run(queue, { ...due, signal }, params, (given) => serveViewCall(METHODS, given, { method, params }, console)),
  query: () => {
    throw new Error('the suite asks for nothing native')
  },
}
serve(calls, service)
