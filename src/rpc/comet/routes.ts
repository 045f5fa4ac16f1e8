import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RpcLog } from '../errorResponse.ts'
import { answerCometGet, answerCometPost } from './answer.ts'
import type { CometTable } from './table.ts'

export interface HttpBodies {
  bodyText(request: FastifyRequest): string
  sendJson(reply: FastifyReply, json: string): FastifyReply
}

/** Adds GET /rpc/<method> with parameters in the query, and JSON-RPC at POST /rpc. */
export function addCometRoutes(
  app: FastifyInstance,
  table: CometTable,
  log: Pick<RpcLog, 'error'>,
  { bodyText, sendJson }: HttpBodies,
): void {
  app.get('/rpc', async (_, reply) => {
    const list = [...table.keys()].map((name) => `/rpc/${name}`).join('\n')
    return reply.type('text/plain; charset=utf-8').send(`${list}\n`)
  })
  for (const method of table.values()) {
    app.get(`/rpc/${method.name}`, async (request, reply) => {
      const { status, json } = await answerCometGet(method, request.query as Record<string, unknown>, log)
      return sendJson(reply.code(status), json)
    })
  }
  for (const path of ['/rpc', '/rpc/']) {
    app.post(path, async (request, reply) => {
      const { status, json } = await answerCometPost(table, bodyText(request), log)
      return sendJson(reply.code(status), json)
    })
  }
}
