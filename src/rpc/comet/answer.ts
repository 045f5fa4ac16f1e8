import type { RpcLog } from '../errorResponse.ts'
import { RPC_CODES } from '../errors.ts'
import { CometError, type CometMethod, type CometParams, type CometTable } from './table.ts'

export interface CometAnswer {
  readonly status: 200 | 500
  readonly json: string
}

type Log = Pick<RpcLog, 'error'>

/** The ID in answers to requests that have none (rpc/jsonrpc/types: JSONRPCIntID(-1)). */
const NO_ID = -1
const MAX_BATCH = 100

/** CometBFT's answer to GET /<method>; an error has the status 500 (rpc/jsonrpc/server/http_uri_handler.go). */
export async function answerCometGet(method: CometMethod, query: CometParams, log: Log): Promise<CometAnswer> {
  const body = await outcome(method, query, log)
  return { status: 'error' in body ? 500 : 200, json: JSON.stringify({ jsonrpc: '2.0', id: NO_ID, ...body }) }
}

/** CometBFT's answer to a JSON-RPC request or batch (rpc/jsonrpc/server/http_json_handler.go). */
export async function answerCometPost(table: CometTable, text: string, log: Log): Promise<CometAnswer> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    const error = new CometError(RPC_CODES.parse, 'Parse error. Invalid JSON', 'the request is not JSON')
    return { status: 500, json: JSON.stringify({ jsonrpc: '2.0', id: NO_ID, ...errorBody(error) }) }
  }
  const requests: readonly unknown[] = Array.isArray(json) ? json : [json]
  if (requests.length > MAX_BATCH) {
    const error = new CometError(RPC_CODES.invalidRequest, 'Invalid Request', `more than ${MAX_BATCH} requests`)
    return { status: 500, json: JSON.stringify({ jsonrpc: '2.0', id: NO_ID, ...errorBody(error) }) }
  }
  const answers: unknown[] = []
  for (const request of requests) {
    const answer = await answerRequest(table, request, log)
    if (answer !== undefined) answers.push(answer)
  }
  if (answers.length === 0) return { status: 200, json: '' }
  return { status: 200, json: JSON.stringify(Array.isArray(json) ? answers : answers[0]) }
}

/** undefined: a notification */
async function answerRequest(table: CometTable, request: unknown, log: Log): Promise<unknown> {
  const fields = new Map(typeof request === 'object' && request !== null ? Object.entries(request) : [])
  const id: unknown = fields.get('id')
  const name: unknown = fields.get('method')
  if (typeof name !== 'string' || (id !== undefined && typeof id !== 'string' && typeof id !== 'number')) {
    const error = new CometError(RPC_CODES.invalidRequest, 'Invalid Request', 'expected a method and an id')
    return { jsonrpc: '2.0', id: NO_ID, ...errorBody(error) }
  }
  if (id === undefined) return undefined
  const method = table.get(name)
  if (method === undefined) {
    return { jsonrpc: '2.0', id, ...errorBody(new CometError(RPC_CODES.methodNotFound, 'Method not found', '')) }
  }
  const params: unknown = fields.get('params') ?? {}
  return {
    jsonrpc: '2.0',
    id,
    ...(await outcome(method, typeof params === 'object' ? (params as CometParams) : [], log)),
  }
}

async function outcome(method: CometMethod, params: CometParams, log: Log): Promise<{ result: unknown } | ErrorBody> {
  try {
    return { result: await method.run(params) }
  } catch (error) {
    if (error instanceof CometError) return errorBody(error)
    log.error({ error, method: method.name }, 'an RPC method failed')
    return errorBody(new CometError(RPC_CODES.internal, 'Internal error', ''))
  }
}

interface ErrorBody {
  readonly error: { readonly code: number; readonly message: string; readonly data?: string }
}

function errorBody({ code, message, data }: CometError): ErrorBody {
  return { error: { code, message, ...(data === '' ? {} : { data }) } }
}
