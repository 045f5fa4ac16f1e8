import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { publishSilence, watchSilence } from '../../../../src/node/start/threadSilence.ts'
import { createCopyChannel } from '../../../../src/node/wire/copyOnRequest.ts'

const undo: (() => void)[] = []
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step()
})

const NOBODY = { thread: '', silentMs: 0 }

/** A socket thread that asks a main thread, unless `isMainDeaf`, which asks the others; their clock. */
function setUp(threads: Readonly<Record<string, () => Promise<unknown>>>, isMainDeaf = false) {
  let nowMs = 1_000
  const channel = createCopyChannel(1)
  if (!isMainDeaf) undo.push(publishSilence(channel, threads, () => nowMs))
  const watch = watchSilence(channel, () => nowMs)
  undo.push(watch.close)
  /** What a probe sees when time has passed and earlier questions have had their answers. */
  const seenAfter = async (milliseconds: number) => {
    nowMs += milliseconds
    for (let round = 0; round < 20; round++) {
      watch.silence()
      await sleep(2)
    }
    return watch.silence()
  }
  return { watch, seenAfter }
}

it('tells of nobody while all answer', async () => {
  const { seenAfter } = setUp({ executor: async () => undefined, pool: async () => undefined })
  expect(await seenAfter(0)).toEqual(NOBODY)
  expect(await seenAfter(100_000)).toEqual(NOBODY)
})

it('tells of the thread that owes an answer for longest, until it gives it', async () => {
  const busy = Promise.withResolvers<void>()
  const asked: string[] = []
  const { seenAfter } = setUp({
    network: async () => void asked.push('network'),
    executor: () => {
      asked.push('executor')
      return busy.promise
    },
  })
  await seenAfter(0)
  expect(await seenAfter(70_000)).toEqual({ thread: 'executor', silentMs: 70_000 })
  // One question is enough.
  expect(asked.filter((thread) => thread === 'executor')).toEqual(['executor'])
  expect(asked.length).toBeGreaterThan(2)
  busy.resolve()
  expect(await seenAfter(5_000)).toEqual(NOBODY)
})

it('tells of a main thread that does not answer', async () => {
  const { watch, seenAfter } = setUp({}, true)
  expect(watch.silence()).toEqual(NOBODY)
  expect(await seenAfter(61_000)).toEqual({ thread: 'main', silentMs: 61_000 })
})
