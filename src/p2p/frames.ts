import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { LIMITS } from './limits.ts'
import { ReadingPause } from './readingPause.ts'

/*
 * Every stream of this node's protocols carries frames: the length of a body, then the body. The functions here read frames under
 * limits and send them.
 */

/** Bytes before each frame: its length, big-endian. */
const PREFIX = 4

/** A frame was longer than its stream allows, or empty. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}

/** Returns the bytes of a frame: the length of `body`, then `body`. */
export function encodeFrame(body: Uint8Array): Uint8Array {
  return encodeFrames([body])
}

function encodeFrames(bodies: readonly Uint8Array[]): Uint8Array {
  const frames = new Uint8Array(bodies.reduce((sum, { length }) => sum + PREFIX + length, 0))
  const view = new DataView(frames.buffer)
  let at = 0
  for (const body of bodies) {
    view.setUint32(at, body.length)
    frames.set(body, at + PREFIX)
    at += PREFIX + body.length
  }
  return frames
}

/**
 * Splits a byte stream into frames. Memory for a frame is allocated after its length was checked, so a peer that announces a long
 * frame and sends nothing takes the memory of one frame at most.
 */
export class FrameReader {
  readonly #maxBytes: number
  readonly #prefix = new Uint8Array(PREFIX)
  #prefixLength = 0
  #body: Uint8Array | undefined
  #bodyLength = 0
  /** chunks that arrived and are not read yet */
  #waiting: Uint8Array[] = []

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#waiting.push(chunk)
  }

  /** whether the stream could end here */
  get isBetweenFrames(): boolean {
    return this.#prefixLength === 0 && this.#waiting.length === 0
  }

  /**
   * Returns the next complete frame, in a new array; undefined until more bytes arrive.
   * @throws FrameError
   */
  next(): Uint8Array | undefined {
    for (;;) {
      const chunk = this.#waiting[0]
      if (chunk === undefined) return undefined
      const used = this.#body === undefined ? this.#readPrefix(chunk) : this.#readBody(chunk, this.#body)
      if (used === chunk.length) this.#waiting.shift()
      else this.#waiting[0] = chunk.subarray(used)
      const body = this.#body
      if (body === undefined || this.#bodyLength < body.length) continue
      this.#body = undefined
      this.#prefixLength = 0
      this.#bodyLength = 0
      return body
    }
  }

  #readPrefix(chunk: Uint8Array): number {
    const used = Math.min(PREFIX - this.#prefixLength, chunk.length)
    this.#prefix.set(chunk.subarray(0, used), this.#prefixLength)
    this.#prefixLength += used
    if (this.#prefixLength < PREFIX) return used
    const length = new DataView(this.#prefix.buffer).getUint32(0)
    if (length === 0) throw new FrameError('an empty frame')
    if (length > this.#maxBytes)
      throw new FrameError(`a frame of ${length} bytes, at most ${this.#maxBytes} are allowed`)
    this.#body = new Uint8Array(length)
    return used
  }

  #readBody(chunk: Uint8Array, body: Uint8Array): number {
    const used = Math.min(body.length - this.#bodyLength, chunk.length)
    body.set(chunk.subarray(0, used), this.#bodyLength)
    this.#bodyLength += used
    return used
  }
}

/** A peer answered too late, too much, or not at all. */
export class PeerTimeout extends Error {
  override readonly name = 'PeerTimeout'
}

interface FrameListener {
  /** Handles a frame and returns how many milliseconds to wait before the next one. An error ends the stream. */
  frame(body: Uint8Array): number
  /** called when the stream has ended; no more frames come */
  ended(error: Error | undefined): void
}

/**
 * Reads a stream until it ends. While the listener waits nothing is read, so the sender has to wait too: at most a window of bytes is
 * buffered.
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
      // Before the abort: the stream's own event would report an ordinary end.
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
 * Reads frames until `take` returns true, when the answer is complete.
 * @throws PeerTimeout, FrameError, or the stream's error
 */
export function readAnswer(stream: Stream, bounds: AnswerBounds, take: (body: Uint8Array) => boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const late = (): void => fail(new PeerTimeout('no answer in time'))
  const deadline = setTimeout(late, bounds.totalMs)
  const idle = setTimeout(late, bounds.idleMs)
  const clearTimers = (): void => {
    clearTimeout(deadline)
    clearTimeout(idle)
  }
  const fail = (error: Error): void => {
    clearTimers()
    reject(error)
  }
  let bytes = 0
  let isDone = false
  listenToFrames(stream, bounds.frameBytes, {
    frame: (body) => {
      if (isDone) return 0
      bytes += body.length + (bytes === 0 ? 0 : LIMITS.answerFrame)
      if (bytes > bounds.totalBytes) throw new PeerTimeout(`an answer of more than ${bounds.totalBytes} bytes`)
      idle.refresh()
      if (!take(body)) return 0
      isDone = true
      clearTimers()
      resolve()
      return 0
    },
    ended: (error) => {
      if (!isDone) fail(error ?? new PeerTimeout('the answer is cut off'))
    },
  })
  return promise.finally(clearTimers)
}

/**
 * Reads one frame; the other side may not send more.
 * @throws PeerTimeout, FrameError, or the stream's error
 */
export async function readFrame(stream: Stream, maxBytes: number, timeoutMs: number): Promise<Uint8Array> {
  let body: Uint8Array | undefined
  const bounds = { frameBytes: maxBytes, totalBytes: maxBytes, idleMs: timeoutMs, totalMs: timeoutMs }
  await readAnswer(stream, bounds, (frame) => {
    body = frame
    return true
  })
  return body!
}

/**
 * Sends one frame and waits until the stream accepts more.
 * @throws the stream's error
 */
export async function sendFrame(stream: Stream, body: Uint8Array, signal?: AbortSignal): Promise<void> {
  if (!stream.send(encodeFrame(body))) await stream.onDrain(signal === undefined ? {} : { signal })
}

/** Frames are sent when they reach this many bytes: half of what the encryption puts into one message. */
const GATHERED_BYTES = 32 << 10

type SendingStream = Pick<Stream, 'send' | 'onDrain' | 'writableNeedsDrain'>

/**
 * Sends many frames on a stream. Those of one turn of the event loop go together: each sending takes an encryption and a system call
 * here, and a decryption and an update of the window there, which is more than reading a small block.
 */
export class FrameSender {
  readonly #stream: SendingStream
  readonly #timeoutMs: number
  #gathered: Uint8Array[] = []
  #bytes = 0
  #failure: unknown

  /** @param timeoutMs how long the peer may take until it can receive more */
  constructor(stream: SendingStream, timeoutMs: number) {
    this.#stream = stream
    this.#timeoutMs = timeoutMs
  }

  /**
   * Sends a frame, at the end of this turn at the latest. Resolves when the stream accepts more.
   * @throws the stream's error, also that of a frame before
   */
  async send(body: Uint8Array): Promise<void> {
    this.#bytes += body.length
    if (this.#gathered.push(body) === 1) setImmediate(() => this.#flush())
    const isFull = this.#bytes >= GATHERED_BYTES || this.#stream.writableNeedsDrain
    if (isFull || this.#failure !== undefined) await this.finish()
  }

  /** Sends the gathered frames. @throws the stream's error */
  async finish(): Promise<void> {
    this.#flush()
    if (this.#failure !== undefined) throw this.#failure
    if (this.#stream.writableNeedsDrain) await this.#stream.onDrain({ signal: AbortSignal.timeout(this.#timeoutMs) })
  }

  #flush(): void {
    if (this.#gathered.length === 0 || this.#failure !== undefined) return
    const frames = encodeFrames(this.#gathered)
    this.#gathered = []
    this.#bytes = 0
    try {
      this.#stream.send(frames)
    } catch (error) {
      this.#failure = error
    }
  }
}
