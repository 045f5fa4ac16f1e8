import { describe, expect, test } from 'vitest'
import { type BatchCall, type BatchLimits, createAnswerList, runBatch } from '../../../../src/rpc/jsonrpc/batch.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { createEventLoopQuota } from '../../../../src/rpc/transport/eventLoopQuota.ts'

/** Calls that note when they start and end; each takes two turns of the event loop. */
function createCalls() {
  const events: string[] = []
  let running = 0
  let most = 0
  const call = (id: string, order: BatchCall['order'], answer = `"${id}"`): BatchCall => ({
    id,
    order,
    expectsAnswer: true,
    answer: async () => {
      events.push(`+${id}`)
      most = Math.max(most, ++running)
      for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
      running--
      events.push(`-${id}`)
      return answer
    },
  })
  return { call, events, most: () => most }
}

const run = (calls: readonly BatchCall[], limits: Partial<BatchLimits> = {}): Promise<string[]> =>
  runBatch(calls, {
    maxBytes: 1_000_000,
    scope: OWN_SCOPE,
    quota: createEventLoopQuota(1_000),
    ...limits,
  })

describe('pipelined calls', () => {
  test('in a row are started in order and overlap; others wait for all of them', async () => {
    const { call, events } = createCalls()
    const calls = [
      call('a', 'free'),
      call('b', 'pipelined'),
      call('c', 'pipelined'),
      call('d', 'free'),
      call('e', 'pipelined'),
      call('f', 'alone'),
      call('g', 'alone'),
    ]
    expect(await run(calls)).toEqual(calls.map(({ id }) => `"${id}"`))
    expect(events.join(' ')).toBe('+a -a +b +c -b -c +d -d +e -e +f -f +g -g')
  })

  test('are few enough at a time', async () => {
    const { call, most } = createCalls()
    const calls = Array.from({ length: 150 }, (_, id) => call(String(id), 'pipelined'))
    expect(await run(calls)).toEqual(calls.map(({ id }) => `"${id}"`))
    expect(most()).toBe(64)
  })

  test('of which more would not fit the answer are not run and not answered as if they were', async () => {
    const { call, events } = createCalls()
    const long = 'x'.repeat(1_800)
    const calls = Array.from({ length: 10 }, (_, id) => call(String(id), 'pipelined', long))
    const answers = await run(calls, { maxBytes: 5_000 })
    const started = events.filter((event) => event.startsWith('+')).length
    // The answer that crosses the limit has run, as in a batch of any other calls.
    expect(answers.filter((answer) => answer === long)).toHaveLength(started - 1)
    expect(started).toBe(3)
    expect(answers[9]).toContain('response too large')
  })

  test('wait for the next turn when this one has done enough', async () => {
    const { call } = createCalls()
    let turns = 0
    const count = (): void => {
      turns++
      ticking = setImmediate(count)
    }
    let ticking = setImmediate(count)
    const grants = [true, true, false, false, true]
    const takenAt: number[] = []
    const take = (): boolean => {
      takenAt.push(turns)
      return grants.shift() ?? true
    }
    const calls = ['a', 'b', 'c', 'd'].map((id) => call(id, 'pipelined'))
    expect(await run(calls, { quota: { take } })).toEqual(calls.map(({ id }) => `"${id}"`))
    clearImmediate(ticking)
    // The third and the fourth time it got nothing. Other turns may pass in between on a busy machine.
    const [, , refused = 0, refusedAgain = 0, granted = 0] = takenAt
    expect(takenAt).toHaveLength(6)
    expect([refusedAgain > refused, granted > refusedAgain]).toEqual([true, true])
  })
})

describe('the quota of a turn', () => {
  test('is spent by all together and comes back with the next turn', async () => {
    const turn = createEventLoopQuota(2)
    for (let round = 0; round < 3; round++) {
      expect([turn.take(), turn.take(), turn.take(), turn.take()]).toEqual([true, true, false, false])
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
})

describe('answers that are too long together', () => {
  /** Calls whose answers come in the given order. */
  const answered = async (
    lengths: readonly number[],
    order: readonly number[],
    maxBytes: number,
  ): Promise<string[]> => {
    const waiting = lengths.map(() => Promise.withResolvers<void>())
    const calls = lengths.map(
      (length, index): BatchCall => ({
        id: String(index),
        order: 'free',
        expectsAnswer: true,
        answer: async () => {
          await waiting[index]!.promise
          return 'x'.repeat(length)
        },
      }),
    )
    const running = run(calls, { maxBytes })
    for (const index of order) {
      waiting[index]!.resolve()
      await new Promise((resolve) => setImmediate(resolve))
    }
    return running
  }

  test.each([
    ['in order', [0, 1, 2, 3]],
    ['in the reverse order', [3, 2, 1, 0]],
    ['mixed', [2, 0, 3, 1]],
  ])('are cut off at the same call, whichever ends first: %s', async (_, order) => {
    const out = await answered([40, 50, 30, 5], order, 100)
    expect(out.slice(0, 2)).toEqual(['x'.repeat(40), 'x'.repeat(50)])
    for (const late of out.slice(2)) expect(JSON.parse(late)).toMatchObject({ error: { code: -32003 } })
  })

  test('are dropped as they come: no more than the limit is held', () => {
    const answers = createAnswerList(100)
    for (const index of [5, 4, 3, 2, 1]) answers.put(index, 'x'.repeat(60))
    const held = [0, 1, 2, 3, 4, 5].filter((index) => answers.get(index) !== undefined)
    expect({ held, end: answers.end }).toEqual({ held: [1], end: 2 })
  })
})
