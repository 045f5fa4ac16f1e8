import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { createPendingResponses } from '../../../../src/rpc/transport/pendingResponses.ts'

/** The three things that are used of a response: its two events and its end. */
class FakeResponse extends EventEmitter {
  isDestroyed = false
  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }
}

const tracked = (pending: ReturnType<typeof createPendingResponses>, bytes: number, client = 'a'): FakeResponse => {
  const response = new FakeResponse()
  pending.track(response as unknown as ServerResponse, bytes, client)
  return response
}

afterEach(() => {
  vi.useRealTimers()
})

test('when all together are too large the oldest are given up, never the newest', () => {
  const pending = createPendingResponses({ totalBytes: 100, writeMs: 1_000 })
  const [first, second, third] = [tracked(pending, 40), tracked(pending, 60), tracked(pending, 30)]
  expect([first, second, third].map(({ isDestroyed }) => isDestroyed)).toEqual([true, false, false])
  const huge = tracked(pending, 500)
  expect([second, third, huge].map(({ isDestroyed }) => isDestroyed)).toEqual([true, true, false])
  pending.close()
})

test('the client that has most pays for it, with its oldest', () => {
  const pending = createPendingResponses({ totalBytes: 100, writeMs: 1_000 })
  const little = tracked(pending, 20, 'little')
  const greedy = [tracked(pending, 30, 'greedy'), tracked(pending, 40, 'greedy')]
  const newcomer = tracked(pending, 40, 'newcomer')
  expect([little, ...greedy, newcomer].map(({ isDestroyed }) => isDestroyed)).toEqual([false, true, false, false])
  const huge = tracked(pending, 100, 'greedy')
  expect([little, ...greedy, newcomer, huge].map(({ isDestroyed }) => isDestroyed)).toEqual([
    true,
    true,
    true,
    true,
    false,
  ])
  pending.close()
})

test('one that was read does not count any more', () => {
  const pending = createPendingResponses({ totalBytes: 100, writeMs: 1_000 })
  const first = tracked(pending, 80)
  first.emit('finish')
  first.emit('close')
  const second = tracked(pending, 80)
  tracked(pending, 20)
  expect([first.isDestroyed, second.isDestroyed]).toEqual([false, false])
  tracked(pending, 1)
  expect(second.isDestroyed).toBe(true)
  pending.close()
})

test('one that is not read in time is given up', () => {
  vi.useFakeTimers()
  const pending = createPendingResponses({ totalBytes: 100, writeMs: 2_500 })
  const first = tracked(pending, 1)
  vi.advanceTimersByTime(1_500)
  const second = tracked(pending, 1)
  vi.advanceTimersByTime(1_500)
  expect([first.isDestroyed, second.isDestroyed]).toEqual([true, false])
  vi.advanceTimersByTime(2_000)
  expect(second.isDestroyed).toBe(true)
  pending.close()
})
