import type { Connection, MessageStream, MultiaddrConnection, StreamMuxer } from '@libp2p/interface'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { LIMITS, RESERVED_WORK, STRANGERS, TokenBucket, WORK } from './limits.ts'
import { ReadingPause } from './readingPause.ts'
import { SocketFrames, TransportFault } from './socketFrames.ts'

/** A peer causes more than it may; it may connect again. */
export class OverBudget extends Error {
  override readonly name = 'OverBudget'
}

export interface MetersOptions {
  /** milliseconds, monotonic */
  readonly now: () => number
  readonly metrics?: Pick<NetworkMetrics, 'connectionsEndedTotal'>
}

interface Budgets {
  readonly bytes: TokenBucket
  readonly work: TokenBucket
}

function budgets(whose: 'own' | 'shared', nowMs: number): Budgets {
  return {
    bytes: new TokenBucket(STRANGERS.bytes[whose], nowMs),
    work: new TokenBucket(STRANGERS.work[whose], nowMs),
  }
}

/**
 * Counts what arrives on one connection, from the first byte of its socket on, and limits it. Bytes and work above the budgets wait in
 * the other side's socket; what no honest node causes ends the connection.
 */
export class ConnectionMeter {
  readonly openedMs: number
  /** bytes of the socket */
  received = 0
  sent = 0
  /** see {@link WORK} */
  work = 0
  /** when a frame last arrived, answers to pings included */
  lastReceivedMs: number
  /** Set when a session is established: before that the other side may send only little. */
  isKnown = false
  /** Whether the peer has a reserved place; set with {@link isKnown}. */
  isReserved: () => boolean = () => false
  readonly #options: MetersOptions
  readonly #raw: MultiaddrConnection
  readonly #frames: SocketFrames
  readonly #bytes: TokenBucket
  readonly #reservedWork: TokenBucket
  readonly #own: Budgets
  readonly #shared: Budgets
  #encrypted: MessageStream | undefined
  #muxer: StreamMuxer | undefined
  #pause: ReadingPause | undefined
  #isEnded = false

  /** @param shared by all connections without a reserved place */
  constructor(raw: MultiaddrConnection, shared: Budgets, options: MetersOptions) {
    const startMs = options.now()
    this.openedMs = startMs
    this.lastReceivedMs = startMs
    this.#options = options
    this.#raw = raw
    this.#frames = new SocketFrames(raw.direction === 'inbound')
    this.#bytes = new TokenBucket(LIMITS.connection, startMs)
    this.#reservedWork = new TokenBucket(RESERVED_WORK, startMs)
    this.#own = budgets('own', startMs)
    this.#shared = shared
    this.#watch()
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** whether its peer has to wait */
  get isPaused(): boolean {
    return this.#pause?.isPaused === true
  }

  /** Sets the stream that the handshake has made of the socket. */
  encryptedAs(stream: MessageStream): void {
    this.#encrypted = stream
    const pause = new ReadingPause(stream)
    this.#pause = pause
    stream.addEventListener('close', () => pause.stop())
    const send = stream.send.bind(stream)
    stream.send = (data) => {
      // Yamux sends its last frame also on closed connections, and libp2p would not handle the error.
      if (this.#isEnded || stream.status !== 'open') return false
      const isWritable = send(data)
      // Answers do not wait until the peer reads: only this bounds them.
      if (stream.writeBufferLength + this.#raw.writeBufferLength > LIMITS.unsentBytes)
        this.end(new OverBudget('it does not read what it is sent'))
      return isWritable
    }
  }

  muxedAs(muxer: StreamMuxer): void {
    this.#muxer = muxer
  }

  /** Charges work of the network thread. Returns whether the peer may cause more now; otherwise nothing is read for a while. */
  charge(work: number): boolean {
    this.work += work
    if (!this.isKnown && this.work > WORK.beforeHello) throw new OverBudget('it sends too many frames before its hello')
    return this.#waits(this.#workWaitMs(work))
  }

  /** Ends the connection at once: nothing that arrives is read any more. */
  end(error: TransportFault | OverBudget): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#options.metrics?.connectionsEndedTotal.inc({ reason: error instanceof TransportFault ? 'fault' : 'budget' })
    // The socket first: what listens for the end of a stream would end the connection for another reason.
    this.#raw.abort(error)
    this.#encrypted?.abort(error)
    this.#muxer?.abort(error)
  }

  /** Runs `follow`, whose errors end the connection; then it returns undefined. */
  guard<T>(follow: () => T): T | undefined {
    try {
      return follow()
    } catch (error) {
      if (!(error instanceof TransportFault || error instanceof OverBudget)) throw error
      this.end(error)
      return undefined
    }
  }

  #workWaitMs(work: number): number {
    const nowMs = this.#options.now()
    return this.isReserved() ? this.#reservedWork.draw(work, nowMs) : this.#drawAsStranger('work', work, nowMs)
  }

  #bytesWaitMs(bytes: number): number {
    const nowMs = this.#options.now()
    const waitMs = this.#bytes.draw(bytes, nowMs)
    return this.isReserved() ? waitMs : Math.max(waitMs, this.#drawAsStranger('bytes', bytes, nowMs))
  }

  #drawAsStranger(what: keyof Budgets, count: number, nowMs: number): number {
    if (this.#own[what].take(count, nowMs) || this.#shared[what].take(count, nowMs)) return 0
    return this.#own[what].draw(count, nowMs)
  }

  #waits(waitMs: number): boolean {
    if (waitMs === 0) return true
    this.#pause?.pauseFor(waitMs)
    return false
  }

