import { setTimeout as sleep } from 'node:timers/promises'
import type { Stream } from '@libp2p/interface'
import { ProtobufError } from '../primitives/protobuf.ts'
import type { NetworkMetrics } from '../telemetry/metrics/networkMetrics.ts'
import type { Connections } from './connections.ts'
import { type AnswerBounds, PeerTimeout, readAnswer, sendFrame } from './frameStream.ts'
import { FrameError } from './frames.ts'
import { LIMITS, type RequestLimits } from './limits.ts'
import { PROTOCOLS, type ProtocolName } from './protocols.ts'
import type { Session } from './session.ts'
import { TokenBucket } from './tokenBucket.ts'

/** Answers to one request; each body becomes a frame. Waits where the peer is slow. */
export type Respond = (body: Uint8Array) => Promise<void>

export interface RequestHandler {
  readonly protocol: ProtocolName
  readonly limits: RequestLimits
  /** @throws ProtobufError for a request that no honest node makes */
  readonly answer: (session: Session, request: Uint8Array, respond: Respond) => Promise<void>
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
  const respondOn = (stream: Stream): Respond => {
    const startMs = now()
    return async (body) => {
      // A peer that takes a little now and then would hold what the answer is made of for ever.
      if (now() - startMs > LIMITS.answerMs) throw new PeerTimeout('the answer is not taken in time')
      metrics.sentBytesTotal.inc({ protocol }, body.length)
      await sendFrame(stream, body, AbortSignal.timeout(LIMITS.requestMs))
    }
  }
  await connections.host.handle(
    PROTOCOLS[protocol],
    async (stream, connection) => {
      const session = await connections.sessionOf(connection)
      try {
        if (session === undefined) throw new Error('no hello on this connection')
        const waitMs = budgetOf(session).draw(1, now())
        // Nobody waits longer for an answer.
        if (waitMs > LIMITS.requestMs) {
          metrics.droppedTotal.inc({ reason: `too many ${protocol} requests` })
          throw new Error('too many requests')
        }
        // A node that syncs fast is not at fault. It can not have more requests wait here than it may have under way.
        if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
        const request = await readOne(stream, LIMITS.requestBytes)
        metrics.receivedMessagesTotal.inc({ protocol })
        metrics.receivedBytesTotal.inc({ protocol }, request.length)
        await handler.answer(session, request, respondOn(stream))
        await stream.close({ signal: AbortSignal.timeout(LIMITS.requestMs) })
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error))
        stream.abort(failure)
        const isMalformed = error instanceof ProtobufError || error instanceof FrameError
        if (session !== undefined && isMalformed) connections.ban(session, `malformed request: ${failure.message}`)
      }
    },
    { maxInboundStreams: limits.inFlight, maxOutboundStreams: 16 },
  )
}

/**
 * Asks a peer. `take` gets the frames of the answer and says when it is complete.
 * @throws PeerTimeout, FrameError, ProtobufError, or what ended the stream
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

async function readOne(stream: Stream, maxBytes: number): Promise<Uint8Array> {
  let body: Uint8Array | undefined
  const bounds = { frameBytes: maxBytes, totalBytes: maxBytes, idleMs: LIMITS.requestMs, totalMs: LIMITS.requestMs }
  await readAnswer(stream, bounds, (frame) => {
    body = frame
    return true
  })
  return body!
}
