import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { createViewCompressor } from '../../../../../src/node/roles/socket/viewCompressor.ts'
import { ThreadStopped } from '../../../../../src/node/wire/port.ts'

/** View threads that compress when the test says so. */
function createViews(count: number) {
  const started: { view: number; length: number; signal: AbortSignal; finish(): void; fail(error: Error): void }[] = []
  const views = Array.from({ length: count }, (_, view) => ({
    compress: (_encoding: string, { length }: Uint8Array, signal: AbortSignal) => {
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
      started.push({ view, length, signal, finish: () => resolve(new Uint8Array(1)), fail: reject })
      return promise
    },
  }))
  return { views, started }
}

const LONG_MS = 600_000
const answerOf = (length: number) => ({ length, read: () => new Uint8Array(length) })
const caller = (client = '192.0.2.1', signal = new AbortController().signal) => ({ client, signal })

describe('answers are compressed', () => {
  test('in view threads, but not in the one that admits transactions', async () => {
    const { views, started } = createViews(3)
    const compressor = createViewCompressor(views, { waitMs: LONG_MS })
    const answers = [1, 2].map((length) => compressor.compress('gzip', answerOf(length), caller()))
    await nextTurn()
    expect(started.map(({ view }) => view)).toEqual([1, 2])
    for (const { finish } of started) finish()
    expect((await Promise.all(answers)).map((bytes) => bytes?.length)).toEqual([1, 1])

    const alone = createViews(1)
    void createViewCompressor(alone.views, { waitMs: LONG_MS }).compress('br', answerOf(1), caller())
    await nextTurn()
    expect(alone.started.map(({ view }) => view)).toEqual([0])
  })

  test('a few at a time, and clients take turns', async () => {
    const { views, started } = createViews(1)
    const compressor = createViewCompressor(views, { waitMs: LONG_MS, maxRunning: { all: 3, client: 2 } })
    const ask = (client: string, length: number) => compressor.compress('gzip', answerOf(length), caller(client))
    for (let length = 1; length <= 50; length++) void ask('192.0.2.1', length)
    void ask('192.0.2.2', 100)
    await nextTurn()
    expect(started.map(({ length }) => length)).toEqual([1, 2, 100])
    started[2]!.finish()
    started[0]!.finish()
    await nextTurn()
    void ask('192.0.2.3', 200)
    await nextTurn()
    expect(started.slice(3).map(({ length }) => length)).toEqual([3, 200])
  })
})

test('an answer is made into bytes when its turn comes', async () => {
  const { views, started } = createViews(1)
  const compressor = createViewCompressor(views, { waitMs: LONG_MS, maxRunning: { all: 1, client: 1 } })
  let reads = 0
  const answer = { length: 1, read: () => new Uint8Array(++reads) }
  for (let count = 0; count < 3; count++) void compressor.compress('gzip', answer, caller())
  await nextTurn()
  expect(reads).toBe(1)
  started[0]!.finish()
  await nextTurn()
  expect(reads).toBe(2)
})

describe('an answer is sent as it is', () => {
  test('when there is no place for one more', async () => {
    const { views, started } = createViews(1)
    const options = { waitMs: LONG_MS, maxRunning: { all: 1, client: 1 }, maxBytes: 100_000 }
    const compressor = createViewCompressor(views, options)
    const answers = Array.from({ length: 4 }, () => compressor.compress('gzip', answerOf(20_000), caller()))
    expect(await Promise.race([answers[2], answers[3]])).toBeUndefined()
    await nextTurn()
    expect(started.length).toBe(1)
  })

  test('when its time is over, also in a thread that does something else; its work is cancelled', async () => {
    const { views, started } = createViews(1)
    const compressor = createViewCompressor(views, { waitMs: 20, maxRunning: { all: 1, client: 1 } })
    const answers = [1, 2].map((length) => compressor.compress('zstd', answerOf(length), caller()))
    expect(await Promise.all(answers)).toEqual([undefined, undefined])
    expect(started.map(({ length, signal }) => [length, signal.aborted])).toEqual([[1, true]])
    // The thread has done it in the end: the next one has its place.
    started[0]!.finish()
    await nextTurn()
    void compressor.compress('zstd', answerOf(3), caller())
    await nextTurn()
    expect(started.map(({ length }) => length)).toEqual([1, 3])
  })

  test('when its client has left, or the thread has ended', async () => {
    const { views, started } = createViews(1)
    const compressor = createViewCompressor(views, { waitMs: LONG_MS })
    const leaving = new AbortController()
    const left = compressor.compress('gzip', answerOf(1), caller('192.0.2.1', leaving.signal))
    await nextTurn()
    leaving.abort()
    expect(await left).toBeUndefined()
    expect(await compressor.compress('gzip', answerOf(1), caller('192.0.2.1', leaving.signal))).toBeUndefined()

    const lost = compressor.compress('gzip', answerOf(2), caller())
    await nextTurn()
    started.at(-1)!.fail(new ThreadStopped())
    expect(await lost).toBeUndefined()
  })

  test('and no answer stays in memory, neither while its connection is open nor after it has closed', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const compressor = createViewCompressor([{ compress: async () => new Uint8Array(1) }], { waitMs: LONG_MS })
    const connection = new AbortController()
    const answers: WeakRef<Uint8Array>[] = []
    const answer = async (leaving: AbortController): Promise<void> => {
      const bytes = new Uint8Array(1_024)
      answers.push(new WeakRef(bytes))
      await compressor.compress(
        'gzip',
        { length: bytes.length, read: () => bytes },
        caller('192.0.2.1', leaving.signal),
      )
    }
    for (let count = 0; count < 10; count++) {
      await answer(connection)
      const closed = new AbortController()
      await answer(closed)
      closed.abort()
    }
    for (let turn = 0; turn < 5; turn++) {
      await nextTurn()
      collect()
    }
    expect(answers.filter((bytes) => bytes.deref() !== undefined).length).toBeLessThanOrEqual(1)
    expect(connection.signal.aborted).toBe(false)
  })

  test('but an unexpected error is reported', async () => {
    const { views, started } = createViews(1)
    const failing = createViewCompressor(views, { waitMs: LONG_MS }).compress('gzip', answerOf(1), caller())
    await nextTurn()
    started[0]!.fail(new Error('of zlib'))
    await expect(failing).rejects.toThrow('of zlib')
  })
})
