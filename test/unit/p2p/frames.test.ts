import { type Stream, StreamMessageEvent } from '@libp2p/interface'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeFrame, FrameReader, FrameSender, readAnswer } from '../../../src/p2p/frames.ts'
import { LIMITS } from '../../../src/p2p/limits.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'

/** Everything that a reader gives of a stream cut at these places. */
function readAll(reader: FrameReader, stream: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const frames: Uint8Array[] = []
  let at = 0
  for (const cut of [...cuts.map((cut) => cut % (stream.length + 1)).sort((a, b) => a - b), stream.length]) {
    reader.push(stream.subarray(at, cut))
    at = cut
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) frames.push(frame)
  }
  return frames
}

describe('FrameReader', () => {
  test('gives what was framed, however the stream is cut', () => {
    const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 12 })
    fc.assert(
      fc.property(bodies, fc.array(fc.nat()), (bodies, cuts) => {
        const reader = new FrameReader(300)
        expect(readAll(reader, concatBytes(...bodies.map(encodeFrame)), cuts)).toEqual(bodies)
        expect(reader.isBetweenFrames).toBe(true)
      }),
    )
  })

  test('gives frames in memory of their own', () => {
    const reader = new FrameReader(10)
    const stream = encodeFrame(Uint8Array.of(1, 2, 3))
    reader.push(stream)
    const frame = reader.next()!
    stream.fill(9)
    expect([...frame]).toEqual([1, 2, 3])
    expect(frame.buffer.byteLength).toBe(3)
  })

  test.each([
    ['longer than allowed', Uint8Array.of(0, 0, 0, 11), /a frame of 11 bytes, at most 10/],
    ['of four gigabytes', Uint8Array.of(255, 255, 255, 255), /at most 10/],
    ['empty', Uint8Array.of(0, 0, 0, 0), /an empty frame/],
  ])('refuses a frame that is %s as soon as its length is there', (_, prefix, message) => {
    const reader = new FrameReader(10)
    reader.push(prefix.subarray(0, 3))
    expect(reader.next()).toBeUndefined()
    reader.push(prefix.subarray(3))
    expect(() => reader.next()).toThrow(message)
  })
})

describe('FrameSender', () => {
  /** Records what is sent, and how often somebody waited for room. */
  function recordingStream() {
    const sent: Uint8Array[] = []
    const stream = {
      sent,
      waits: 0,
      isClosed: false,
      writableNeedsDrain: false,
      send: (data: Parameters<ConstructorParameters<typeof FrameSender>[0]['send']>[0]) => {
        if (stream.isClosed) throw new Error('closed')
        sent.push(data.subarray())
        return !stream.writableNeedsDrain
      },
      onDrain: async () => {
        stream.waits++
        stream.writableNeedsDrain = false
      },
    }
    return stream
  }
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  const bodies = [Uint8Array.of(1), Uint8Array.of(2, 2), Uint8Array.of(3, 3, 3)]
  const read = (sent: readonly Uint8Array[]) => readAll(new FrameReader(1 << 20), concatBytes(...sent), [])

  test('sends the frames of one turn together, in their order, and many bytes at once', async () => {
    const stream = recordingStream()
    const sender = new FrameSender(stream, 1_000)
    for (const body of bodies) await sender.send(body)
    expect(stream.sent).toEqual([])
    await nextTurn()
    expect(stream.sent).toHaveLength(1)
    await sender.send(Uint8Array.of(4))
    await sender.send(new Uint8Array(40_000))
    expect(stream.sent).toHaveLength(2)
    await sender.finish()
    expect(read(stream.sent).slice(0, -1)).toEqual([...bodies, Uint8Array.of(4)])
    expect(read(stream.sent).at(-1)).toHaveLength(40_000)
    expect(stream.waits).toBe(0)
  })

  test('waits while the stream is full', async () => {
    const stream = recordingStream()
    const sender = new FrameSender(stream, 1_000)
    stream.writableNeedsDrain = true
    await sender.send(bodies[0]!)
    expect(stream).toMatchObject({ waits: 1, writableNeedsDrain: false })
    expect(read(stream.sent)).toEqual([bodies[0]])
  })

  test('tells at the next call that frames could not be sent', async () => {
    for (const next of ['send', 'finish'] as const) {
      const stream = recordingStream()
      const sender = new FrameSender(stream, 1_000)
      await sender.send(bodies[0]!)
      stream.isClosed = true
      await nextTurn()
      await expect(next === 'send' ? sender.send(bodies[1]!) : sender.finish()).rejects.toThrow('closed')
    }
  })
})

describe('an answer', () => {
  test('ends at its bytes, for which a frame of one byte counts as more', async () => {
    const stream = Object.assign(new EventTarget(), { pause: () => {}, resume: () => {}, abort: () => {} })
    const bounds = { frameBytes: 100, totalBytes: 100_000, idleMs: 10_000, totalMs: 10_000 }
    let taken = 0
    const answer = readAnswer(stream as unknown as Stream, bounds, () => {
      taken++
      return false
    })
    const ended = expect(answer).rejects.toThrow('an answer of more than 100000 bytes')
    const frames = concatBytes(...Array<Uint8Array>(1_000).fill(encodeFrame(Uint8Array.of(0))))
    stream.dispatchEvent(new StreamMessageEvent(frames))
    await ended
    expect(taken).toBe(Math.floor((100_000 - 1) / (1 + LIMITS.answerFrame)) + 1)
  })
})
