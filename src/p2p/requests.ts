import { setTimeout as sleep } from 'node:timers/promises'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import type { Connections } from './connections.ts'
import { type AnswerBounds, FrameSender, PeerTimeout, readAnswer, readFrame, sendFrame } from './frames.ts'
import { LIMITS, type RequestLimits, TokenBucket } from './limits.ts'
import { isMalformed } from './misbehaviour.ts'
import { PROTOCOLS, type ProtocolName } from './protocols.ts'
import type { Session } from './session.ts'

/** Sends a frame of the answer, with others of this turn of the event loop; resolves when the peer can receive more. */
export type Respond = (body: Uint8Array) => Promise<void>

export interface RequestHandler {
  readonly protocol: ProtocolName
  readonly limits: RequestLimits
  /**
   * @param unsent bytes of the answer that the peer has not taken yet
   * @throws ProtobufError for a request that no honest node makes
   */
  readonly answer: (session: Session, request: Uint8Array, respond: Respond, unsent: () => number) => Promise<void>
}

interface RequestContext {
  readonly connections: Connections
  readonly metrics: NetworkMetrics
  readonly now: () => number
}

/** Serves a protocol of one request and one answer a stream, within each peer's limits. */
export async function serveRequests(context: RequestContext, handler: RequestHandler): Promise<void> {
  const { connections, metrics, now } = context
  const { protocol, limits } = handler
  const budgets = new WeakMap<Session, TokenBucket>()
  const budgetOf = (session: Session): TokenBucket => {
    let budget = budgets.get(session)
    if (budget === undefined) {
      budget = new TokenBucket(limits.rate, now())
      budgets.set(session, budget)
    }
    return budget
  }
  const respondOn = (sender: FrameSender): Respond => {
    const startMs = now()
    return async (body) => {
      // Otherwise a peer that reads very slowly would keep the answer in memory forever.
      if (now() - startMs > LIMITS.answerMs) throw new PeerTimeout('the answer is not taken in time')
      metrics.sentBytesTotal.inc({ protocol }, body.length)
      await sender.send(body)
    }
  }
  await connections.host.handle(
    PROTOCOLS[protocol],
    async (stream, connection) => {
      const session = await connections.sessionOf(connection)
      try {
        if (session === undefined) throw new Error('no hello on this connection')
        const waitMs = budgetOf(session).draw(1, now())
        // The peer does not wait longer than this for an answer.
        if (waitMs > LIMITS.requestMs) {
          metrics.droppedTotal.inc({ reason: `too many ${protocol} requests` })
          throw new Error('too many requests')
        }
        // A node that syncs fast does nothing wrong, so its requests wait. The limit of requests in flight bounds their number.
        if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
        const request = await readFrame(stream, LIMITS.requestBytes, LIMITS.requestMs)
        metrics.receivedMessagesTotal.inc({ protocol })
        metrics.receivedBytesTotal.inc({ protocol }, request.length)
        const sender = new FrameSender(stream, LIMITS.requestMs)
        await handler.answer(session, request, respondOn(sender), () => stream.writeBufferLength)
        await sender.finish()
        await stream.close({ signal: AbortSignal.timeout(LIMITS.requestMs) })
      } catch (error) {
        connections.endOnDefect(error)
        const failure = error instanceof Error ? error : new Error(String(error))
        stream.abort(failure)
        if (session !== undefined && isMalformed(error))
          connections.ban(session, `malformed request: ${failure.message}`)
      }
    },
    { maxInboundStreams: limits.inFlight, maxOutboundStreams: 16 },
  )
}

/**
 * Sends a request to a peer and reads the answer: `take` is called with its frames and returns true when it is complete.
 * @throws PeerTimeout, FrameError, ProtobufError, or the stream's error
 */
export async function request(
  { metrics }: Pick<RequestContext, 'metrics'>,
  session: Session,
  protocol: ProtocolName,
  body: Uint8Array,
  bounds: Omit<AnswerBounds, 'idleMs' | 'totalMs'>,
  take: (body: Uint8Array) => boolean,
): Promise<void> {
  const signal = AbortSignal.timeout(LIMITS.requestMs)
  const stream = await session.connection.newStream(PROTOCOLS[protocol], { signal })
  try {
    const times = { idleMs: LIMITS.requestMs, totalMs: LIMITS.answerMs }
    const answer = readAnswer(stream, { ...bounds, ...times }, (frame) => {
      metrics.receivedBytesTotal.inc({ protocol }, frame.length)
      return take(frame)
    })
    await Promise.all([answer, sendFrame(stream, body, signal)])
    await stream.close({ signal: AbortSignal.timeout(LIMITS.requestMs) })
  } catch (error) {
    stream.abort(error instanceof Error ? error : new Error(String(error)))
    throw error
  }
}
