import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { ClientAddresses } from '../../config/clientAddress.ts'
import { toBuffer } from '../../primitives/bytes.ts'
import type { SocketMetrics } from '../../telemetry/metrics.ts'
import { cometRateLimited } from '../comet/answer.ts'
import type { CometEventHub } from '../comet/eventHub.ts'
import type { CometTable } from '../comet/method.ts'
import { addCometRoutes } from '../comet/routes.ts'
import { createCometSocket } from '../comet/socket.ts'
import { addGrpcWebRoutes, type GrpcWebOptions } from '../cosmos/grpc/web.ts'
import { addRestRoutes, isRestPath, NOT_IMPLEMENTED, type RestOptions, restRateLimited } from '../cosmos/rest/routes.ts'
import type { Dispatcher } from '../jsonrpc/dispatch.ts'
import { type RpcLog, rateLimited } from '../jsonrpc/errors.ts'
import { answerBuffer, answerLength } from '../jsonrpc/resultText.ts'
import { createEthereumSocket, type SubscriptionHub } from '../subscriptions/subscriptions.ts'
import { type ClientBudget, createClientBudget } from './clientBudget.ts'
import { type AnswerCompression, type Compressor, createAnswerCompression } from './compression.ts'
import { createConnectionGate } from './connectionGate.ts'
import { createFastPathHttp, type FastPathHttp } from './fastPathHttp.ts'
import {
  type AllowedOrigins,
  announcedBytes,
  bodyText,
  bodyTooLarge,
  clientOf,
  corsHeaders,
  EXPOSED_HEADERS,
  isGzip,
  METHOD_NOT_ALLOWED,
  NOT_GZIP,
  preflightHeaders,
  refuse,
  refuseEncoding,
  refusePost,
  scopeOfHttp,
  sendJson,
  TEXT_TYPE,
  varyWithEncoding,
} from './httpMessages.ts'
import { createPendingResponses, type PendingResponses } from './pendingResponses.ts'
import type { Access } from './privateAccess.ts'
import { answerProbe, PROBE_PATHS, type ProbeSource, probeOf } from './probes.ts'
import type { RateLimit } from './rateLimit.ts'
import type { SocketProtocol } from './socketProtocol.ts'
import { createWebSocketEndpoint, type WebSocketEndpointLimits } from './websocket.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** the client that the request counts for */
    client: string
  }
}

export interface RpcServerOptions {
  readonly dispatcher: Dispatcher
  readonly hub: SubscriptionHub
  /** undefined: the listener has only JSON-RPC */
  readonly cosmos: CosmosOptions | undefined
  /** rules of access; by default the listener is open to everyone */
  readonly access?: Access
  readonly probes: ProbeSource
  readonly host: string
  /** 0: any free port */
  readonly port: number
  /** several threads listen on the same port; only where the platform has SO_REUSEPORT */
  readonly reusePort?: boolean
  readonly clients: ClientAddresses
  readonly rateLimit: RateLimit
  /** counts new connections; those above it are closed at once, which costs a fraction of reading and refusing their request */
  readonly connectionRate: RateLimit
  readonly allowedOrigins: AllowedOrigins
  /** of one request */
  readonly requestBytes: number
  /** of all answers to one batch under /rpc */
  readonly responseBytes: number
  readonly limits?: Partial<HttpLimits>
  readonly webSocketLimits?: Partial<WebSocketEndpointLimits>
  /** undefined: no answer is compressed */
  readonly compressor: Compressor | undefined
  readonly log: RpcLog
  readonly metrics?:
    | Pick<SocketMetrics, 'connections' | 'subscriptions' | 'unreadBytes' | 'refusedTotal' | 'compressionsTotal'>
    | undefined
}

/** Interfaces for clients of Cosmos chains. */
export interface CosmosOptions {
  /** the methods under /rpc, and the events at its WebSocket */
  readonly comet: CometTable
  readonly cometHub: CometEventHub
  /** the paths under /cosmos */
  readonly rest: RestOptions
  /** the services of gRPC-Web */
  readonly grpc: GrpcWebOptions
}

