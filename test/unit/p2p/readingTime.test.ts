import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AnswerSlots } from '../../../src/p2p/answerSlots.ts'
import { blockHandler, encodeBlockRequest } from '../../../src/p2p/blockExchange.ts'
import { lightHandler } from '../../../src/p2p/lightExchange.ts'
import { READING_TIME } from '../../../src/p2p/limits.ts'
import { ReadingTime } from '../../../src/p2p/readingTime.ts'
import type { RequestHandler } from '../../../src/p2p/requests.ts'
import { ServedBytes } from '../../../src/p2p/servedBytes.ts'
import type { Session } from '../../../src/p2p/session.ts'
import { ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { createNetworkMetrics } from '../../../src/telemetry/metrics.ts'

/** What a block in a segment takes, far from those that were read before. */
const FRAME_MS = 15
const READS = 400

const metrics = createNetworkMetrics(new Registry())

const sessionOf = (id: string, status = 'open') => ({ id, connection: { status } }) as Session

let nowMs: number
let spentMs: number
let handlers: Record<'blocks' | 'light', RequestHandler>

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  nowMs = spentMs = 0
  const read = () => {
    nowMs += FRAME_MS
    spentMs += FRAME_MS
    return { block: new Uint8Array(9), commit: new Uint8Array(9) }
  }
  const time = new ReadingTime(
    () => nowMs,
    metrics,
    ({ id }) => id,
  )
  const source = () => ({ base: 1, height: 1e6, read, close: async () => undefined })
  const rules = { isReserved: () => true, ownerOf: ({ id }: Session) => id, now: () => nowMs }
  handlers = {
    blocks: blockHandler(source, new AnswerSlots(rules), time, new ServedBytes(rules)),
    light: lightHandler(() => read().block, time),
  }
})
afterEach(() => {
  vi.useRealTimers()
})

const REQUESTS = {
  blocks: encodeBlockRequest({ from: 7, count: 1, maxBytes: 1_000 }),
  light: new ProtobufWriter().varint(1, 7).finish(),
} as const

/** Requests of peers, each one's one after another, as long as the clock says. @returns how many were answered, by peer */
async function serve(asked: readonly (keyof typeof REQUESTS)[], untilMs: number): Promise<readonly number[]> {
  const answered = asked.map(() => 0)
  const peers = asked.map(async (protocol, peer) => {
    const session = sessionOf(`peer ${peer}`)
    while (nowMs < untilMs) {
      await handlers[protocol].answer(
        session,
        REQUESTS[protocol],
        async () => undefined,
        () => 0,
      )
      answered[peer]!++
    }
  })
  let isOver = false
  const all = Promise.all(peers).then(() => {
    isOver = true
  })
  while (!isOver) {
    // A turn of the event loop; the clock goes on where nobody reads.
    nowMs++
    await vi.advanceTimersByTimeAsync(1)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await all
  return answered
}

test.each(['blocks', 'light'] as const)(
  'one peer that asks for %s here and there has its share of the time',
  async (protocol) => {
    const untilMs = READS * FRAME_MS
    await serve([protocol], untilMs)
    const { perSecond, burst } = READING_TIME.peer
    expect(spentMs).toBeLessThanOrEqual(burst + (perSecond * untilMs) / 1_000 + 2 * FRAME_MS)
    // The timers stand still while something is read: waits are longer here than they are.
    expect(spentMs).toBeGreaterThan(burst)
  },
)

test('a peer that syncs, for which one read in 64 takes long, does not wait', async () => {
  let reads = 0
  const time = new ReadingTime(
    () => nowMs,
    metrics,
    ({ id }) => id,
  )
  const session = sessionOf('syncing')
  while (nowMs < 60_000) {
    await time.spend(session, () => {
      nowMs += reads++ % 64 === 0 ? FRAME_MS : 0.3
    })
  }
  expect(reads).toBeGreaterThan(60 * 1_800)
})

test('many peers have theirs of what there is for all', async () => {
  const untilMs = READS * FRAME_MS
  const answered = await serve(['blocks', 'light', 'blocks', 'light', 'blocks', 'light'], untilMs)
  const { perSecond, burst } = READING_TIME.all
  expect(spentMs).toBeLessThanOrEqual(burst + (perSecond * untilMs) / 1_000 + 8 * FRAME_MS)
  expect(Math.min(...answered)).toBeGreaterThan(5)
})

test('requests that arrive together are read in many turns of the event loop, and all of them', async () => {
  const time = new ReadingTime(
    () => nowMs,
    metrics,
    ({ id }) => id,
  )
  const requests = 150
  let reads = 0
  let turnMs = 0
  let longestTurnMs = 0
  for (let index = 0; index < requests; index++) {
    void time.spend(sessionOf(`peer ${index % 40}`), () => {
      const ms = index % 3 === 0 ? FRAME_MS : 0.5
      nowMs += ms
      turnMs += ms
      reads++
    })
  }
  for (let turn = 0; turn < requests; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    longestTurnMs = Math.max(longestTurnMs, turnMs)
    turnMs = 0
  }
  expect(reads).toBe(requests)
  // The first one measured has those that were read at once, too.
  expect(longestTurnMs).toBeLessThan(2 * (READING_TIME.turnMs + FRAME_MS))
})

test('requests of peers that have gone are not read, and do not wait for others', async () => {
  const time = new ReadingTime(
    () => nowMs,
    metrics,
    ({ id }) => id.replace(/ .*/, ''),
  )
  // The saved time is used up.
  await time.spend(sessionOf('first'), () => {
    nowMs += READING_TIME.all.burst + 1_000
  })
  const gone = Array.from({ length: 1_000 }, (_, index) =>
    time.spend(sessionOf(`crowd ${index}`, 'closed'), () => {
      nowMs += FRAME_MS
    }),
  )
  const outcomes = Promise.allSettled(gone)
  const begunMs = nowMs
  nowMs += 2_000
  await vi.advanceTimersByTimeAsync(2_000)
  expect(new Set((await outcomes).map(({ status }) => status))).toEqual(new Set(['rejected']))
  expect(nowMs).toBe(begunMs + 2_000)
})

test('a peer that syncs gets its part of the time where many peers of one network ask for all of it', async () => {
  const time = new ReadingTime(
    () => nowMs,
    metrics,
    ({ id }) => id.replace(/ .*/, ''),
  )
  const done = { crowd: 0, one: 0 }
  const press = async (id: string): Promise<void> => {
    const session = sessionOf(id)
    while (nowMs < 60_000) {
      await time.spend(session, () => {
        nowMs += FRAME_MS
      })
      done[id === 'one' ? 'one' : 'crowd']++
    }
  }
  let isOver = false
  const peers = [...Array.from({ length: 20 }, (_, index) => `crowd ${index}`), 'one'].map(press)
  const all = Promise.all(peers).then(() => {
    isOver = true
  })
  while (!isOver) {
    nowMs++
    await vi.advanceTimersByTimeAsync(1)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await all
  expect(done.one).toBeGreaterThan(0.6 * done.crowd)
})
