import type { Stream } from '@libp2p/interface'
import { beforeEach, describe, expect, test } from 'vitest'
import { encodeFrame, FrameReader } from '../../../src/p2p/frames.ts'
import { PRIORITIES, type Priority, SendQueue } from '../../../src/p2p/sendQueue.ts'

/** The sending half of a stream whose other end takes bytes when the test says so. */
class FakeStream extends EventTarget {
  readonly writeStatus = 'writable'
  readonly sent: Uint8Array[] = []
  isFull = false

  send(bytes: Uint8Array): boolean {
    this.sent.push(bytes)
    return !this.isFull
  }

  drain(): void {
    this.isFull = false
    this.dispatchEvent(new Event('drain'))
  }

  frames(): number[] {
    const reader = new FrameReader(1_000)
    for (const bytes of this.sent) reader.push(bytes)
    const first: number[] = []
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) first.push(frame[0]!)
    return first
  }
}

let stream: FakeStream
let queue: SendQueue
let dropped: Priority[]
let nowMs: number

beforeEach(() => {
  stream = new FakeStream()
  dropped = []
  nowMs = 0
  const events = { dropped: (priority: Priority) => dropped.push(priority), sent: () => undefined }
  queue = new SendQueue(stream as unknown as Stream, 100, events, () => nowMs)
})

const push = (name: number, priority: Priority, length = 6): void =>
  queue.push(encodeFrame(new Uint8Array(length).fill(name)), priority)
const turn = () => new Promise((resolve) => setImmediate(resolve))
const { proposal, ownVote, relayedVote, status } = PRIORITIES

describe('SendQueue', () => {
  test('sends what comes up in one turn together, the important first', async () => {
    push(1, status)
    push(2, relayedVote)
    push(3, ownVote)
    push(4, relayedVote)
    push(5, proposal)
    await turn()
    expect(stream.sent).toHaveLength(1)
    expect(stream.frames()).toEqual([5, 3, 2, 4, 1])
    expect(queue.bytes).toBe(0)
  })

  test('holds back while the peer takes nothing, and keeps the newest status alone', async () => {
    stream.isFull = true
    push(1, ownVote)
    await turn()
    push(2, status)
    push(3, status)
    push(4, ownVote)
    await turn()
    expect(stream.frames()).toEqual([1])
    expect(dropped).toEqual([status])
    nowMs = 500
    expect(queue.stalledMs(nowMs)).toBe(500)
    stream.drain()
    await turn()
    expect(stream.frames()).toEqual([1, 4, 3])
    expect(queue.stalledMs(nowMs)).toBe(0)
  })

  test('drops the least important, oldest messages when it is full', async () => {
    stream.isFull = true
    push(0, ownVote)
    await turn()
    for (let i = 1; i <= 5; i++) push(i, relayedVote)
    push(6, status)
    for (let i = 7; i <= 11; i++) push(i, ownVote)
    expect(queue.bytes).toBeLessThanOrEqual(100)
    push(12, proposal, 50)
    expect(dropped).toEqual([status, relayedVote, relayedVote, relayedVote, relayedVote, relayedVote, ownVote])
    stream.drain()
    await turn()
    expect(stream.frames()).toEqual([0, 12, 8, 9, 10, 11])
  })
})
