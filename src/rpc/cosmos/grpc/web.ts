import type { ConnectRouter } from '@connectrpc/connect'
import type { UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bodyTooLarge, type HttpRefusal, refuse, scopeOfHttp } from '../../transport/httpMessages.ts'
import { MAX_QUERY_BYTES } from '../queryPort.ts'

/** The services as browsers reach them. */
export interface GrpcWebOptions {
  /** of all methods, e.g. `/cosmos.bank.v1beta1.Query/Balance` */
  readonly paths: Iterable<string>
  /** Called with the first request: to describe the services takes 50 ms, and few nodes are asked by gRPC-Web. */
  readonly services: () => Promise<(router: ConnectRouter) => void>
}

/** Media types of the browsers' protocols; gRPC itself is not served on HTTP/1. */
const MEDIA_TYPES = /^application\/(grpc-web(\+proto|\+json)?|proto|json)\s*(;|$)/i
const GRPC_WEB_TYPES = /^application\/grpc-web/i
/** gRPC-Web in base64, for clients that cannot send or read bytes (grpc/grpc, doc/PROTOCOL-WEB.md). */
const TEXT_TYPES = /^application\/grpc-web-text(\+proto)?\s*(;|$)/i
const TEXT_ANSWER_TYPE = 'application/grpc-web-text+proto'
const BINARY_TYPE = 'application/grpc-web+proto'

/** Characters of a request in base64: the longest message with the head of its frame, and padding. */
const MAX_TEXT_LENGTH = 352_256
/** A stream's messages may be padded each, one after the other; a client sends one message, in a few pieces at most. */
const MAX_TEXT_PIECES = 64
/** Between a piece's padding and the next piece. */
const PIECE_END = /(?<==)(?!=)/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const NOT_BASE64: HttpRefusal = { status: 400, text: 'the body is not base64' }

/**
 * Adds the services for browsers: gRPC-Web, as bytes or in base64, and the Connect protocol, whose requests are protobuf or JSON. A
 * request has been read whole by then, within the limits of all requests.
 * @param requestBytes of one request of any kind: a message may not be longer, decompressed
 */
export function addGrpcWebRoutes(
  app: FastifyInstance,
  { paths, services }: GrpcWebOptions,
  requestBytes: number,
): void {
  let loaded: Promise<ReadonlyMap<string, UniversalHandler>> | undefined
  const load = async () => {
    const { createConnectRouter } = await import('@connectrpc/connect')
    const router = createConnectRouter({ grpc: false, readMaxBytes: Math.min(requestBytes, MAX_QUERY_BYTES) })
    const addServices = await services()
    addServices(router)
    return new Map(router.handlers.map((handler) => [handler.requestPath, handler]))
  }
  for (const path of paths) {
    app.post(path, async (request, reply) => {
      loaded ??= load()
      return answer((await loaded).get(path)!, request, reply)
    })
  }
}

async function answer(handler: UniversalHandler, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const header = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) header.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  const type = header.get('content-type') ?? ''
  const isText = TEXT_TYPES.test(type)
  if (!isText && !MEDIA_TYPES.test(type)) return reply.code(415).send()
  const read = bodyOf(request, isText)
  if ('status' in read) return refuse(reply, read)
  if (isText) header.set('content-type', BINARY_TYPE)
  const { client, signal } = scopeOfHttp(request, reply)
  const [{ createContextValues }, { GRPC_CLIENT }] = await Promise.all([
    import('@connectrpc/connect'),
    import('./services.ts'),
  ])
  const response = await handler({
    httpVersion: '1.1',
    url: new URL(request.url, 'http://localhost').toString(),
    method: 'POST',
    header,
    body: once(read.bytes),
    signal,
    contextValues: createContextValues().set(GRPC_CLIENT, client),
  })
  for (const [name, value] of response.header ?? []) reply.header(name, value)
  const answered = await whole(response)
  reply.code(response.status)
  const wantsText = isText || (GRPC_WEB_TYPES.test(type) && TEXT_TYPES.test(header.get('accept') ?? ''))
  if (!wantsText) return reply.send(answered)
  return reply.header('content-type', TEXT_ANSWER_TYPE).send(Buffer.from(answered.toString('base64'), 'latin1'))
}

/** The bytes of a request's body, or why it is refused. */
function bodyOf({ body }: FastifyRequest, isText: boolean): { readonly bytes: Uint8Array } | HttpRefusal {
  if (!Buffer.isBuffer(body)) return { bytes: new Uint8Array(0) }
  if (!isText) return { bytes: body }
  if (body.length > MAX_TEXT_LENGTH) return bodyTooLarge(MAX_TEXT_LENGTH)
  const pieces = body.toString('latin1').split(PIECE_END, MAX_TEXT_PIECES + 1)
  if (pieces.length > MAX_TEXT_PIECES || !pieces.every((piece) => BASE64.test(piece))) return NOT_BASE64
  return { bytes: Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))) }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes
}

async function whole({ body }: UniversalServerResponse): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of body ?? []) parts.push(part)
  return Buffer.concat(parts)
}
