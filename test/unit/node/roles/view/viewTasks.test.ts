import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { createViewTasks } from '../../../../../src/node/roles/view/viewTasks.ts'
import { type CallScope, OWN_SCOPE, REQUEST_TIMEOUT_MS } from '../../../../../src/rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../../../src/rpc/jsonrpc/method.ts'
import type { ViewQueue } from '../../../../../src/rpc/jsonrpc/place.ts'

import { createViewMetrics } from '../../../../../src/telemetry/metrics.ts'

const ARRIVED_MS = 1_000_000

let nowMs: number
let leases: number
let started: number
let registry: Registry
let tasks: ReturnType<typeof createViewTasks>

beforeEach(() => {
  nowMs = ARRIVED_MS
  leases = 0
  started = 0
  registry = new Registry()
  tasks = createViewTasks({
    lease: (scope) => {
      leases++
      const view = { chain: {} }
      return { context: { scope, view } as unknown as RpcContext, release: () => void leases-- }
    },
    heavyCalls: { all: 8, client: 6, traces: 2 },
    monotonicMs: () => nowMs,
    metrics: createViewMetrics(registry),
  })
})

const scope = (given: Partial<CallScope> = {}): CallScope => ({
  ...OWN_SCOPE,
  deadlineMs: ARRIVED_MS + REQUEST_TIMEOUT_MS,
  ...given,
})

const run = <T>(queue: ViewQueue, given: CallScope, task: () => Promise<T>): Promise<T> =>
  tasks.run(queue, given, [], () => {
    started++
    return task()
  })

async function figure(name: string, labels: Readonly<Record<string, string | number>>): Promise<number> {
  const values = (await registry.getSingleMetric(name.replace(/_bucket$/, ''))!.get()).values
  const isAsked = (value: { readonly labels: object; readonly metricName?: string }): boolean =>
    (value.metricName ?? name) === name &&
    Object.entries(labels).every(([key, label]) => (value.labels as Record<string, unknown>)[key] === label)
  return values.filter(isAsked).reduce((sum, { value }) => sum + value, 0)
}

describe.each(['cheap', 'heavy'] as const)('a %s task', (queue) => {
  it('that expired on its way is not begun, and counted', async () => {
    nowMs += REQUEST_TIMEOUT_MS
    await expect(run(queue, scope(), async () => 'late')).rejects.toMatchObject({ reason: 'expired' })
    expect([started, leases]).toEqual([0, 0])
    expect(await figure('coind_view_dropped_tasks_total', { queue, reason: 'expired' })).toBe(1)
  })

  it('has a view while it runs, and what it waited for counts from its arrival', async () => {
    nowMs += 1_500
    expect(await run(queue, scope(), async () => leases)).toBe(1)
    expect(leases).toBe(0)
    expect(await figure('coind_view_wait_seconds_bucket', { queue, le: 1 })).toBe(0)
    expect(await figure('coind_view_wait_seconds_bucket', { queue, le: 2 })).toBe(1)
  })
})

it('begins none of the tasks that expire or are cancelled while they wait', async () => {
  const ends: (() => void)[] = []
  const endless = () => new Promise<void>((resolve) => ends.push(resolve))
  const running = Array.from({ length: 8 }, (_, index) =>
    run('heavy', scope({ deadlineMs: ARRIVED_MS * 2, client: `client ${index % 2}` }), endless),
  )
  const leaving = new AbortController()
  const waiting = Array.from({ length: 100 }, (_, index) =>
    run('heavy', index % 2 === 0 ? scope() : scope({ signal: leaving.signal }), endless),
  )
  const outcomes = Promise.allSettled(waiting)
  expect(started).toBe(8)
  leaving.abort()
  nowMs += REQUEST_TIMEOUT_MS
  for (const end of ends) end()
  await Promise.all(running)
  expect(new Set((await outcomes).map(({ status }) => status))).toEqual(new Set(['rejected']))
  expect(started).toBe(8)
  expect(await figure('coind_view_dropped_tasks_total', { reason: 'cancelled' })).toBe(50)
  expect(await figure('coind_view_dropped_tasks_total', { reason: 'expired' })).toBe(50)
  expect(await figure('coind_view_waiting_tasks', {})).toBe(0)
  expect(await figure('coind_view_running_tasks', {})).toBe(0)
})

describe('a running task', () => {
  it("stops at its method's deadline", async () => {
    const pause = tasks.yieldUntil(scope(), ARRIVED_MS + 5_000)
    nowMs += 4_999
    await pause()
    nowMs += 1
    await expect(pause()).rejects.toMatchObject({ name: 'ExecutionTimeout' })
    expect(await figure('coind_view_deadlines_missed_total', {})).toBe(1)
  })

  it("stops at its request's deadline when that is earlier", async () => {
    nowMs += REQUEST_TIMEOUT_MS - 1_000
    const pause = tasks.yieldUntil(scope(), nowMs + 5_000)
    nowMs += 999
    await pause()
    nowMs += 1
    await expect(pause()).rejects.toMatchObject({ name: 'ExecutionTimeout' })
  })

  it('stops when its client leaves, at the next turn', async () => {
    const leaving = new AbortController()
    const pause = tasks.yieldUntil(scope({ signal: leaving.signal }), ARRIVED_MS + 5_000)
    await pause()
    const turn = pause()
    leaving.abort()
    await expect(turn).rejects.toMatchObject({ name: 'ExecutionTimeout' })
    expect(await figure('coind_view_cancelled_tasks_total', {})).toBe(1)
  })
})