  /** Counts the socket's bytes before libp2p has them. */
  #watch(): void {
    // libp2p does not name this method in its types. Its event for the bytes comes too late, and again for those that are put back.
    const raw = this.#raw as MultiaddrConnection & { onData?(bytes: Uint8Array): void }
    const onData = raw.onData?.bind(raw)
    if (onData === undefined) throw new Error("libp2p's connection has no method for the bytes of its socket")
    raw.onData = (bytes) => {
      if (this.#isEnded) return
      this.guard(() => this.#receive(bytes))
      if (!this.#isEnded) onData(bytes)
    }
    const send = raw.send.bind(raw)
    raw.send = (data) => {
      this.sent += data.byteLength
      return send(data)
    }
  }

  #receive(bytes: Uint8Array): void {
    this.received += bytes.length
    if (!this.isKnown && this.received > LIMITS.bytesBeforeHello)
      throw new OverBudget('it sends too much before its hello')
    const messages = this.#frames.follow(bytes)
    this.#waits(this.#bytesWaitMs(bytes.length))
    if (messages > 0) this.charge(messages * WORK.message)
  }
}

/** The meters of a host's connections. */
export class ConnectionMeters {
  readonly #options: MetersOptions
  readonly #shared: Budgets
  /** by the connection's socket, and by the stream that the handshake returns for it */
  readonly #meters = new WeakMap<MessageStream, ConnectionMeter>()

  constructor(options: MetersOptions) {
    this.#options = options
    this.#shared = budgets('shared', options.now())
  }

  /** Called before anything is read from the socket. */
  opened(raw: MultiaddrConnection): void {
    this.#meters.set(raw, new ConnectionMeter(raw, this.#shared, this.#options))
  }

  encrypted(raw: MessageStream, stream: MessageStream): void {
    const meter = this.of(raw)
    meter.encryptedAs(stream)
    this.#meters.set(stream, meter)
  }

  muxed(stream: MessageStream, muxer: StreamMuxer): void {
    const meter = this.of(stream)
    meter.muxedAs(muxer)
    meterOfMuxer.set(muxer, meter)
  }

  of(stream: MessageStream): ConnectionMeter {
    const meter = this.#meters.get(stream)
    if (meter === undefined) throw new Error('the connection has no meter')
    return meter
  }
}

const meterOfMuxer = new WeakMap<StreamMuxer, ConnectionMeter>()

/** Returns the meter of an established connection. */
export function meterOf(connection: Connection): ConnectionMeter {
  // libp2p exposes the muxer of a connection for tests only, but there is no other way to find the meter of a connection.
  const { muxer } = connection as Connection & { readonly muxer?: StreamMuxer }
  const meter = muxer && meterOfMuxer.get(muxer)
  if (meter === undefined) throw new Error('the connection has no meter')
  return meter
}
