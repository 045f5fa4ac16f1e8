import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RestBinding } from '../../../modules/query/query.ts'
import { GRPC_CODES, invalidArgument, QueryError, restError } from '../../../modules/query/queryError.ts'
import type { SocketMetrics } from '../../../telemetry/metrics.ts'
import type { CallScope } from '../../jsonrpc/callScope.ts'
import { rateLimited } from '../../jsonrpc/errors.ts'
import { bodyText, scopeOfHttp, sendJson } from '../../transport/httpMessages.ts'
import { requestTextLimits, scanRequest } from '../../transport/scanRequest.ts'
import type { NativeAnswer, NativePort, NativeQuery, QueryTable } from '../queryPort.ts'
import { requestJson } from './requestFields.ts'

const HEIGHT_HEADER = 'x-cosmos-block-height'
/** Where the queries are, and IBC's, which clients ask to learn whether a chain has it. */
const PREFIXES = ['/cosmos', '/ibc', '/ethermint', '/feemarket'] as const
/** Paths of any module's service: the module, and a version such as v1beta1 behind it. */
const VERSIONED = /^\/(?!rpc\/)[a-z][^/]*\/(?:[^/]+\/)*v[0-9]+(?:(?:alpha|beta)[0-9]+)?(?:\/|$)/

/** Whether the answer has the gateway's form, also when it is an error. */
export function isRestPath(path: string): boolean {
  return PREFIXES.some((prefix) => path.startsWith(`${prefix}/`)) || VERSIONED.test(path)
}

/** The answer of an SDK node to a path of a service that it does not have. */
export const NOT_IMPLEMENTED = restError({ code: GRPC_CODES.unimplemented, message: 'Not Implemented' })

/** The text of a refusal; its status is 429. */
export function restRateLimited(seconds: number): string {
  return restError({ code: GRPC_CODES.resourceExhausted, message: rateLimited(seconds).message }).json
}

