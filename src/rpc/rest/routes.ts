import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HttpBodies } from '../comet/routes.ts'
import { answerRest, type RestOptions } from './answerRest.ts'

const HEIGHT_HEADER = 'x-cosmos-block-height'
/** Paths of Cosmos SDK services; of what is not offered clients are told in the gateway's own way. */
const PREFIXES = ['/cosmos', '/ibc'] as const

/** Adds the gateway's paths, under /cosmos. */
export function addRestRoutes(app: FastifyInstance, options: RestOptions, { bodyText, sendJson }: HttpBodies): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const asked = request.headers[HEIGHT_HEADER]
    const { status, json, height } = await answerRest(options, {
      method: request.method,
      url: request.raw.url ?? '',
      height: Array.isArray(asked) ? asked[0] : asked,
      body: bodyText(request),
    })
    if (height !== undefined) {
      // The first is how the gateway passes gRPC's headers on; some clients look for the other.
      reply.header('grpc-metadata-x-cosmos-block-height', String(height))
      reply.header(HEIGHT_HEADER, String(height))
    }
    return sendJson(reply.code(status), json)
  }
  for (const prefix of PREFIXES) app.route({ method: ['GET', 'POST'], url: `${prefix}/*`, handler: answer })
}