interface HttpLimits {
  /** most open connections, including WebSockets; further ones are closed at once */
  readonly connections: number
  /** milliseconds in which a client has to send the headers, and a whole request */
  readonly headersMs: number
  readonly requestMs: number
  /** milliseconds in which a client has to read an answer */
  readonly writeMs: number
  /** milliseconds until an idle connection is closed */
  readonly idleMs: number
  /**
   * bytes of all clients' requests that are being received or answered, except short ones on the
   * fast path
   */
  readonly pendingRequestBytes: number
  /** bytes of answers that wait to be read, of all clients together */
  readonly pendingResponseBytes: number
  /** minimum bytes of an answer to be compressed, for a client that asks for it */
  readonly compressFromBytes: number
  /** a node whose newest block is older than these milliseconds is not healthy */
  readonly staleMs: number
}

export interface RpcServer {
  readonly address: { readonly host: string; readonly port: number }
  /** Stops listening, lets running requests end for a short time, and closes all connections. */
  close(): Promise<void>
}

const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connections: 8_000,
  headersMs: 10_000,
  requestMs: 30_000,
  writeMs: 60_000,
  idleMs: 120_000,
  pendingRequestBytes: 512 * 1_048_576,
  pendingResponseBytes: 256 * 1_048_576,
  compressFromBytes: 4_096,
  staleMs: 15_000,
}

/** `/` too, because many tools use one address for HTTP and WebSocket. */
const WEBSOCKET_PATHS = ['/ws', '/'] as const
const COMET_WEBSOCKET_PATH = '/rpc/websocket'
/** Milliseconds between checks for connections that have used up their time. */
const CHECK_INTERVAL_MS = 1_000
/** Milliseconds for running requests when the server closes. */
const CLOSING_MS = 1_000
/** When a client may come again whose running requests take too much memory. */
const RETRY_SECONDS = 1
/** Requests of the fast path up to this length are not counted in bytes: their number is limited elsewhere. */
const SHORT_REQUEST_LENGTH = 4_096

const unzip = promisify(gunzip)
/** Error codes of zlib for bytes that are not gzip, or only a part. */
const ZLIB_ERROR = /^Z_/

/**
 * Starts a listener: JSON-RPC at POST / and as WebSocket at /ws and /, the probes, and for clients
 * of Cosmos chains /rpc/… and /cosmos/…. HTTP follows geth (node/rpcstack.go, rpc/http.go): each
 * JSON-RPC answer has the status 200, only faults of the transport have others.
 * @throws Error (rejects) when it cannot listen
 */
export async function createRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  const {
    dispatcher,
    hub,
    clients,
    rateLimit,
    allowedOrigins,
    requestBytes,
    metrics,
    host,
    port,
    reusePort = false,
  } = options
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits }
  const requests = createClientBudget({
    total: limits.pendingRequestBytes,
    onRefused: () => metrics?.refusedTotal.inc({ reason: 'bytes' }),
  })
  const { cosmos, access } = options
  const protocols = new Map<string, (maxSubscriptions: number) => SocketProtocol>()
  for (const path of WEBSOCKET_PATHS) {
    protocols.set(path, (maxSubscriptions) => createEthereumSocket(dispatcher, hub, maxSubscriptions))
  }
  if (cosmos !== undefined) {
    const { comet: table, cometHub } = cosmos
    const { log, responseBytes } = options
    protocols.set(COMET_WEBSOCKET_PATH, (maxSubscriptions) =>
      createCometSocket({ table, hub: cometHub, log, responseBytes, rateLimit, metrics, maxSubscriptions }),
    )
  }
  const webSockets = createWebSocketEndpoint({
    protocols,
    clients,
    rateLimit,
    requests,
    allowedOrigins,
    requestBytes,
    metrics,
    ...(access === undefined ? {} : { access }),
    ...(options.webSocketLimits === undefined ? {} : { limits: options.webSocketLimits }),
  })
  const pending = createPendingResponses({ totalBytes: limits.pendingResponseBytes, writeMs: limits.writeMs })
  const compression = createAnswerCompression({
    compressor: options.compressor,
    fromBytes: limits.compressFromBytes,
    log: options.log,
    metrics,
  })
  const app = fastify({
    bodyLimit: requestBytes,
    // Answers 503 while it closes, so that a load balancer uses another node.
    return503OnClosing: true,
    forceCloseConnections: 'idle',
    serverFactory: (handler) => createHttpServer(limits, handler),
  })
  const fastPathHttp = putFastPathFirst(app.server, options, limits, compression, requests, pending)
  app.server.on('upgrade', webSockets.upgrade)
  addRoutes(app, options, limits, compression, requests, pending)
  await app.listen({ host, port, ...(reusePort ? { reusePort } : {}) })

  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the RPC server has no port')
  return {
    address: { host: address.address, port: address.port },
    close: async () => {
      webSockets.close()
      fastPathHttp.close()
      const timer = setTimeout(() => {
        fastPathHttp.destroy()
        app.server.closeAllConnections()
      }, CLOSING_MS)
      await app.close()
      clearTimeout(timer)
      pending.close()
    },
  }
}

