import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SocketMetrics } from '../../telemetry/metrics.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { RPC_CODES, type RpcLog, rateLimited } from '../jsonrpc/errors.ts'
import { resultText } from '../jsonrpc/method.ts'
import { textOf } from '../jsonrpc/resultText.ts'
import type { RateLimit } from '../transport/rateLimit.ts'
import { requestTextLimits, scanRequest } from '../transport/scanRequest.ts'
import { CometError, type CometMethod, CometParamError, type CometTable, jsonTypeOf } from './method.ts'

interface CometAnswer {
  readonly status: 200 | 500
  /** empty: there is nothing to answer */
  readonly json: string
}

export interface CometAnswerOptions {
  readonly log: Pick<RpcLog, 'error'>
  /** of all answers to one batch */
  readonly responseBytes: number
  /** counts the requests of a batch */
  readonly rateLimit?: Pick<RateLimit, 'charge'>
  readonly metrics?: Pick<SocketMetrics, 'refusedTotal'> | undefined
}

/**
 * The ID in answers to GET requests, which do not send an ID (rpc/jsonrpc/types: JSONRPCIntID(-1)).
 */
const NO_ID = '-1'
/** Values in a query that mean that the parameter is omitted. */
const LEFT_OUT: ReadonlySet<string> = new Set(['', 'null'])
const MAX_BATCH = 100
/** A longer text is refused without its ID. */
const MAX_REFUSED_LENGTH = 4_096
const TEXT_LIMITS = requestTextLimits(MAX_BATCH)
const METHOD_NOT_FOUND = new CometError(RPC_CODES.methodNotFound, 'Method not found', '')

/** The answer to GET of a method that only WebSockets have; its status is 404. */
export const SOCKET_METHOD_ANSWER = `{"jsonrpc":"2.0","id":${NO_ID},${errorText(METHOD_NOT_FOUND)}}`

/** The answer to a form with more fields than are read; its status is 500. */
export const FORM_TOO_LONG_ANSWER = `{"jsonrpc":"2.0","id":${NO_ID},${errorText(invalidParams(new CometParamError('the form has too many fields'), 'http'))}}`

/**
 * Answers GET /<method> as CometBFT does; an error has the status 500
 * (rpc/jsonrpc/server/http_uri_handler.go).
 */
export async function answerCometGet(
  method: CometMethod,
  query: Readonly<Record<string, unknown>>,
  scope: CallScope,
  { log }: Pick<CometAnswerOptions, 'log'>,
): Promise<CometAnswer> {
  const { isError, text } = await outcome(method, scope, log, 'http', () =>
    method.params.map(({ name, type }) => {
      const values = query[name]
      const value: unknown = Array.isArray(values) ? values[0] : values
      return typeof value !== 'string' || LEFT_OUT.has(value) ? undefined : type.fromQuery(value)
    }),
  )
  return { status: isError ? 500 : 200, json: `{"jsonrpc":"2.0","id":${NO_ID},${text}}` }
}

/**
 * Answers a JSON-RPC request or batch as CometBFT does (rpc/jsonrpc/server/http_json_handler.go).
 */
export function answerCometPost(
  table: CometTable,
  text: string,
  scope: CallScope,
  options: CometAnswerOptions,
): Promise<CometAnswer> {
  return answerCometJson(table, parseCometText(text), scope, options)
}

/** A request or a batch, parsed. */
export interface CometText {
  readonly json: unknown
  /** by position in the batch: a numeric `id`, as it was sent (see `scanRequest`) */
  readonly numberIds: readonly (string | undefined)[]
}

/**
 * Parses the text of a request or a batch. Returns the error when it is not JSON or exceeds a
 * limit, which is checked before it is parsed.
 */
export function parseCometText(text: string): CometText | CometError {
  const { exceeded, numberIds } = scanRequest(text, TEXT_LIMITS)
  if (exceeded === 'messages')
    return invalidRequest(`batch request exceeds maximum (${MAX_BATCH}) allowed number of requests`)
  if (exceeded === 'values') return invalidRequest(`the request has more than ${TEXT_LIMITS.values} values`)
  if (exceeded === 'depth') return parseError('exceeded max depth')
  try {
    return { json: JSON.parse(text), numberIds }
  } catch (error) {
    return parseError((error as SyntaxError).message)
  }
}

/** Like `answerCometPost`, for a text that `parseCometText` has read. */
export async function answerCometJson(
  table: CometTable,
  read: CometText | CometError,
  scope: CallScope,
  { log, responseBytes, rateLimit, metrics }: CometAnswerOptions,
): Promise<CometAnswer> {
  const requests = read instanceof CometError ? read : readRequests(read)
  if (requests instanceof CometError) {
    metrics?.refusedTotal.inc({ reason: 'text' })
    const isUnreadable = requests.code === RPC_CODES.parse
    return { status: isUnreadable ? 500 : 200, json: `{"jsonrpc":"2.0",${errorText(requests)}}` }
  }
  rateLimit?.charge(scope.client, Math.max(0, requests.length - 1))
  const answers: string[] = []
  let bytes = 0
  for (const { id, name, params } of requests) {
    if (id === undefined) continue
    // The rest of a batch does not start for a client that has left.
    if (scope.signal.aborted) break
    // Between the requests of a batch other connections have a turn.
    if (answers.length > 0) await nextTurn()
    const body =
      bytes > responseBytes
        ? errorText(new CometError(RPC_CODES.server, 'Server error', 'the answers to the batch are too large'))
        : await answerRequest(table, name, params, scope, log)
    const answer = `{"jsonrpc":"2.0","id":${id},${body}}`
    bytes += answer.length
    answers.push(answer)
  }
  // A batch of one request is answered like a single request.
  return { status: 200, json: answers.length > 1 ? `[${answers.join(',')}]` : (answers[0] ?? '') }
}

