import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { ClientOf } from './clientOf.ts'

/** Bodies that are sent at the same time, of all clients and of one: each is in memory until it was read. */
const MAX_OPEN = 16
const MAX_OPEN_OF_CLIENT = 4

/**
 * For routes that take long bodies: before anything of one is read, refuses it where too many are under way. Together with the server's
 * time limit for a request, this bounds the memory that clients can take.
 * @param shortBytes what counts as long: more than this, or a length that is not said
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
    // What is not read is not waited for.
    if (open.size >= MAX_OPEN || own >= MAX_OPEN_OF_CLIENT) return refuse(reply.header('connection', 'close'))
    open.set(request, client)
    reply.raw.once('close', () => open.delete(request))
  }
}
