import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type AnswerSlot, AnswerSlots } from '../../../src/p2p/answerSlots.ts'
import { BLOCK_ANSWERS, LIMITS } from '../../../src/p2p/limits.ts'
import type { Session } from '../../../src/p2p/session.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** Those whose names begin with "v" are validators; what stands before a dot is the network. */
const createSlots = () =>
  new AnswerSlots({
    isReserved: ({ id }) => id.startsWith('v'),
    ownerOf: ({ id }) => id.split('.')[0]!,
    now: () => performance.now(),
  })

interface Asked {
  slot: AnswerSlot | undefined
  error: string | undefined
}

/** Asks for a slot; shows when it is taken, or why not. */
function ask(slots: AnswerSlots, id: string, unsent: () => number = () => 0): Asked {
  const asked: Asked = { slot: undefined, error: undefined }
  slots.take({ id } as Session, unsent).then(
    (slot) => {
      asked.slot = slot
    },
    (error: Error) => {
      asked.error = error.message
    },
  )
  return asked
}

const settle = () => vi.advanceTimersByTimeAsync(0)
const hasSlot = ({ slot }: Asked): boolean => slot !== undefined

test('a peer has its share, strangers have theirs, and the rest is for validators', async () => {
  const slots = createSlots()
  const names = ['a', 'a', 'a', 'b', 'b', 'c', 'c', 'd', 'v1', 'v1', 'v1', 'v2']
  const asked = names.map((id) => ask(slots, id))
  await settle()
  const served = names.filter((_, i) => hasSlot(asked[i]!))
  expect(served).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'v1', 'v1'])
  expect(served).toHaveLength(BLOCK_ANSWERS.total)
})

test('who has to wait is served in turn', async () => {
  const slots = createSlots()
  const served = ['a', 'a', 'b', 'b', 'c', 'c'].map((id) => ask(slots, id))
  const [third, other] = [ask(slots, 'a'), ask(slots, 'd')]
  await settle()
  // One of b's ends: it is not a's turn, who has two.
  served[2]!.slot!.release()
  await settle()
  expect([third, other].map(hasSlot)).toEqual([false, true])
  served[0]!.slot!.release()
  await settle()
  expect(hasSlot(third)).toBe(true)
})

test('two that end at once make room for two, and no more', async () => {
  const slots = createSlots()
  const served = ['a', 'a', 'b', 'b', 'c', 'c'].map((id) => ask(slots, id))
  const waiting = ['d', 'e', 'f'].map((id) => ask(slots, id))
  await settle()
  served[0]!.slot!.release()
  // Twice is once.
  served[0]!.slot!.release()
  served[2]!.slot!.release()
  const late = ask(slots, 'g')
  await settle()
  expect([...waiting, late].map(hasSlot)).toEqual([true, true, false, false])
})

test('who waits too long is told so', async () => {
  const slots = createSlots()
  const served = ['a', 'a'].map((id) => ask(slots, id))
  const late = ask(slots, 'a')
  await vi.advanceTimersByTimeAsync(LIMITS.requestMs)
  expect(late).toEqual({ slot: undefined, error: 'too many answers under way' })
  // Nothing of it remains.
  for (const { slot } of served) slot!.release()
  const again = ['a', 'a'].map((id) => ask(slots, id))
  await settle()
  expect(again.every(hasSlot)).toBe(true)
})

test('the next slot is for the network with the fewest answers, then for the one that was served the longest time ago', async () => {
  const slots = createSlots()
  const crowd = Array.from({ length: 10 }, (_, index) => ask(slots, `crowd.${index}`))
  const [b, c] = [ask(slots, 'b.1'), ask(slots, 'c.1')]
  await settle()
  expect([b, c].map(hasSlot)).toEqual([false, false])
  crowd[0]!.slot!.release()
  await settle()
  expect([b, c].map(hasSlot)).toEqual([true, false])
  // b comes again, before c's turn.
  b.slot!.release()
  await settle()
  expect(hasSlot(c)).toBe(true)
  const [again, other] = [ask(slots, 'c.2'), ask(slots, 'b.2')]
  c.slot!.release()
  await settle()
  expect([again, other].map(hasSlot)).toEqual([false, true])
})

