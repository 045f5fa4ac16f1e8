import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerCometGet, answerCometPost, type CometAnswerOptions } from './answer.ts'
import type { CometMethod, CometTable } from './table.ts'

export interface HttpBodies {
  bodyText(request: FastifyRequest): string
  sendJson(reply: FastifyReply, json: string): FastifyReply
}

/** Adds GET /rpc/<method> with parameters in the query, JSON-RPC at POST /rpc, and at GET /rpc the list of methods. */
export function addCometRoutes(
  app: FastifyInstance,
  table: CometTable,
  options: CometAnswerOptions,
  { bodyText, sendJson }: HttpBodies,
): void {
  for (const method of table.values()) {
    app.get(`/rpc/${method.name}`, async (request, reply) => {
      const { status, json } = await answerCometGet(method, request.query as Record<string, unknown>, options)
      return sendJson(reply.code(status), json)
    })
  }
  for (const path of ['/rpc', '/rpc/']) {
    app.get(path, async (_, reply) => {
      const list = [...table.values()].map(listed).join('\n')
      return reply.type('text/plain; charset=utf-8').send(`${list}\n`)
    })
    app.post(path, async (request, reply) => {
      const { status, json } = await answerCometPost(table, bodyText(request), options)
      return sendJson(reply.code(status), json)
    })
  }
}

function listed({ name, params }: CometMethod): string {
  return params.length === 0 ? `/rpc/${name}` : `/rpc/${name}?${params.map((param) => `${param.name}=_`).join('&')}`
}
