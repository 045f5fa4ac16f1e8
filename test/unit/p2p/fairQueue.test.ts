import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FairQueue } from '../../../src/p2p/fairQueue.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const createQueue = (isReady?: () => boolean) =>
  new FairQueue({
    rate: { perSecond: 100, burst: 10 },
    now: () => performance.now(),
    ...(isReady === undefined ? {} : { isReady }),
  })

/** Keeps so much work of an owner waiting; counts what starts. */
function press(queue: FairQueue, owner: string, cost: number, pieces: number): { done: number } {
  const counted = { done: 0 }
  const add = (): void => {
    queue.wait(
      owner,
      () => cost,
      () => {
        counted.done += cost
        add()
      },
    )
  }
  for (let piece = 0; piece < pieces; piece++) add()
  return counted
}

test('work starts at once within the rate, then waits for it', async () => {
  const queue = createQueue()
  expect([4, 4, 4, 1].map((cost) => queue.take('a', cost))).toEqual([true, true, true, false])
  const started: string[] = []
  for (const name of ['first', 'second'])
    queue.wait(
      'a',
      () => 10,
      () => started.push(name),
    )
  expect(queue.take('b', 1)).toBe(false)
  await vi.advanceTimersByTimeAsync(20)
  expect(started).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(99)
  expect(started).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(1)
  expect(started).toEqual(['first', 'second'])
  expect(queue.waiting).toBe(0)
})

test('owners that always have work get equal shares, however much of it waits and however large it is', async () => {
  const queue = createQueue()
  const owners = [press(queue, 'a', 1, 500), press(queue, 'b', 20, 3), press(queue, 'c', 5, 1)]
  await vi.advanceTimersByTimeAsync(30_000)
  for (const { done } of owners) {
    expect(done).toBeGreaterThan(960)
    expect(done).toBeLessThan(1_040)
  }
})

test('an owner that comes now and then is next, before those that always have work', async () => {
  const queue = createQueue()
  for (let index = 0; index < 20; index++) press(queue, `greedy ${index}`, 1, 50)
  await vi.advanceTimersByTimeAsync(5_000)
  const waits: number[] = []
  for (let visit = 0; visit < 10; visit++) {
    const beginMs = performance.now()
    queue.wait(
      'rare',
      () => 1,
      () => waits.push(performance.now() - beginMs),
    )
    await vi.advanceTimersByTimeAsync(1_000)
  }
  // Not behind the work of the twenty, which takes 200 ms for one piece of each.
  expect(waits).toHaveLength(10)
  expect(Math.max(...waits)).toBeLessThanOrEqual(20)
})

test('large work of some owners does not hold up small work of others', async () => {
  const queue = createQueue()
  const greedy = Array.from({ length: 3 }, (_, index) => press(queue, `greedy ${index}`, 1_000, 1))
  await vi.advanceTimersByTimeAsync(1_000)
  const waits: number[] = []
  for (let visit = 0; visit < 50; visit++) {
    const beginMs = performance.now()
    const counted = () => waits.push(performance.now() - beginMs)
    if (queue.take('rare', 1)) counted()
    else queue.wait('rare', () => 1, counted)
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(waits).toHaveLength(50)
  // A tenth of a second's rate at a time.
  expect(Math.max(...waits)).toBeLessThanOrEqual(110)
  expect(greedy.reduce((sum, { done }) => sum + done, 0)).toBeGreaterThanOrEqual(3_000)
})

test('large work starts at once where it was saved up for, and is asked for its cost again in each turn', async () => {
  const queue = new FairQueue({ rate: { perSecond: 100, burst: 50 }, now: () => performance.now() })
  expect(queue.take('a', 40)).toBe(true)
  expect(queue.take('a', 40)).toBe(false)
  let cost = 1_000
  const started: number[] = []
  queue.wait(
    'a',
    () => cost,
    () => started.push(performance.now()),
  )
  await vi.advanceTimersByTimeAsync(500)
  expect(started).toEqual([])
  cost = 0
  await vi.advanceTimersByTimeAsync(110)
  expect(started).toHaveLength(1)
})

test('what was idle has no claim to what it did not use', async () => {
  const queue = createQueue()
  expect(queue.take('idle', 1)).toBe(true)
  const busy = press(queue, 'busy', 1, 10)
  await vi.advanceTimersByTimeAsync(10_000)
  const before = busy.done
  const back = press(queue, 'idle', 1, 10)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(back.done).toBeLessThan(60)
  expect(busy.done - before).toBeGreaterThan(40)
})

test('work that is taken back does not start, and nothing starts while the queue is not ready', async () => {
  let isReady = false
  const queue = createQueue(() => isReady)
  expect(queue.take('a', 1)).toBe(false)
  const started: string[] = []
  const cancel = queue.wait(
    'a',
    () => 1,
    () => started.push('a'),
  )
  queue.wait(
    'b',
    () => 1,
    () => started.push('b'),
  )
  cancel()
  cancel()
  await vi.advanceTimersByTimeAsync(1_000)
  expect([started, queue.waiting]).toEqual([[], 1])
  isReady = true
  await vi.advanceTimersByTimeAsync(20)
  expect([started, queue.waiting]).toEqual([['b'], 0])
})
