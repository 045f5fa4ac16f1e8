import { once } from 'node:events'
import {
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from 'node:http2'
import type { Socket } from 'node:net'
import { Code, ConnectError, type ConnectRouter, createConnectRouter, createContextValues } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import type { ClientAddresses } from '../../../config/clientAddress.ts'
import type { SocketMetrics } from '../../../telemetry/metrics.ts'
import { createClientBudget } from '../../transport/clientBudget.ts'
import { createConnectionGate } from '../../transport/connectionGate.ts'
import { clientOf } from '../../transport/httpMessages.ts'
import { createPendingResponses } from '../../transport/pendingResponses.ts'
import type { RateLimit } from '../../transport/rateLimit.ts'
import { MAX_QUERY_BYTES } from '../queryPort.ts'
import { GRPC_ACCOUNT, GRPC_CLIENT, tooManyRequests } from './services.ts'

export interface GrpcServerOptions {
  readonly services: (router: ConnectRouter) => void
  readonly host: string
  /** 0: any free port */
  readonly port: number
  /** several threads listen on the same port; only where the platform has SO_REUSEPORT */
  readonly reusePort?: boolean
  readonly clients: ClientAddresses
  readonly rateLimit: RateLimit
  readonly connectionRate: RateLimit
  /** of one request of any kind: a message may not be longer, decompressed */
  readonly requestBytes: number
  readonly responseBytes: number
  readonly metrics?: Pick<SocketMetrics, 'connections' | 'refusedTotal'> | undefined
  readonly limits?: Partial<GrpcLimits>
}

interface GrpcLimits {
  readonly connections: number
  /** requests of one connection at a time */
  readonly streams: number
  /** of all clients together */
  readonly totalStreams: number
  /** bytes of messages of all clients together, while their streams are open */
  readonly messageBytes: number
  /** bytes of answers that wait for all clients together */
  readonly pendingBytes: number
  /** milliseconds in which a client has to read an answer */
  readonly writeMs: number
  /** milliseconds in which a client has to send all messages of a stream */
  readonly messageMs: number
  /** milliseconds that a connection without streams is kept */
  readonly idleMs: number
  /** MiB that Node.js may keep for one connection: headers, unread frames */
  readonly sessionMemory: number
}

const DEFAULT_LIMITS: GrpcLimits = {
  connections: 2_000,
  streams: 100,
  totalStreams: 4_000,
  messageBytes: 256 * 1_048_576,
  pendingBytes: 256 * 1_048_576,
  writeMs: 60_000,
  messageMs: 30_000,
  idleMs: 300_000,
  sessionMemory: 8,
}

/** Frames that no client sends, and streams that it opens although it may not, before its connection is closed. */
const MAX_INVALID = 100
/** A request has ten headers or so: their number, and their bytes with what HTTP/2 counts for each. */
const MAX_HEADER_PAIRS = 64
const MAX_HEADER_BYTES = 16_384
/** When the server closes: milliseconds for what runs. */
const CLOSING_MS = 1_000

export interface GrpcServer {
  readonly port: number
  close(): Promise<void>
}

/**
 * gRPC over HTTP/2 without TLS. Who asks for more than its share is refused with RESOURCE_EXHAUSTED before its message is read.
 * @throws Error (rejects) when it can not listen
 */
export async function createGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { clients, rateLimit, metrics, requestBytes, responseBytes } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const streams = createClientBudget({
    total: limits.totalStreams,
    onRefused: () => metrics?.refusedTotal.inc({ reason: 'streams' }),
  })
  const messages = createClientBudget({
    total: limits.messageBytes,
    onRefused: () => metrics?.refusedTotal.inc({ reason: 'bytes' }),
  })
  const pending = createPendingResponses({ totalBytes: limits.pendingBytes, writeMs: limits.writeMs })
  const shutdown = new AbortController()
  const services = servicesOf(options.services)
  const answer = connectNodeAdapter({
    routes: options.services,
    fallback: (request, response) =>
      refuseUnknown(request as Http2ServerRequest, response as Http2ServerResponse, services),
    grpcWeb: false,
    connect: false,
    readMaxBytes: Math.min(requestBytes, MAX_QUERY_BYTES),
    writeMaxBytes: responseBytes,
    shutdownSignal: shutdown.signal,
    contextValues: (request) => {
      const client = clientOf(clients, request.socket.remoteAddress, request.headers)
      const { stream } = request as Http2ServerRequest
      const releases: (() => void)[] = []
      stream.once('close', () => {
        for (const release of releases) release()
      })
      return createContextValues()
        .set(GRPC_CLIENT, client)
        .set(GRPC_ACCOUNT, {
          admitMessage: () => rateLimit.admit(client, 0),
          holdAnswer: (bytes) => releases.push(pending.hold(stream, bytes, client)),
        })
    },
  })
  const server = createServer({
    maxSessionMemory: limits.sessionMemory,
    maxHeaderListPairs: MAX_HEADER_PAIRS,
    maxSessionInvalidFrames: MAX_INVALID,
    maxSessionRejectedStreams: MAX_INVALID,
    settings: { maxConcurrentStreams: limits.streams, maxHeaderListSize: MAX_HEADER_BYTES },
  })
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const client = clientOf(clients, request.socket.remoteAddress, request.headers)
    // Here and not in the adapter, which counts no request for a method that is not there.
    const seconds = rateLimit.admit(client, 0)
    if (seconds > 0) return refuse(response, Code.ResourceExhausted, tooManyRequests(seconds).rawMessage)
    if (!streams.take(client, 1)) return refuse(response, Code.ResourceExhausted, 'too many requests at a time')
    const late = setTimeout(() => {
      if (!request.stream.readableEnded) request.stream.close(constants.NGHTTP2_CANCEL)
    }, limits.messageMs)
    let taken = 0
    request.stream.once('close', () => {
      clearTimeout(late)
      streams.giveBack(client, 1)
      messages.giveBack(client, taken)
    })
    // Added so that nothing begins to flow by it. What is read waits for the end of its message.
    request.stream.prependListener('data', ({ length }: Buffer) => {
      if (messages.take(client, length)) taken += length
      else request.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    })
    // Of a message that is refused the rest is not waited for, once the answer's end is on its way.
    request.stream.once('wantTrailers', () =>
      setImmediate(() => {
        if (!request.stream.readableEnded) request.stream.close(constants.NGHTTP2_NO_ERROR)
      }),
    )
    nameEncoding(request)
    // The adapter makes a URL of it, and throws where the client's own is none. Nothing asks by which name it has called.
    request.headers[':authority'] = 'localhost'
    answer(request, response)
  })

  const sessions = new Set<Http2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.setTimeout(limits.idleMs, () => session.close())
    // An error of one connection is its client's; unheard it would end this thread.
    session.on('error', () => session.destroy())
  })
  const letIn = createConnectionGate({ ...options, most: limits.connections, transport: 'grpc' })
  const onConnection = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (letIn(socket)) for (const listener of onConnection) listener.call(server, socket)
  })
  const listening = once(server, 'listening')
  server.listen({ host: options.host, port: options.port, reusePort: options.reusePort ?? false })
  await listening

  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the gRPC server has no port')
  return {
    port: address.port,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const session of sessions) session.close()
      pending.close()
      shutdown.abort(new ConnectError('the node stops', Code.Unavailable))
      const timer = setTimeout(() => {
        for (const session of sessions) session.destroy()
      }, CLOSING_MS)
      await closed
      clearTimeout(timer)
    },
  }
}

