import type { preHandlerAsyncHookHandler } from 'fastify'
import { ClientLimit } from './clientLimit.ts'
import type { ClientOf } from './clientOf.ts'

/** Questions that make the explorer ask the node: for all of them the node counts the explorer alone, whose index needs its answers too. */
const QUESTIONS = { burst: 100, perHour: 18_000 } as const
const ALL_QUESTIONS = { burst: 400, perHour: 360_000 } as const

/** For routes that ask the node about whatever the client names: refuses clients that ask too often. */
export function createNodeLimit(clientOf: ClientOf): preHandlerAsyncHookHandler {
  const limit = new ClientLimit(QUESTIONS, ALL_QUESTIONS)
  return async (request, reply) => {
    if (limit.take(clientOf(request), performance.now())) return
    return reply.code(429).send({ error: 'too many questions to the node from this address: ask again in a moment' })
  }
}