/**
 * Returns the answer to a request that comes too soon.
 * @param text of a POST or message; empty for a GET
 */
export function cometRateLimited(text: string, seconds: number): string {
  const { code, message } = rateLimited(seconds)
  const id = text === '' ? NO_ID : (idOfShort(text) ?? 'null')
  return `{"jsonrpc":"2.0","id":${id},${errorText(new CometError(code, 'Too many requests', message))}}`
}

/** Returns the ID of a request, or of the first one in a batch; a long text is not read. */
function idOfShort(text: string): string | undefined {
  const read = text.length > MAX_REFUSED_LENGTH ? undefined : parseCometText(text)
  if (read === undefined || read instanceof CometError) return undefined
  const requests = readRequests(read)
  return requests instanceof CometError ? undefined : requests[0]?.id
}

interface Request {
  /** JSON text; undefined: a notification, which gets no answer */
  readonly id: string | undefined
  readonly name: string
  readonly params: unknown
}

/**
 * Returns the requests of a batch, or the single one; the error when the text as a whole cannot be
 * answered.
 */
function readRequests({ json, numberIds }: CometText): readonly Request[] | CometError {
  const requests: Request[] = []
  for (const [index, request] of ((Array.isArray(json) ? json : [json]) as readonly unknown[]).entries()) {
    if (typeof request !== 'object' || Array.isArray(request)) return parseError('a request is not an object')
    const { id, method, params } = (request ?? {}) as Readonly<Record<string, unknown>>
    if (id === undefined || id === null) {
      requests.push({ id: undefined, name: '', params: undefined })
      continue
    }
    if (typeof id !== 'string' && typeof id !== 'number') return parseError('an ID is neither text nor a number')
    // A missing method is answered like an unknown one.
    const name = method ?? ''
    if (typeof name !== 'string') return parseError('a method is not text')
    requests.push({ id: idText(id, numberIds[index]), name, params })
  }
  return requests
}

/**
 * Returns an ID's JSON text. A number is returned as it came, where CometBFT loses fractions and
 * digits beyond 2^53.
 */
export function idText(id: string | number, numberId: string | undefined): string {
  return typeof id === 'number' && numberId !== undefined ? numberId : JSON.stringify(id)
}

async function answerRequest(
  table: CometTable,
  name: string,
  params: unknown,
  scope: CallScope,
  log: CometAnswerOptions['log'],
): Promise<string> {
  const method = table.get(name)
  if (method === undefined) return errorText(METHOD_NOT_FOUND)
  const { text } = await outcome(method, scope, log, 'json', () => readParams(method, params))
  return text
}

/** Reads parameters by name or by position. @throws CometParamError */
export function readParams(method: Pick<CometMethod, 'params'>, params: unknown): readonly unknown[] {
  if (params === undefined || params === null) return method.params.map(() => undefined)
  if (Array.isArray(params)) {
    const { length } = method.params
    if (params.length !== length) {
      const names = method.params.map(({ name }) => name).join(' ')
      throw new CometParamError(`expected ${length} parameters ([${names}]), got ${params.length}`)
    }
    return method.params.map(({ type }, index) => type.fromJson(params[index]))
  }
  if (typeof params !== 'object') {
    throw new CometParamError(
      `unknown type for JSON params: json: cannot unmarshal ${jsonTypeOf(params)} into Go value of type []json.RawMessage. Expected map or array`,
    )
  }
  const named = new Map<string, unknown>(Object.entries(params))
  return method.params.map(({ name, type }) => type.fromJson(named.get(name)))
}

async function outcome(
  method: CometMethod,
  scope: CallScope,
  log: CometAnswerOptions['log'],
  form: 'http' | 'json',
  readArgs: () => readonly unknown[],
): Promise<{ readonly isError: boolean; readonly text: string }> {
  try {
    return { isError: false, text: `"result":${textOf(resultText(await method.run(readArgs(), scope)))}` }
  } catch (error) {
    if (error instanceof CometError) return { isError: true, text: errorText(error) }
    if (error instanceof CometParamError) return { isError: true, text: errorText(invalidParams(error, form)) }
    log.error({ error, method: method.name }, 'an RPC method failed')
    return { isError: true, text: errorText(new CometError(RPC_CODES.internal, 'Internal error', '')) }
  }
}

export function invalidParams({ message }: CometParamError, form: 'http' | 'json'): CometError {
  const reason = `error converting ${form} params to arguments: ${message}`
  return new CometError(RPC_CODES.invalidParams, 'Invalid params', reason)
}

function invalidRequest(reason: string): CometError {
  return new CometError(RPC_CODES.invalidRequest, 'Invalid Request', reason)
}

function parseError(reason: string): CometError {
  return new CometError(RPC_CODES.parse, 'Parse error. Invalid JSON', `error unmarshaling request: ${reason}`)
}

function errorText({ code, message, data }: CometError): string {
  return `"error":${JSON.stringify({ code, message, ...(data === '' ? {} : { data }) })}`
}