/**
 * Messages are protobuf by whatever name a client has for its encoder, as for servers in Go: the Cosmos SDK's is
 * `application/grpc+cosmos-sdk-grpc-codec`.
 */
function nameEncoding({ headers }: Http2ServerRequest): void {
  if (/^application\/grpc(?!\+json)[+;]/.test(headers['content-type'] ?? ''))
    headers['content-type'] = 'application/grpc'
}

function servicesOf(routes: GrpcServerOptions['services']): ReadonlySet<string> {
  const router = createConnectRouter({ grpcWeb: false, connect: false })
  routes(router)
  return new Set(router.handlers.map(({ service }) => service.typeName))
}

/** By the words of servers in Go (grpc-go, `handleStream`): some clients check whether a chain has a module. */
function refuseUnknown(
  { headers, url }: Http2ServerRequest,
  response: Http2ServerResponse,
  services: ReadonlySet<string>,
): void {
  if (!headers['content-type']?.startsWith('application/grpc')) {
    response.writeHead(404)
    response.end()
    return
  }
  const end = url.lastIndexOf('/')
  const service = url.slice(1, Math.max(end, 1))
  const method = url.slice(end + 1)
  let text = `unknown service ${service}`
  if (service === '') text = `malformed method name: "${url}"`
  else if (services.has(service)) text = `unknown method ${method} for service ${service}`
  refuse(response, Code.Unimplemented, text)
}

/**
 * gRPC has its status in the trailers; without a body they are the headers. Node.js then closes the stream, of whose message nothing was read.
 * @param text of any characters
 */
function refuse({ stream }: Http2ServerResponse, code: Code, text: string): void {
  // Its client may be gone; to answer it then throws, which would end this thread.
  if (stream.destroyed || stream.closed) return
  const message = text.toWellFormed().replaceAll(/[^ -~]|%/gu, encodeURIComponent)
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(code), 'grpc-message': message },
    { endStream: true },
  )
}
