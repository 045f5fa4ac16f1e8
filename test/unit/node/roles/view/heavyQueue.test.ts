import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, it } from 'vitest'
import { createHeavyQueue, type HeavyTask, PLACE_BYTES } from '../../../../../src/node/roles/view/heavyQueue.ts'
import { bytesOf } from '../../../../../src/primitives/valueBytes.ts'

const DEADLINE_MS = 30_000

let nowMs: number
/** names of tasks, as they started */
let started: string[]
/** names of tasks with why they were dropped */
let dropped: string[]
let counts: { readonly waiting: number; readonly running: number }
let ends: Map<string, () => void>
let queue: ReturnType<typeof createHeavyQueue>

beforeEach(() => {
  nowMs = 0
  started = []
  dropped = []
  counts = { waiting: 0, running: 0 }
  ends = new Map()
})

function open(
  all: number,
  places: number,
  { client = all, traces = all }: { readonly client?: number; readonly traces?: number } = {},
): void {
  queue = createHeavyQueue({
    maxRunning: { all, client, traces },
    maxWaitingBytes: places * PLACE_BYTES,
    monotonicMs: () => nowMs,
    observer: { counts: (given) => (counts = given), dropped: () => undefined },
  })
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Adds tasks of a client, named by it and a number; each runs until it is ended. */
async function add(client: string, numbers: readonly number[], task: Partial<HeavyTask> = {}): Promise<void> {
  for (const number of numbers) {
    const name = `${client}${number}`
    const { signal } = new AbortController()
    const given: HeavyTask = { client, kind: 'heavy', bytes: () => 0, deadlineMs: nowMs + DEADLINE_MS, signal, ...task }
    void queue
      .run(given, () => {
        started.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      })
      .catch(({ reason }) => dropped.push(`${name} ${reason}`))
  }
  await settled()
}

/** Ends running tasks one after the other, so that each makes room for the next, until none runs. */
async function endAll(): Promise<void> {
  while (ends.size > 0) {
    const [[name, end]] = ends as unknown as [[string, () => void]]
    ends.delete(name)
    end()
    await settled()
  }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

describe('heavy queue', () => {
  it('runs as many as it may, the others in order of arrival', async () => {
    open(2, 10)
    await add('a', upTo(5))
    expect([started, counts]).toEqual([['a1', 'a2'], { waiting: 3, running: 2 }])
    await endAll()
    expect([started, counts]).toEqual([['a1', 'a2', 'a3', 'a4', 'a5'], { waiting: 0, running: 0 }])
  })

  it('gives the place of a task that fails to the next one', async () => {
    open(1, 10)
    const { signal } = new AbortController()
    const task: HeavyTask = { client: 'a', kind: 'heavy', bytes: () => 0, deadlineMs: DEADLINE_MS, signal }
    const failed = expect(
      queue.run(task, async () => {
        await settled()
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    await add('b', [1])
    await failed
    await settled()
    expect(started).toEqual(['b1'])
  })

  it('serves the newest first once the oldest has waited too long, and the oldest first again after that', async () => {
    open(1, 10)
    await add('a', upTo(4))
    nowMs += 1_001
    await add('a', [5])
    await endAll()
    expect(started).toEqual(['a1', 'a5', 'a4', 'a3', 'a2'])
    await add('a', [6, 7, 8])
    await endAll()
    expect(started.slice(5)).toEqual(['a6', 'a7', 'a8'])
  })

  it('never runs what expired while it waited', async () => {
    open(1, 10)
    await add('a', upTo(4))
    nowMs += DEADLINE_MS - 1
    await add('b', [1])
    nowMs += 1
    await endAll()
    expect(started).toEqual(['a1', 'b1'])
    expect(dropped).toEqual(['a2 expired', 'a3 expired', 'a4 expired'])
    expect(counts).toEqual({ waiting: 0, running: 0 })
  })

  it('never runs what expires before its turn although it came later', async () => {
    open(1, 10)
    await add('a', [1, 2])
    await add('b', [1], { deadlineMs: 10 })
    await add('a', [3], { deadlineMs: 10 })
    nowMs = 10
    await endAll()
    expect(started).toEqual(['a1', 'a2'])
    expect(dropped).toEqual(['b1 expired', 'a3 expired'])
  })

  it('never runs what came too late or is cancelled already', async () => {
    open(1, 10)
    await add('a', [1], { deadlineMs: 0 })
    await add('a', [2], { signal: AbortSignal.abort() })
    expect([started, dropped]).toEqual([[], ['a1 expired', 'a2 cancelled']])
  })

  it('makes room with what expired, before it refuses', async () => {
    open(1, 3)
    await add('a', upTo(4))
    nowMs += DEADLINE_MS
    await add('a', [5, 6, 7])
    expect(dropped).toEqual(['a2 expired', 'a3 expired', 'a4 expired'])
    await endAll()
    expect(started).toEqual(['a1', 'a5', 'a6', 'a7'])
  })

  it('drops cancelled tasks at once, and leaves the others', async () => {
    open(1, 10)
    const leaving = new AbortController()
    await add('b', [1])
    await add('a', upTo(3), { signal: leaving.signal })
    await add('b', [2])
    leaving.abort()
    await settled()
    expect(dropped).toEqual(['a1 cancelled', 'a2 cancelled', 'a3 cancelled'])
    expect(counts).toEqual({ waiting: 1, running: 1 })
    await endAll()
    expect(started).toEqual(['b1', 'b2'])
  })

  it('gives each waiting client its turn', async () => {
    open(1, 20)
    await add('a', upTo(6))
    await add('b', upTo(2))
    await add('c', upTo(3))
    await endAll()
    expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'c2', 'a4', 'c3', 'a5', 'a6'])
  })

  it('leaves places to other clients, and starts as many as may run when a place is free', async () => {
    open(4, 20, { client: 3 })
    await add('a', upTo(5))
    expect([started, counts]).toEqual([['a1', 'a2', 'a3'], { waiting: 2, running: 3 }])
    await add('b', upTo(2))
    expect(started.slice(3)).toEqual(['b1'])
    ends.get('a1')!()
    ends.delete('a1')
    await settled()
    expect(started.slice(4)).toEqual(['a4'])
    await endAll()
    expect([started.toSorted(), counts]).toEqual([
      ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2'],
      { waiting: 0, running: 0 },
    ])
  })

  it('runs few traces, which other tasks pass, and gives each client its turn for one', async () => {
    open(3, 20, { traces: 1 })
    await add('a', upTo(3), { kind: 'trace' })
    await add('b', [1], { kind: 'trace' })
    await add('a', [4, 5, 6])
    expect([started, counts]).toEqual([['a1', 'a4', 'a5'], { waiting: 4, running: 3 }])
    ends.get('a1')!()
    ends.delete('a1')
    await settled()
    expect(started.slice(3)).toEqual(['a2'])
    await endAll()
    expect(started.slice(4)).toEqual(['a6', 'b1', 'a3'])
    expect(counts).toEqual({ waiting: 0, running: 0 })
  })

  it('refuses when it is full, the first who came stay', async () => {
    open(1, 3)
    await add('a', upTo(6))
    expect(dropped).toEqual(['a5 refused', 'a6 refused'])
    await endAll()
    expect(started).toEqual(['a1', 'a2', 'a3', 'a4'])
  })

  it('takes places from the client that has most of them, until all have the same', async () => {
    open(1, 6)
    await add('a', upTo(7))
    await add('b', upTo(4))
    expect(dropped).toEqual(['a2 refused', 'a3 refused', 'a4 refused', 'b4 refused'])
    dropped = []
    await add('c', upTo(3))
    expect(dropped).toEqual(['a5 refused', 'b1 refused', 'c3 refused'])
    dropped = []
    await add('a', [8])
    expect(dropped).toEqual(['a8 refused'])
    await endAll()
    expect(started).toEqual(['a1', 'a6', 'b2', 'c1', 'a7', 'b3', 'c2'])
  })

  it('counts the bytes of parameters', async () => {
    open(1, 10)
    const large = { bytes: () => 4 * PLACE_BYTES }
    await add('a', [1])
    await add('a', [2, 3], large)
    await add('a', [4])
    expect(dropped).toEqual(['a4 refused'])
    await add('b', [1])
    expect(dropped).toEqual(['a4 refused', 'a2 refused'])
    await add('b', [2], { bytes: () => 10 * PLACE_BYTES })
    expect(dropped.slice(2)).toEqual(['b2 refused'])
    await endAll()
    expect(started).toEqual(['a1', 'a3', 'b1'])
  })

  it('leaves no listener behind', async () => {
    open(1, 10)
    const { signal } = new AbortController()
    await add('a', upTo(3), { signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(2)
    await endAll()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

it('bytes are those of texts and byte arrays, and something for everything else', () => {
  expect(bytesOf('x'.repeat(1_000))).toBe(1_008)
  expect(bytesOf([{ data: 'x'.repeat(1_000) }, new Uint8Array(500), null, 1, true])).toBeGreaterThan(1_500)
  expect(bytesOf([{ data: 'x'.repeat(1_000) }, new Uint8Array(500), null, 1, true])).toBeLessThan(1_600)
})
