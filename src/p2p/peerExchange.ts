import { ProtobufError, ProtobufFields, ProtobufWriter } from '../primitives/protobuf.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { LIMITS, REQUEST_LIMITS } from './limits.ts'
import { type KnownPeer, readKnownPeer, writeKnownPeer } from './peerAddress.ts'
import { type RequestHandler, request } from './requests.ts'
import type { Session } from './session.ts'

/** The most peers in one answer. */
export const PEERS_PER_ANSWER = 64

/** An empty request has one byte, because a frame must not be empty. */
const NO_REQUEST = Uint8Array.of(0)

/**
 * Answers with good peers: those that this node has reached, or is connected to.
 * @param answered called after an answer
 */
export function peersHandler(
  known: (host: string) => readonly KnownPeer[],
  answered: (session: Session) => void,
): RequestHandler {
  return {
    protocol: 'peers',
    limits: REQUEST_LIMITS.peers,
    answer: async (session, _, respond) => {
      const peers = known(session.remote.host).filter(({ id }) => id !== session.id)
      // The first field is for an answer without peers, which would be empty otherwise.
      const writer = new ProtobufWriter().varint(1, 1)
      await respond(writer.repeatedMessage(2, writeKnownPeer, peers.slice(0, PEERS_PER_ANSWER)).finish())
      answered(session)
    },
  }
}

/** @throws Error when the peer does not answer in time or its answer is invalid */
export async function fetchPeers(
  context: { readonly metrics: NetworkMetrics },
  session: Session,
): Promise<readonly KnownPeer[]> {
  let peers: readonly KnownPeer[] = []
  const bounds = { frameBytes: LIMITS.answerBytes, totalBytes: LIMITS.answerBytes }
  await request(context, session, 'peers', NO_REQUEST, bounds, (body) => {
    peers = new ProtobufFields(body).repeatedMessage(2, readKnownPeer)
    if (peers.length > PEERS_PER_ANSWER) throw new ProtobufError('more peers than an answer may hold')
    return true
  })
  return peers
}

/** Answers with the range of blocks that this node has. */
export function statusHandler(standing: () => { readonly base: number; readonly height: number }): RequestHandler {
  return {
    protocol: 'status',
    limits: REQUEST_LIMITS.status,
    answer: async (_session, _request, respond) => {
      const { base, height } = standing()
      await respond(new ProtobufWriter().varint(1, base).varint(2, height).finish())
    },
  }
}
