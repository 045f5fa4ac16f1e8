import type { NativePort } from '../native/nativeCall.ts'
import { GRPC_CODES, invalidArgument, QueryError, restError } from '../native/queryError.ts'
import type { RestRouter, RouteMatch } from './pathTemplate.ts'
import { requestJson } from './requestFields.ts'

export interface RestRequest {
  readonly method: string
  /** with the query string, as it was sent */
  readonly url: string
  /** the header x-cosmos-block-height */
  readonly height: string | undefined
  readonly body: string
}

export interface RestAnswer {
  readonly status: number
  readonly json: string
  /** height of the state that was read */
  readonly height: number | undefined
}

export interface RestOptions {
  readonly router: RestRouter
  readonly port: NativePort
}

/** A longer one has no meaning for any query. */
const MAX_URL = 16_384

/** Answers a request under /cosmos as grpc-gateway does in front of an SDK node. Rejects only when the view threads are gone. */
export async function answerRest({ router, port }: RestOptions, request: RestRequest): Promise<RestAnswer> {
  try {
    if (request.url.length > MAX_URL) throw invalidArgument('the request is too long')
    const [path = '', search = ''] = splitOnce(request.url, '?')
    const match = router.match(request.method === 'HEAD' ? 'GET' : request.method, path)
    if (match === undefined) throw new QueryError(GRPC_CODES.unimplemented, 'Not Implemented')
    const height = readHeight(request.height)
    const json = match.method === 'POST' ? bodyJson(request.body) : getJson(match, search)
    const answer = await port.query(match.query.lane, { path: match.query.path, request: { json }, height })
    if (answer.kind === 'json') return { status: 200, json: answer.json, height: answer.height }
    if (answer.kind === 'error') return { ...restError(answer), height: undefined }
    throw new Error('a view thread answered in another form than it was asked')
  } catch (error) {
    if (error instanceof QueryError) return { ...restError(error), height: undefined }
    throw error
  }
}

function getJson({ query, captures }: RouteMatch, search: string): string {
  return JSON.stringify(requestJson(query.request, captures, new URLSearchParams(search)))
}

/** The view thread reads it. An empty body is an empty message. */
function bodyJson(body: string): string {
  return body.trim() === '' ? '{}' : body
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
