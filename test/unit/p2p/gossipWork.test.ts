import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { GossipWork } from '../../../src/p2p/gossipWork.ts'
import { GOSSIP_WORK } from '../../../src/p2p/limits.ts'
import type { Session } from '../../../src/p2p/session.ts'
import { createNetworkMetrics } from '../../../src/telemetry/metrics.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Sessions whose names begin with "v" are validators'; what stands before a dot is the network. */
function setUp(hasRoom: (isReserved: boolean) => boolean = () => true) {
  const work = new GossipWork({
    isReserved: ({ id }) => id.startsWith('v'),
    ownerOf: ({ id }) => id.split('.')[0]!,
    hasRoom,
    metrics: createNetworkMetrics(new Registry()),
    now: () => performance.now(),
  })
  const session = (id: string) => ({ id }) as Session
  /** Reads a frame; shows whether that has begun. */
  const read = (id: string, cost: number) => {
    const frame = { isRead: false, cancel: (): void => undefined }
    const start = (): void => {
      frame.isRead = true
    }
    const taken = work.take(session(id), () => cost, start)
    if (taken === true) start()
    else frame.cancel = taken
    return frame
  }
  /** Reads frames one after another, as a stream does; counts the work. */
  const press = (id: string, cost: number, refused = 0) => {
    const counted = { done: 0, refused: 0 }
    const done = (): void => {
      counted.done += cost
      counted.refused += refused
      work.refused(session(id), refused)
    }
    const next = (): void => {
      for (let count = 0; count < 100; count++) {
        const taken = work.take(
          session(id),
          () => cost,
          () => {
            done()
            queueMicrotask(next)
          },
        )
        if (taken !== true) return
        done()
      }
      setTimeout(next, 10)
    }
    next()
    return counted
  }
  return { work, session, read, press }
}

const { strangers, reserved, refused, checked } = GOSSIP_WORK

test('all strangers together have their rate, however many sessions and networks; validators have another', async () => {
  const { press } = setUp()
  const crowd = Array.from({ length: 200 }, (_, index) => press(`n${index % 20}.${index}`, 4))
  const validator = press('v1', 4)
  const seconds = 20
  await vi.advanceTimersByTimeAsync(seconds * 1_000)
  const done = crowd.reduce((sum, counted) => sum + counted.done, 0)
  expect(done).toBeGreaterThan(0.95 * (strangers.burst + seconds * strangers.perSecond))
  expect(done).toBeLessThanOrEqual(1.02 * (strangers.burst + seconds * strangers.perSecond))
  expect(validator.done).toBeGreaterThan(0.95 * (reserved.burst + seconds * reserved.perSecond))
})

test('sessions of one network share what a session of another one has alone', async () => {
  const { press } = setUp()
  const crowd = Array.from({ length: 40 }, (_, index) => press(`crowd.${index}`, 4))
  await vi.advanceTimersByTimeAsync(10_000)
  const honest = press('honest.1', 4)
  const before = crowd.reduce((sum, { done }) => sum + done, 0)
  await vi.advanceTimersByTimeAsync(10_000)
  const done = crowd.reduce((sum, counted) => sum + counted.done, 0) - before
  expect(honest.done).toBeGreaterThan(0.9 * done)
})

test('refused transactions are paid before the next frame of their network is read, and others are read meanwhile', async () => {
  const { work, session, read } = setUp()
  work.refused(session('a.1'), refused.burst)
  expect(read('a.1', 1).isRead).toBe(true)
  work.refused(session('a.1'), 2 * refused.perSecond)
  const [first, second] = [read('a.2', 1), read('b.1', 1)]
  expect([first.isRead, second.isRead]).toEqual([false, true])
  await vi.advanceTimersByTimeAsync(1_800)
  expect(first.isRead).toBe(false)
  await vi.advanceTimersByTimeAsync(200)
  expect(first.isRead).toBe(true)
})

test('a session that ends while it pays leaves the debt to its network', async () => {
  const { work, session, read } = setUp()
  work.refused(session('a.1'), refused.burst)
  read('a.1', 1)
  work.refused(session('a.1'), 3 * refused.perSecond)
  const frame = read('a.1', 1)
  frame.cancel()
  const next = read('a.2', 1)
  await vi.advanceTimersByTimeAsync(2_800)
  expect(next.isRead).toBe(false)
  await vi.advanceTimersByTimeAsync(200)
  expect([frame.isRead, next.isRead]).toEqual([false, true])
})

test('networks whose transactions are refused share the rate of that, and others have all their own', async () => {
  const { press } = setUp()
  const attackers = Array.from({ length: 10 }, (_, index) => press(`a${index}.1`, 4, 100))
  const honest = press('honest.1', 4)
  const seconds = 30
  await vi.advanceTimersByTimeAsync(seconds * 1_000)
  const sum = attackers.reduce((total, counted) => total + counted.refused, 0)
  expect(sum).toBeLessThanOrEqual(refused.burst + seconds * refused.perSecond + attackers.length * 200)
  expect(honest.done).toBeGreaterThan(0.9 * seconds * strangers.perSecond)
})

test('while many transactions of a network are checked, no more of it are read', async () => {
  const { work, session, read } = setUp()
  const ends = [work.checking(session('a.1'), checked), work.checking(session('a.2'), 1)]
  const frames = [read('a.1', 1), read('a.3', 1), read('b.1', 1), read('v1', 1)]
  frames[1]!.cancel()
  expect(frames.map(({ isRead }) => isRead)).toEqual([false, false, true, true])
  ends[1]!()
  expect(frames.map(({ isRead }) => isRead)).toEqual([true, false, true, true])
  ends[0]!()
  expect(read('a.1', 1).isRead).toBe(true)
})

test('nothing is read while there is no room for transactions', async () => {
  let isFull = true
  const { read } = setUp((isReserved) => isReserved || !isFull)
  const [stranger, validator] = [read('a.1', 1), read('v1', 1)]
  await vi.advanceTimersByTimeAsync(1_000)
  expect([stranger.isRead, validator.isRead]).toEqual([false, true])
  isFull = false
  await vi.advanceTimersByTimeAsync(100)
  expect(stranger.isRead).toBe(true)
})
