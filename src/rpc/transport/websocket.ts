import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { ClientAddresses } from '../../config/clientAddress.ts'
import type { SocketMetrics } from '../../telemetry/metrics.ts'
import { type ClientBudget, createClientBudget } from './clientBudget.ts'
import { type AllowedOrigins, clientOf, isOriginAllowed } from './httpMessages.ts'
import type { Access } from './privateAccess.ts'
import type { RateLimit } from './rateLimit.ts'
import type { SocketProtocol } from './socketProtocol.ts'
import { createUnreadBytes, type UnreadBytes } from './unreadBytes.ts'
import { CLOSE_CODES, type SessionOptions, type WebSocketLimits, WebSocketSession } from './webSocketSession.ts'

interface WebSocketEndpoint {
  /** Takes over a connection that asks to become a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  close(): void
}

interface WebSocketEndpointOptions {
  /** the protocol of each path; takes the most subscriptions of a socket */
  readonly protocols: ReadonlyMap<string, (maxSubscriptions: number) => SocketProtocol>
  readonly clients: Pick<ClientAddresses, 'of'>
  /** bytes of the messages that are being received or answered */
  readonly requests: ClientBudget
  readonly rateLimit: RateLimit
  readonly allowedOrigins: AllowedOrigins
  /** by default everyone may connect */
  readonly access?: Access
  /** of one message */
  readonly requestBytes: number
  readonly limits?: Partial<WebSocketEndpointLimits>
  readonly metrics?: Pick<SocketMetrics, 'connections' | 'subscriptions' | 'unreadBytes' | 'refusedTotal'> | undefined
}

export interface WebSocketEndpointLimits extends WebSocketLimits {
  readonly sockets: number
  /** of all sockets together */
  readonly totalSubscriptions: number
  /**
   * bytes that may wait for all clients together; a notification's text counts once, however many
   * clients it waits for
   */
  readonly totalBufferedBytes: number
}

const MEBIBYTE = 1_048_576

const DEFAULT_WEBSOCKET_LIMITS: WebSocketEndpointLimits = {
  sockets: 2_000,
  // Each of them may need a notification for every block.
  totalSubscriptions: 20_000,
  subscriptions: 100,
  requestsInFlight: 32,
  requestBytesInFlight: 16 * MEBIBYTE,
  messageMs: 30_000,
  bufferedBytes: 32 * MEBIBYTE,
  totalBufferedBytes: 256 * MEBIBYTE,
  stalledMs: 30_000,
  pingMs: 30_000,
  pongMs: 30_000,
  closingMs: 2_000,
}

const CHECK_INTERVAL_MS = 1_000
/** WebSockets with requests and subscriptions (geth: rpc/websocket.go); all share the limits. */
export function createWebSocketEndpoint(options: WebSocketEndpointOptions): WebSocketEndpoint {
  const { access, clients, rateLimit, requests, allowedOrigins, requestBytes, metrics } = options
  const limits = { ...DEFAULT_WEBSOCKET_LIMITS, ...options.limits }
  const protocols = new Map([...options.protocols].map(([path, create]) => [path, create(limits.subscriptions)]))
  const sessions = new Set<WebSocketSession>()
  const sockets = createClientBudget({
    total: limits.sockets,
    onRefused: () => metrics?.refusedTotal.inc({ reason: 'websockets' }),
  })
  const subscriptions = createClientBudget({
    total: limits.totalSubscriptions,
    onRefused: () => metrics?.refusedTotal.inc({ reason: 'subscriptions' }),
  })
  const unread = createUnreadBytes()
  const freeMemory = (): void => {
    const dropped = dropLargest(sessions, unread, limits.totalBufferedBytes)
    if (dropped > 0) metrics?.refusedTotal.inc({ reason: 'unread' }, dropped)
  }
  // Compression would cost memory for every connection.
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: requestBytes,
    perMessageDeflate: false,
    // Sessions send pongs themselves, because these may have to wait too.
    autoPong: false,
  })
  const checks = setInterval(() => {
    const nowMs = performance.now()
    for (const session of sessions) session.check(nowMs)
    metrics?.unreadBytes.set(unread.total)
    metrics?.subscriptions.set(sessions.values().reduce((sum, session) => sum + session.subscriptionCount, 0))
  }, CHECK_INTERVAL_MS).unref()

  const accept = (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    { client, protocol }: Pick<SessionOptions, 'client' | 'protocol'>,
  ): void => {
    server.handleUpgrade(request, socket, head, (webSocket) => {
      const session = new WebSocketSession(webSocket, {
        stream: socket,
        client,
        protocol,
        rateLimit,
        requests,
        budget: subscriptions,
        unread,
        onUnread: freeMemory,
        limits,
      })
      sessions.add(session)
      metrics?.connections.inc({ transport: 'ws' })
      webSocket.once('close', () => {
        sessions.delete(session)
        metrics?.connections.dec({ transport: 'ws' })
      })
    })
  }

  return {
    upgrade: (request, socket, head) => {
      const protocol = protocols.get(request.url?.split('?', 1)[0] ?? '')
      const client = clientOf(clients, request.socket.remoteAddress, request.headers)
      const refuse = (status: string): void => {
        socket.on('error', () => socket.destroy())
        // Node.js no longer checks this connection: a client that never closes its side would hold
        // its place permanently.
        socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy())
      }
      const waitSeconds = rateLimit.admit(client, 0)
      if (waitSeconds > 0) return refuse(`429 Too Many Requests\r\nRetry-After: ${waitSeconds}`)
      if (protocol === undefined) return refuse('404 Not Found')
      if (!isOriginAllowed(allowedOrigins, request.headers.origin)) return refuse('403 Forbidden')
      if (!sockets.take(client, 1)) return refuse('503 Service Unavailable')
      socket.once('close', () => sockets.giveBack(client, 1))
      if (access === undefined) return accept(request, socket, head, { client, protocol })
      const ignore = (): void => undefined
      // Without a listener an error of the connection would end this thread; `refuse` and the
      // session have their own.
      socket.on('error', ignore)
      void access.check(request.headers).then((problem) => {
        if (problem !== undefined) return refuse(`${problem.status} ${STATUS_CODES[problem.status]}`)
        accept(request, socket, head, { client, protocol })
        socket.off('error', ignore)
      })
    },
    close: () => {
      clearInterval(checks)
      for (const session of sessions) session.close(CLOSE_CODES.goingAway, 'the node stops')
      server.close()
    },
  }
}

/**
 * Frees memory by closing the connections of the clients that take the most. Returns how many it
 * closed.
 */
function dropLargest(sessions: ReadonlySet<WebSocketSession>, unread: UnreadBytes, maxBytes: number): number {
  if (unread.total <= maxBytes) return 0
  const waiting = [...sessions]
    .map((session) => ({ session, client: session.client, bytes: session.unreadBytes }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => a.bytes - b.bytes)
  const clients = [...Map.groupBy(waiting, ({ client }) => client).values()].map((own) => ({
    own,
    bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
  }))
  let dropped = 0
  // A text that several sockets share is free when all of them are closed.
  for (; unread.total > maxBytes && dropped < waiting.length; dropped++) {
    const greediest = clients.reduce((most, client) => (client.bytes > most.bytes ? client : most))
    const { session, bytes } = greediest.own.pop()!
    greediest.bytes -= bytes
    session.abandon()
  }
  return dropped
}
