import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ClientAddresses, forwardedFor } from '../../config/clientAddress.ts'
import { type CallScope, createCaller, scopeOf } from '../jsonrpc/callScope.ts'
import { type AnswerText, answerBuffer } from '../jsonrpc/resultText.ts'

/** Returns the client that a request counts for. */
export function clientOf(
  clients: Pick<ClientAddresses, 'of'>,
  remoteAddress: string | undefined,
  headers: IncomingHttpHeaders,
): string {
  return clients.of(
    remoteAddress,
    forwardedFor((name) => headers[name]),
  )
}

/** Web origins that may use the node; `*` alone allows every origin. */
export type AllowedOrigins = readonly string[]

/**
 * Whether pages of `origin` may call; a request without an Origin header does not come from a web
 * page.
 */
export function isOriginAllowed(allowed: AllowedOrigins, origin: string | undefined): boolean {
  return origin === undefined || allowed.includes('*') || allowed.includes(origin.toLowerCase())
}

/** Media types that a request may have. */
export const JSON_TYPES: ReadonlySet<string> = new Set([
  'application/json',
  'application/json-rpc',
  'application/jsonrequest',
])

/** Returns the media type in a Content-Type header, without its parameters. */
export function mediaType(contentType: string | undefined): string {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** A refusal at the level of HTTP. */
export interface HttpRefusal {
  readonly status: 400 | 401 | 403 | 405 | 413 | 415
  readonly text: string
}

export const TEXT_TYPE = 'text/plain; charset=utf-8'

export function refuse(reply: FastifyReply, { status, text }: HttpRefusal): FastifyReply {
  return reply.code(status).type(TEXT_TYPE).send(text)
}

export const METHOD_NOT_ALLOWED: HttpRefusal = { status: 405, text: 'method not allowed' }

/**
 * Returns the reason why a POST is refused before its body is read (geth: rpc/http.go,
 * validateRequest); undefined when it is not.
 */
export function refusePost(headers: IncomingHttpHeaders, maxBytes: number): HttpRefusal | undefined {
  const length = Number(headers['content-length'] ?? 0)
  if (length > maxBytes) return { status: 413, text: `content length too large (${length}>${maxBytes})` }
  if (JSON_TYPES.has(mediaType(headers['content-type']))) return undefined
  return { status: 415, text: 'invalid content type, only application/json is supported' }
}

/** Whether a request's body is compressed with gzip (RFC 9110, 8.4.1.3). */
export function isGzip(headers: IncomingHttpHeaders): boolean {
  return contentEncoding(headers) === 'gzip'
}

function contentEncoding(headers: IncomingHttpHeaders): string {
  return headers['content-encoding']?.trim().toLowerCase() ?? ''
}

/**
 * Returns the reason why a request whose body has another encoding than gzip is refused; undefined
 * when it is not.
 */
export function refuseEncoding(headers: IncomingHttpHeaders): HttpRefusal | undefined {
  if (['', 'identity', 'gzip'].includes(contentEncoding(headers))) return undefined
  return { status: 415, text: 'invalid content encoding, only gzip is supported' }
}

export const NOT_GZIP: HttpRefusal = { status: 400, text: 'the body is not gzip' }

/**
 * Returns the most bytes that a request's body may have: the maximum when it does not announce its
 * length, and when it is compressed.
 */
export function announcedBytes(headers: IncomingHttpHeaders, maxBytes: number): number {
  if (headers['transfer-encoding'] !== undefined || isGzip(headers)) return maxBytes
  return Math.min(Number(headers['content-length'] ?? 0), maxBytes)
}

/** Returns the refusal of a body whose length was not announced. */
export function bodyTooLarge(maxBytes: number): HttpRefusal {
  return { status: 413, text: `content length too large (>${maxBytes})` }
}

/**
 * Returns the Vary header of an answer whose encoding depends on Accept-Encoding.
 * @param vary what else it depends on
 */
export function varyWithEncoding(vary: string | number | readonly string[] | undefined): string {
  return vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`
}

/** Seconds for which a browser may cache the answer to a preflight, as in geth. */
const PREFLIGHT_SECONDS = '600'

/** Returns the headers that let web pages of allowed origins read the answer (CORS). */
export function corsHeaders(allowed: AllowedOrigins, headers: IncomingHttpHeaders): Record<string, string> {
  const { origin } = headers
  if (allowed.includes('*')) return { 'access-control-allow-origin': '*' }
  if (origin === undefined || !isOriginAllowed(allowed, origin)) return { vary: 'origin' }
  return { 'access-control-allow-origin': origin, vary: 'origin' }
}

/**
 * The headers of answers that pages of other origins may read, in addition to those that every page
 * may read.
 */
export const EXPOSED_HEADERS = {
  'access-control-expose-headers':
    'retry-after, x-cosmos-block-height, grpc-status, grpc-message, grpc-status-details-bin',
} as const

/** Returns the additional headers of the answer to an OPTIONS request. */
export function preflightHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return {
    'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
    'access-control-allow-headers': headers['access-control-request-headers'] ?? 'content-type',
    'access-control-max-age': PREFLIGHT_SECONDS,
  }
}

/** Answers with JSON text. As a `Buffer`, because Fastify adds a charset to a string, which geth does not send. */
export function sendJson(reply: FastifyReply, json: AnswerText): FastifyReply {
  return reply.header('content-type', 'application/json').send(answerBuffer(json))
}

/**
 * Returns the scope of a request whose body has just been read; it is cancelled when the connection
 * closes before the answer is sent.
 */
export function scopeOfHttp(request: FastifyRequest, reply: FastifyReply): CallScope {
  const caller = createCaller()
  // Also emitted after the answer, when nothing is left to cancel.
  reply.raw.once('close', () => caller.leave())
  return scopeOf(request.client, caller.signal)
}

/** Returns the body of a request; empty when there is no body. */
export function bodyText({ body }: FastifyRequest): string {
  return Buffer.isBuffer(body) ? body.toString('utf8') : ''
}