/** Adds the gateway's paths, under /cosmos. */
export function addRestRoutes(app: FastifyInstance, options: RestOptions): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const requested = request.headers[HEIGHT_HEADER]
    const { status, json, height } = await answerRest(options, {
      method: request.method,
      url: request.raw.url ?? '',
      height: Array.isArray(requested) ? requested[0] : requested,
      body: bodyText(request),
      scope: scopeOfHttp(request, reply),
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

export interface RestOptions {
  readonly router: RestRouter
  readonly port: NativePort
  readonly metrics?: Pick<SocketMetrics, 'requestsTotal' | 'requestSeconds' | 'refusedTotal'>
}

interface RestRequest {
  readonly method: string
  /** with the query string, as it was sent */
  readonly url: string
  /** the header x-cosmos-block-height */
  readonly height: string | undefined
  readonly body: string
  readonly scope: CallScope
}

interface RestAnswer {
  readonly status: number
  readonly json: string
  /** height of the state that was read */
  readonly height: number | undefined
}

/** No query needs a longer one. */
const MAX_URL = 16_384
/** A body is not a batch, so the number of messages says nothing. No request is nested deeper. */
const TEXT_LIMITS = { ...requestTextLimits(0), messages: Number.POSITIVE_INFINITY, depth: 64 }

/** Answers a request under /cosmos as grpc-gateway does in front of an SDK node. Rejects only when the view threads have stopped. */
export async function answerRest(options: RestOptions, request: RestRequest): Promise<RestAnswer> {
  const startMs = performance.now()
  const [path = '', search = ''] = splitOnce(request.url, '?')
  const match = options.router.match(request.method === 'HEAD' ? 'GET' : request.method, path)
  const method = match?.query.path ?? 'unknown'
  const answer = await answerMatch(options, match, request, search)
  options.metrics?.requestsTotal.inc({ method, outcome: answer.kind === 'error' ? String(answer.code) : 'ok' })
  options.metrics?.requestSeconds.observe({ method }, (performance.now() - startMs) / 1000)
  if (answer.kind === 'error') return { ...restError(answer), height: undefined }
  if (answer.kind === 'json') return { status: 200, json: answer.json, height: answer.height }
  throw new Error('a view thread answered in another form than it was asked')
}

async function answerMatch(
  { port, metrics }: RestOptions,
  match: RouteMatch | undefined,
  { url, height, body, scope }: RestRequest,
  search: string,
): Promise<NativeAnswer> {
  try {
    if (url.length > MAX_URL) throw invalidArgument('the request is too long')
    if (match === undefined) throw new QueryError(GRPC_CODES.unimplemented, 'Not Implemented')
    const json =
      match.method === 'POST'
        ? bodyJson(body, () => metrics?.refusedTotal.inc({ reason: 'text' }))
        : getJson(match, search)
    const call = { path: match.query.path, request: { json }, height: readHeight(height) }
    return await port.query(match.query.runs, call, scope)
  } catch (error) {
    if (error instanceof QueryError)
      return { kind: 'error', code: error.code, message: error.message, abci: error.abci }
    throw error
  }
}

function getJson({ query, captures }: RouteMatch, search: string): string {
  return JSON.stringify(requestJson(query.request, captures, new URLSearchParams(search)))
}

/**
 * Returns the JSON of a POST, which the thread that runs the query parses. An empty body is an empty message.
 * @throws QueryError when it holds more than any query takes: that is found before it goes to another thread
 */
function bodyJson(body: string, onRefused: () => void): string {
  const { exceeded } = scanRequest(body, TEXT_LIMITS)
  if (exceeded === undefined) return body.trim() === '' ? '{}' : body
  onRefused()
  throw invalidArgument(
    exceeded === 'depth'
      ? 'the request is nested too deeply'
      : `the request has more than ${TEXT_LIMITS.values} values`,
  )
}

/** @throws QueryError */
function readHeight(header: string | undefined): number {
  if (header === undefined || header === '') return 0
  const value = /^[+-]?\d{1,19}$/.test(header) ? Number(header) : Number.NaN
  if (Number.isNaN(value)) throw invalidArgument(`invalid height header ${JSON.stringify(header.slice(0, 40))}`)
  if (value < 0) throw invalidArgument('cannot query with height < 0; please provide a valid height')
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

/** A query and the values of its path. */
interface RouteMatch {
  readonly query: NativeQuery
  readonly method: RestBinding['method']
  /** by field path, percent-decoded */
  readonly captures: ReadonlyMap<string, string>
}

/** Finds the query of a request by its path. */
export interface RestRouter {
  /** undefined: there is no such path, or not for this method */
  match(method: string, path: string): RouteMatch | undefined
}

interface Node {
  readonly literals: Map<string, Node>
  /** one segment, whatever it is */
  variable: Node | undefined
  readonly ends: Map<string, End>
  /** of templates whose last variable takes the rest of the path */
  readonly restEnds: Map<string, End>
}

interface End {
  readonly query: NativeQuery
  readonly method: RestBinding['method']
  readonly names: readonly string[]
}

const VARIABLE = /^\{([a-z0-9_.]+)(=\*\*)?\}$/

/**
 * The templates of all queries as one tree. Literal segments go before variables, so `blocks/latest` is not a height.
 * @throws Error when two queries have one template
 */
export function createRestRouter(queries: QueryTable): RestRouter {
  const root = newNode()
  for (const query of queries.values()) {
    for (const { method, template } of query.rest) addTemplate(root, query, method, template)
  }
  return {
    match: (method, path) => {
      const segments = path.split('/').slice(1)
      const found = find(root, method, segments, 0, [])
      if (found === undefined) return undefined
      const { end, values } = found
      const captures = new Map<string, string>()
      for (const [index, name] of end.names.entries()) {
        const value = decode(values[index]!)
        if (value === undefined) return undefined
        captures.set(name, value)
      }
      return { query: end.query, method: end.method, captures }
    },
  }
}

function newNode(): Node {
  return { literals: new Map(), variable: undefined, ends: new Map(), restEnds: new Map() }
}

function addTemplate(root: Node, query: NativeQuery, method: RestBinding['method'], template: string): void {
  let node = root
  const names: string[] = []
  let takesRest = false
  for (const segment of template.split('/').slice(1)) {
    const variable = VARIABLE.exec(segment)
    if (variable === null) {
      const known = node.literals.get(segment) ?? newNode()
      node.literals.set(segment, known)
      node = known
      continue
    }
    names.push(variable[1]!)
    takesRest = variable[2] !== undefined
    if (takesRest) continue
    node.variable ??= newNode()
    node = node.variable
  }
  const ends = takesRest ? node.restEnds : node.ends
  if (ends.has(method)) throw new Error(`two queries are at ${method} ${template}`)
  ends.set(method, { query, method, names })
}

function find(
  node: Node,
  method: string,
  segments: readonly string[],
  at: number,
  values: readonly string[],
): { readonly end: End; readonly values: readonly string[] } | undefined {
  const segment = segments[at]
  if (segment === undefined) {
    const end = node.ends.get(method)
    return end && { end, values }
  }
  const literal = node.literals.get(segment)
  const found = literal && find(literal, method, segments, at + 1, values)
  if (found !== undefined) return found
  // As in grpc-gateway: the last segment of a variable may be empty; the query then reports the missing value.
  const canBeVariable = segment !== '' || at === segments.length - 1
  if (node.variable !== undefined && canBeVariable) {
    const inner = find(node.variable, method, segments, at + 1, [...values, segment])
    if (inner !== undefined) return inner
  }
  const rest = node.restEnds.get(method)
  return rest && canBeVariable ? { end: rest, values: [...values, segments.slice(at).join('/')] } : undefined
}

/** undefined for what is not percent-encoded UTF-8 */
function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}