function createHttpServer(limits: HttpLimits, handler: Parameters<typeof createServer>[1]): Server {
  const server = createServer(
    {
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
    },
    handler,
  )
  return server
}

/**
 * Starts every connection on the fast path; `server` gets the connection with the first request
 * that needs more.
 */
function putFastPathFirst(
  server: Server,
  options: RpcServerOptions,
  limits: HttpLimits,
  compression: AnswerCompression,
  requests: ClientBudget,
  pending: PendingResponses,
): FastPathHttp {
  const { dispatcher, clients, rateLimit, allowedOrigins } = options
  const onConnection = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  server.removeAllListeners('connection')
  const headers = corsHeaders(allowedOrigins, {})
  const varyingHeaders = { ...headers, vary: varyWithEncoding(headers.vary) }
  const fastPathHttp = createFastPathHttp({
    answer: (text, scope) => {
      const answering = dispatcher.answer(text, scope)
      return isShort(text) ? answering : answering.finally(() => requests.giveBack(scope.client, text.length))
    },
    refuse: (text, client) => {
      const waitSeconds = rateLimit.admit(client, text.length)
      if (waitSeconds === 0 && (isShort(text) || requests.take(client, text.length))) return undefined
      const seconds = Math.max(waitSeconds, RETRY_SECONDS)
      return { json: dispatcher.refuse(text, rateLimited(seconds)), retryAfterSeconds: seconds }
    },
    clients,
    varies: compression.varies,
    compress: (answer, acceptEncoding, caller) =>
      compression.compress({ length: answerLength(answer), read: () => answerBuffer(answer) }, acceptEncoding, caller),
    handOver: (socket) => {
      for (const listener of onConnection) listener.call(server, socket)
    },
    headers: {
      plain: headerLines(headers),
      varying: headerLines(varyingHeaders),
      compressed: (encoding) => headerLines({ ...varyingHeaders, 'content-encoding': encoding }),
    },
    idleMs: limits.idleMs,
    pending,
  })
  const letIn = createConnectionGate({ ...options, most: limits.connections, transport: 'http' })
  server.on('connection', (socket) => {
    if (!letIn(socket)) return
    // The fast path does not read the headers that decide about access.
    if (options.access === undefined) fastPathHttp.take(socket)
    else for (const listener of onConnection) listener.call(server, socket)
  })
  return fastPathHttp
}

function isShort(text: string): boolean {
  return text.length <= SHORT_REQUEST_LENGTH
}

function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