describe('a peer that takes its answer', () => {
  const ANSWER = LIMITS.bytesPerAnswer

  /** An answer whose peer takes so many bytes a second. @returns why it ended, if it did */
  function answerSlowly(slots: AnswerSlots, id: string, bytesPerSecond: number): { asked: Asked; ended: string[] } {
    let beginMs = 0
    const taken = () => Math.min(ANSWER, ((performance.now() - beginMs) * bytesPerSecond) / 1_000)
    const asked = ask(slots, id, () => ANSWER - taken())
    const ended: string[] = []
    void settle().then(() => {
      beginMs = performance.now()
      asked.slot
        ?.send(
          new Uint8Array(ANSWER),
          () => new Promise((resolve) => setTimeout(resolve, (ANSWER / bytesPerSecond) * 1_000)),
        )
        .catch((error: Error) => ended.push(error.message))
        .finally(() => asked.slot!.release())
    })
    return { asked, ended }
  }

  const REASON = 'the answer is taken too slowly while others wait'

  test.each([
    ['hardly at all', 10],
    ['in a trickle', BLOCK_ANSWERS.stalledRate - 1],
  ])('%s gives its slot back as soon as another waits, whatever its network', async (_, rate) => {
    const slots = createSlots()
    const held = ['a', 'a', 'b', 'b', 'c', 'c'].map((id) => answerSlowly(slots, id, rate))
    await vi.advanceTimersByTimeAsync(5_000)
    expect(held.flatMap(({ ended }) => ended)).toEqual([])
    const asked = [ask(slots, 'joiner'), ask(slots, 'joiner')]
    await vi.advanceTimersByTimeAsync(300)
    expect(asked.map(hasSlot)).toEqual([true, true])
    expect(held.flatMap(({ ended }) => ended)).toEqual([REASON, REASON])
    for (const { slot } of asked) slot!.release()
  })

  test('slowly gives it to a network that has fewer', async () => {
    const slots = createSlots()
    const held = ['a.1', 'a.2', 'a.3', 'a.4', 'b.1', 'c.1'].map((id) =>
      answerSlowly(slots, id, BLOCK_ANSWERS.slowRate / 2),
    )
    await vi.advanceTimersByTimeAsync(2_000)
    const asked = [ask(slots, 'd.1'), ask(slots, 'd.2')]
    await vi.advanceTimersByTimeAsync(1_000)
    // The second one has none that is slower and has less: b and c have one each, as d has then.
    expect(asked.map(hasSlot)).toEqual([true, true])
    expect(held.map(({ ended }) => ended.length)).toEqual([1, 1, 0, 0, 0, 0])
    const third = ask(slots, 'd.3')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(hasSlot(third)).toBe(false)
  })

  test('fast keeps it, and so does a slow one for which nobody waits', async () => {
    const slots = createSlots()
    const slow = answerSlowly(slots, 'slow', ANSWER / 15)
    const fast = ['a', 'a', 'b', 'b', 'c'].map((id) => answerSlowly(slots, id, BLOCK_ANSWERS.slowRate))
    await vi.advanceTimersByTimeAsync(4_000)
    expect([slow, ...fast].flatMap(({ ended }) => ended)).toEqual([])
    const waiting = ask(slots, 'd')
    await vi.advanceTimersByTimeAsync(4_500)
    expect(hasSlot(waiting)).toBe(true)
    expect(fast.flatMap(({ ended }) => ended)).toEqual([])
  })

  test('is a validator: it keeps its slot', async () => {
    const slots = createSlots()
    const held = ['v1', 'v1', 'v2', 'v2', 'v3', 'v3', 'v4', 'v4'].map((id) => answerSlowly(slots, id, 10))
    await vi.advanceTimersByTimeAsync(3_000)
    const waiting = ask(slots, 'a')
    await vi.advanceTimersByTimeAsync(3_000)
    expect(hasSlot(waiting)).toBe(false)
    expect(held.flatMap(({ ended }) => ended)).toEqual([])
  })
})
