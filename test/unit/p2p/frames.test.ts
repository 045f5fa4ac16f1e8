import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeFrame, FrameReader } from '../../../src/p2p/frames.ts'
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
