import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bodyText, mediaType, scopeOfHttp, sendJson } from '../transport/httpMessages.ts'
import {
  answerCometGet,
  answerCometPost,
  type CometAnswerOptions,
  FORM_TOO_LONG_ANSWER,
  SOCKET_METHOD_ANSWER,
} from './answer.ts'
import type { CometMethod, CometTable } from './method.ts'
import { SOCKET_METHODS } from './socket.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'
/**
 * Most fields of a form, more than the parameters of any method. Reading a body of millions of
 * fields would take a minute.
 */
const MAX_FORM_FIELDS = 100

/**
 * Adds /rpc/<method> with parameters in the query, or in the form that a POST sends; JSON-RPC at
 * POST /rpc; at GET /rpc the list of methods.
 */
export function addCometRoutes(app: FastifyInstance, table: CometTable, options: CometAnswerOptions): void {
  for (const method of table.values()) {
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const query = request.query as Record<string, unknown>
      const form = formOf(request)
      if (form === undefined) {
        options.metrics?.refusedTotal.inc({ reason: 'text' })
        return sendJson(reply.code(500), FORM_TOO_LONG_ANSWER)
      }
      const { status, json } = await answerCometGet(method, { ...form, ...query }, scopeOfHttp(request, reply), options)
      return sendJson(reply.code(status), json)
    }
    app.get(`/rpc/${method.name}`, answer)
    app.post(`/rpc/${method.name}`, answer)
  }
  for (const name of SOCKET_METHODS) {
    app.get(`/rpc/${name}`, async (_, reply) => sendJson(reply.code(404), SOCKET_METHOD_ANSWER))
  }
  const list = [...table.values()].map(methodUrl).join('\n')
  const sendList = (reply: FastifyReply): FastifyReply => reply.type('text/plain; charset=utf-8').send(`${list}\n`)
  for (const path of ['/rpc', '/rpc/']) {
    app.get(path, async (_, reply) => sendList(reply))
    app.post(path, async (request, reply) => {
      const text = bodyText(request)
      if (text === '') return sendList(reply)
      const { status, json } = await answerCometPost(table, text, scopeOfHttp(request, reply), options)
      return sendJson(reply.code(status), json)
    })
  }
}

/** Returns the fields of the form that a POST sends; undefined: there are too many. */
function formOf(request: FastifyRequest): Readonly<Record<string, string>> | undefined {
  if (mediaType(request.headers['content-type']) !== FORM_TYPE) return {}
  const text = bodyText(request)
  if (text.split('&', MAX_FORM_FIELDS + 1).length > MAX_FORM_FIELDS) return undefined
  return Object.fromEntries(new URLSearchParams(text))
}

function methodUrl({ name, params }: CometMethod): string {
  return params.length === 0 ? `/rpc/${name}` : `/rpc/${name}?${params.map((param) => `${param.name}=_`).join('&')}`
}
