import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { encodeFrame, FrameReader } from './frames.ts'
import { ReadingPause } from './readingPause.ts'

/** A peer that answered too late, too much, or not at all. */
export class PeerTimeout extends Error {
  override readonly name = 'PeerTimeout'
}

export interface FrameListener {
  /** Takes a frame and gives the milliseconds to wait before the next one: 0 for none. What it throws ends the stream. */
  frame(body: Uint8Array): number
  /** nothing more comes */
  ended(error: Error | undefined): void
}

/**
 * Reads a stream for as long as it lasts. While the listener wants to wait nothing is read, so that the sender has to wait too:
 * at most a window of bytes is kept.
 */
export function listenToFrames(stream: Stream, maxFrameBytes: number, listener: FrameListener): void {
  const reader = new FrameReader(maxFrameBytes)
  let hasEnded = false

  const end = (error: Error | undefined): void => {
    if (hasEnded) return
    hasEnded = true
    pause.stop()
    listener.ended(error)
  }
  const read = (): void => {
    try {
      while (!hasEnded && !pause.isPaused) {
        const body = reader.next()
        if (body === undefined) return
        const waitMs = listener.frame(body)
        if (waitMs > 0) pause.pauseFor(waitMs)
      }
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error))
      // First, because the stream would tell of an ordinary end.
      end(failure)
      stream.abort(failure)
    }
  }
  const pause = new ReadingPause(stream, read)
  stream.addEventListener('message', ({ data }: StreamMessageEvent) => {
    reader.push(data.subarray())
    read()
  })
  stream.addEventListener('end', () => end(undefined))
  stream.addEventListener('close', ({ error }: StreamCloseEvent) => end(error))
}

export interface AnswerBounds {
  readonly frameBytes: number
  /** of all frames */
  readonly totalBytes: number
  /** between two frames */
  readonly idleMs: number
  /** for all of them */
  readonly totalMs: number
}

/**
 * Reads frames until `take` says that it has all.
 * @throws PeerTimeout, FrameError, or the stream's error
 */
export function readAnswer(stream: Stream, bounds: AnswerBounds, take: (body: Uint8Array) => boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const late = (): void => fail(new PeerTimeout('no answer in time'))
  const deadline = setTimeout(late, bounds.totalMs)
  const idle = setTimeout(late, bounds.idleMs)
  const settle = (): void => {
    clearTimeout(deadline)
    clearTimeout(idle)
  }
  const fail = (error: Error): void => {
    settle()
    reject(error)
  }
  let bytes = 0
  let isDone = false
  listenToFrames(stream, bounds.frameBytes, {
    frame: (body) => {
      if (isDone) return 0
      bytes += body.length
      if (bytes > bounds.totalBytes) throw new PeerTimeout(`an answer of more than ${bounds.totalBytes} bytes`)
      idle.refresh()
      if (!take(body)) return 0
      isDone = true
      settle()
      resolve()
      return 0
    },
    ended: (error) => {
      if (!isDone) fail(error ?? new PeerTimeout('the answer is cut off'))
    },
  })
  return promise.finally(settle)
}

/**
 * Sends one frame and waits until the stream takes more.
 * @throws the stream's error
 */
export async function sendFrame(stream: Stream, body: Uint8Array, signal?: AbortSignal): Promise<void> {
  if (!stream.send(encodeFrame(body))) await stream.onDrain(signal === undefined ? {} : { signal })
}
