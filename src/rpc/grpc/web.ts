import type { ConnectRouter } from '@connectrpc/connect'
import type { UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { scopeOfHttp } from '../httpMessages.ts'
import { MAX_QUERY_BYTES } from '../native/query.ts'

/** The services as browsers reach them. */
export interface GrpcWebOptions {
  /** of all methods, e.g. `/cosmos.bank.v1beta1.Query/Balance` */
  readonly paths: Iterable<string>
  /** Called with the first request: to describe the services takes 50 ms, and few nodes are asked by gRPC-Web. */
  readonly services: () => Promise<(router: ConnectRouter) => void>
}

/** What the protocols of browsers call their bodies; of gRPC itself there is nothing on HTTP/1. */
const MEDIA_TYPES = /^application\/(grpc-web(\+proto|\+json)?|proto|json)\s*(;|$)/i

/**
 * Adds the services for browsers: gRPC-Web, and the Connect protocol, whose requests are protobuf or JSON. A request has been read whole by
 * then, within the limits of all requests.
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
  if (!MEDIA_TYPES.test(header.get('content-type') ?? '')) return reply.code(415).send()
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
    body: once(Buffer.isBuffer(request.body) ? request.body : new Uint8Array(0)),
    signal,
    contextValues: createContextValues().set(GRPC_CLIENT, client),
  })
  for (const [name, value] of response.header ?? []) reply.header(name, value)
  return reply.code(response.status).send(await whole(response))
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes
}

async function whole({ body }: UniversalServerResponse): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of body ?? []) parts.push(part)
  return Buffer.concat(parts)
}
