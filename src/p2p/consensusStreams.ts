import type { Stream } from '@libp2p/interface'
import { ConsensusDecodingError } from '../chain/comet/wire.ts'
import { type MessageKind, peekMessage } from '../consensus/messages.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import type { Connections } from './connections.ts'
import { encodeFrame, FrameError, listenToFrames } from './frames.ts'
import { LIMITS } from './limits.ts'
import { PROTOCOLS } from './protocols.ts'
import { PRIORITIES, type Priority, SendQueue } from './sendQueue.ts'
import type { Session } from './session.ts'

/**
 * Messages of these heights around the current one are normal: late precommits of the previous height, early votes of the next ones.
 */
const NEARBY = { below: 1, above: 3 } as const

/** How long a peer waits when the main thread does not handle its messages as fast as they come. */
const UNHANDLED_MS = 10

/** The two kinds of streams: the longest frame, and how many bytes may wait for a slow peer. */
const STREAMS = {
  consensus: { frameBytes: LIMITS.messageBytes, queueBytes: LIMITS.queuedMessages },
  parts: { frameBytes: LIMITS.partBytes, queueBytes: LIMITS.queuedParts },
} as const

type StreamKind = keyof typeof STREAMS

interface ConsensusStreamsOptions {
  readonly connections: Connections
  readonly metrics: NetworkMetrics
  /** height of the newest block of this node */
  readonly height: () => number
  /** number of messages of a session that the main thread has not handled yet */
  readonly unhandled: (session: Session) => number
  /** whether the peer is not disconnected when it sends too much */
  readonly isReserved: (session: Session) => boolean
  readonly now: () => number
  /** called with a message within its sender's budget; it is not decoded */
  readonly onMessage: (session: Session, body: Uint8Array) => void
}

/**
 * The persistent streams that carry votes, proposals, statuses and parts. Each node opens two to each peer and only writes to them.
 * Messages on the peer's two streams are counted against the peer's budget before they are decoded.
 */
export class ConsensusStreams {
  readonly #options: ConsensusStreamsOptions

  constructor(options: ConsensusStreamsOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { host } = this.#options.connections
    const limits = { maxInboundStreams: 1, maxOutboundStreams: 1 }
    for (const kind of ['consensus', 'parts'] as const) {
      await host.handle(
        PROTOCOLS[kind],
        async (stream, connection) => {
          const session = await this.#options.connections.sessionOf(connection)
          // No message is handled before this node's own streams are open, so that it can be answered.
          await session?.joined.promise
          if (session === undefined || stream.status !== 'open') stream.abort(new Error('no hello on this connection'))
          else this.#listen(session, stream, kind)
        },
        limits,
      )
    }
  }

  /**
   * Opens this node's streams to a peer.
   * @throws Error when the peer does not accept them
   */
  async open(session: Session): Promise<void> {
    const [consensus, parts] = await Promise.all([
      this.#openQueue(session, 'consensus'),
      this.#openQueue(session, 'parts'),
    ])
    session.queues = { consensus, parts }
  }

  /** Sends an encoded message; sessions that have ended are skipped. */
  send(sessions: Iterable<Session>, body: Uint8Array, priority: Priority | 'part'): void {
    const frame = encodeFrame(body)
    for (const { queues } of sessions) {
      if (priority === 'part') queues?.parts.push(frame, PRIORITIES.proposal)
      else queues?.consensus.push(frame, priority)
    }
  }

  async #openQueue(session: Session, kind: StreamKind): Promise<SendQueue> {
    const { metrics, now, connections } = this.#options
    const signal = AbortSignal.timeout(LIMITS.helloMs)
    const stream = await session.connection.newStream(PROTOCOLS[kind], { signal })
    stream.addEventListener('close', () => {
      if (session.connection.status === 'open') connections.disconnect(session, `its ${kind} stream was closed`)
    })
    const events = {
      dropped: () => metrics.droppedTotal.inc({ reason: 'slow peer' }),
      sent: (bytes: number) => metrics.sentBytesTotal.inc({ protocol: kind }, bytes),
    }
    return new SendQueue(stream, STREAMS[kind].queueBytes, events, now)
  }

  #listen(session: Session, stream: Stream, role: StreamKind): void {
    const { connections, metrics } = this.#options
    listenToFrames(stream, STREAMS[role].frameBytes, {
      frame: (body) => {
        metrics.receivedMessagesTotal.inc({ protocol: role })
        metrics.receivedBytesTotal.inc({ protocol: role }, body.length)
        const { kind, height } = peekMessage(body)
        if ((kind === 'part') !== (role === 'parts')) throw new ConsensusDecodingError(`a ${kind} on the other stream`)
        if (connections.sessions.get(session.id) !== session) return 0
        if (this.#isWanted(session, kind, height)) this.#options.onMessage(session, body)
        else metrics.droppedTotal.inc({ reason: 'other height' })
        const { messages, parts } = session.budgets
        const nowMs = this.#options.now()
        const waitMs =
          role === 'parts' ? parts.draw(Math.max(body.length, LIMITS.leastPart), nowMs) : messages.draw(1, nowMs)
        if (waitMs > 0 && !session.budgets.waiting.take(waitMs, nowMs) && !this.#options.isReserved(session)) {
          connections.disconnect(session, 'it sends more than it may')
        }
        return this.#options.unhandled(session) < LIMITS.unhandled ? waitMs : Math.max(waitMs, UNHANDLED_MS)
      },
      ended: (error) => {
        connections.endOnDefect(error)
        if (session.connection.status !== 'open') return
        const isMalformed = error instanceof ConsensusDecodingError || error instanceof FrameError
        if (isMalformed) connections.ban(session, `malformed message: ${error.message}`)
        else connections.disconnect(session, `it closed its ${role} stream`)
      },
    })
  }

  /**
   * Returns whether to handle a message of this height. A status may have any height, because it
   * announces the peer's.
   */
  #isWanted(session: Session, kind: MessageKind, height: number): boolean {
    if (kind === 'status') return true
    const distance = height - (this.#options.height() + 1)
    if (distance >= -NEARBY.below && distance <= NEARBY.above) return true
    return session.budgets.offHeightMessages.take(1, this.#options.now())
  }
}
