import type { Connection, MessageStream, StreamMuxer, StreamMuxerFactory } from '@libp2p/interface'
import { yamux } from '@libp2p/yamux'
import { LIMITS, TokenBucket } from './limits.ts'
import { ReadingPause } from './readingPause.ts'

/** Counts the traffic of a connection. */
export interface ConnectionMeter {
  readonly openedMs: number
  received: number
  sent: number
  /** when anything last arrived, answers to pings included */
  lastReceivedMs: number
  /** set when a session is established: before that the other side may send only little */
  isKnown: boolean
}

const meters = new WeakMap<StreamMuxer, ConnectionMeter>()

/** The meter of a connection whose muxer {@link meteredYamux} made. */
export function meterOf(connection: Connection): ConnectionMeter {
  // libp2p exposes the muxer of a connection for tests only, but there is no other way to find the meter of a connection.
  const { muxer } = connection as Connection & { readonly muxer?: StreamMuxer }
  const meter = muxer && meters.get(muxer)
  if (meter === undefined) throw new Error('the connection has no meter')
  return meter
}

/**
 * Yamux that counts and limits the traffic of a connection: bytes above the budget wait in the other side's socket, and a peer that
 * opens too many streams is disconnected, whatever their protocols are.
 */
export function meteredYamux(now: () => number): () => StreamMuxerFactory {
  const create = yamux({
    enableKeepAlive: true,
    keepAliveInterval: LIMITS.keepAliveMs,
    maxInboundStreams: 64,
    maxOutboundStreams: 256,
    maxEarlyStreams: 16,
    streamOptions: {
      maxStreamWindowSize: LIMITS.streamWindow,
      maxReadBufferLength: 2 * LIMITS.streamWindow,
      // Streams of a halted chain may be silent for any time; dead connections are detected by LIMITS.silentMs.
      inactivityTimeout: Number.MAX_SAFE_INTEGER,
    },
  })
  return () => {
    const factory = create()
    return {
      protocol: factory.protocol,
      createStreamMuxer: (connection: MessageStream): StreamMuxer => {
        const muxer = factory.createStreamMuxer(connection)
        meters.set(muxer, meter(connection, muxer, now))
        return muxer
      },
    }
  }
}

function meter(connection: MessageStream, muxer: StreamMuxer, now: () => number): ConnectionMeter {
  const startMs = now()
  const counted: ConnectionMeter = { openedMs: startMs, received: 0, sent: 0, lastReceivedMs: startMs, isKnown: false }
  const bytes = new TokenBucket(LIMITS.connection, startMs)
  const streams = new TokenBucket(LIMITS.streams, startMs)
  const pause = new ReadingPause(connection)
  const end = (error: Error): void => {
    muxer.abort(error)
    connection.abort(error)
  }

  connection.addEventListener('message', ({ data }) => {
    const nowMs = now()
    counted.received += data.byteLength
    counted.lastReceivedMs = nowMs
    if (!counted.isKnown && counted.received > LIMITS.bytesBeforeHello)
      return end(new Error('it sends too much before its hello'))
    const waitMs = bytes.draw(data.byteLength, nowMs)
    if (waitMs > 0) pause.pauseFor(waitMs)
  })
  connection.addEventListener('close', () => pause.stop())

  const send = connection.send.bind(connection)
  connection.send = (data) => {
    // Yamux sends its last frame also on closed connections, and libp2p would not handle the error.
    if (connection.status !== 'open') return false
    counted.sent += data.byteLength
    return send(data)
  }

  // Only few streams can come before libp2p listens for them (maxEarlyStreams); they are counted when libp2p gets them.
  const dispatch = muxer.dispatchEvent.bind(muxer)
  muxer.dispatchEvent = (event) => {
    if (event.type === 'stream' && !streams.take(1, now())) {
      end(new Error('it opens too many streams'))
      return false
    }
    return dispatch(event)
  }
  return counted
}