function addRoutes(
  app: FastifyInstance,
  options: RpcServerOptions,
  limits: HttpLimits,
  compression: AnswerCompression,
  requests: ClientBudget,
  pending: PendingResponses,
): void {
  const { dispatcher, cosmos, access, probes, clients, rateLimit, allowedOrigins, requestBytes, responseBytes, log } =
    options

  app.removeAllContentTypeParsers()
  // The memory of an unpacked body is taken from the client's budget before the body is read, as if
  // it had the maximum length.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    const refusal = refuseEncoding(request.headers)
    if (refusal !== undefined) throw Object.assign(new Error(refusal.text), { statusCode: refusal.status })
    return isGzip(request.headers) ? unzip(body, { maxOutputLength: requestBytes }) : body
  })

  app.decorateRequest('client', '')
  app.addHook('onRequest', async (request, reply) => {
    const problem = await access?.check(request.headers)
    if (problem !== undefined) return refuse(reply, problem)
    request.client = clientOf(clients, request.raw.socket.remoteAddress, request.headers)
    reply.headers(corsHeaders(allowedOrigins, request.headers))
    if (request.method === 'OPTIONS') return reply.code(204).headers(preflightHeaders(request.headers)).send()
    const path = request.url.split('?', 1)[0]!
    // Answers of JSON-RPC have such headers only when they are refused.
    if (path !== '/') reply.headers(EXPOSED_HEADERS)
    const refusal = request.method === 'POST' && path === '/' ? refusePost(request.headers, requestBytes) : undefined
    if (refusal !== undefined) return refuse(reply, refusal)
    const bytes = announcedBytes(request.headers, requestBytes)
    if (bytes === 0) return
    const { client } = request
    if (!requests.take(client, bytes)) {
      const json = tooManyRequests(dispatcher, path, '', RETRY_SECONDS)
      return sendJson(comeAgain(reply, path, RETRY_SECONDS), json)
    }
    reply.raw.once('close', () => requests.giveBack(client, bytes))
  })
  // Runs once the body is there: its cost is charged before another request is accepted.
  app.addHook('preHandler', async (request, reply) => {
    const path = request.url.split('?', 1)[0]!
    if (probeOf(path) !== undefined) return
    const seconds = rateLimit.admit(request.client, Buffer.isBuffer(request.body) ? request.body.length : 0)
    if (seconds === 0) return
    const json = tooManyRequests(dispatcher, path, bodyText(request), seconds)
    return sendJson(comeAgain(reply, path, seconds), json)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    if (!Buffer.isBuffer(payload)) return payload
    const body = await compressedBody(compression, request, reply, payload)
    pending.track(reply.raw, body.length, request.client)
    return body
  })

  app.post('/', async (request, reply) =>
    sendJson(reply, (await dispatcher.answer(bodyText(request), scopeOfHttp(request, reply))) ?? ''),
  )
  app.get('/', async (_, reply) => reply.code(200).send())
  for (const path of PROBE_PATHS) {
    app.get(path, async (request, reply) => {
      const query = new URLSearchParams(request.url.split('?', 2)[1])
      const { status, text } = answerProbe(path, query, probes, limits.staleMs)
      return sendJson(reply.code(status), text)
    })
  }
  if (cosmos !== undefined) {
    addCometRoutes(app, cosmos.comet, { log, responseBytes, rateLimit, metrics: options.metrics })
    addRestRoutes(app, cosmos.rest)
    addGrpcWebRoutes(app, cosmos.grpc, requestBytes)
  }

  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0]!
    if (path === '/' || path === '/rpc')
      return refuse(reply.header('allow', 'GET, HEAD, POST, OPTIONS'), METHOD_NOT_ALLOWED)
    if (cosmos !== undefined && isRestPath(path))
      return sendJson(reply.code(NOT_IMPLEMENTED.status), NOT_IMPLEMENTED.json)
    return reply.code(404).type(TEXT_TYPE).send('404 page not found')
  })
  app.setErrorHandler((error: Error & { readonly statusCode?: number; readonly code?: string }, _, reply) => {
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE' || error.code === 'ERR_BUFFER_TOO_LARGE') {
      return refuse(reply, bodyTooLarge(requestBytes))
    }
    if (ZLIB_ERROR.test(error.code ?? '')) return refuse(reply, NOT_GZIP)
    const { statusCode = 500 } = error
    if (statusCode < 500) return reply.code(statusCode).type(TEXT_TYPE).send(error.message)
    log.error({ error }, 'an HTTP request failed')
    return reply.code(500).type(TEXT_TYPE).send('internal error')
  })
}

/** Tells the client when to come again. */
function comeAgain(reply: FastifyReply, path: string, seconds: number): FastifyReply {
  if (path === '/') reply.header('access-control-expose-headers', 'retry-after')
  return reply.code(429).header('retry-after', seconds)
}

/** Returns the text of a refusal in the form of answers under `path`. */
function tooManyRequests(dispatcher: Dispatcher, path: string, text: string, seconds: number): string {
  if (isRestPath(path)) return restRateLimited(seconds)
  if (path.startsWith('/rpc')) return cometRateLimited(text, seconds)
  return dispatcher.refuse(text, rateLimited(seconds)) ?? ''
}

/** Compresses the body if the client asked for it, and sets its headers. */
async function compressedBody(
  compression: AnswerCompression,
  request: FastifyRequest,
  reply: FastifyReply,
  body: Buffer,
): Promise<Buffer> {
  if (!compression.varies(body.length) || reply.hasHeader('content-encoding')) return body
  reply.header('vary', varyWithEncoding(reply.getHeader('vary')))
  const compressed = await compression.compress(
    { length: body.length, read: () => body },
    request.headers['accept-encoding'],
    () => scopeOfHttp(request, reply),
  )
  if (compressed === undefined) return body
  reply.header('content-encoding', compressed.encoding)
  // Fastify sends no other type of bytes.
  return toBuffer(compressed.bytes)
}
