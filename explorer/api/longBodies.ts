import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { ClientOf } from './clientOf.ts'

/** Most bodies under way at once, of all clients and of one. Each is in memory until it is read. */
const MAX_OPEN = 16
const MAX_OPEN_OF_CLIENT = 4

/**
 * For routes that take long bodies: refuses a body before reading it when too many are under way. Together with the server's time limit
 * for a request, this bounds the memory that clients can take.
 * @param shortBytes a body is long above this, or without a stated length
 * @param refuse answers in the words of the route
 */
export function createLongBodyLimit(
  clientOf: ClientOf,
  shortBytes: number,
  refuse: (reply: FastifyReply) => FastifyReply,
): onRequestAsyncHookHandler {
  const open = new Map<FastifyRequest, string>()
  return async (request, reply) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    if (encoding === undefined && Number(length ?? 0) <= shortBytes) return
    const client = clientOf(request)
    const own = [...open.values()].filter((other) => other === client).length
    // The connection closes, so the rest of the body is not awaited.
    if (open.size >= MAX_OPEN || own >= MAX_OPEN_OF_CLIENT) return refuse(reply.header('connection', 'close'))
    open.set(request, client)
    reply.raw.once('close', () => open.delete(request))
  }
}
