import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { SocketMetrics } from '../telemetry/metrics/socketMetrics.ts'
import { type AllowedOrigins, isOriginAllowed } from './origins.ts'
import { CLOSE_CODES, type SocketProtocol, type WebSocketLimits, WebSocketSession } from './websocketSession.ts'

export interface WebSocketEndpointOptions {
  /** what is spoken at each path; takes how many subscriptions a socket may have */
  readonly protocols: ReadonlyMap<string, (maxSubscriptions: number) => SocketProtocol>
  readonly allowedOrigins: AllowedOrigins
  /** of one message */
  readonly requestBytes: number
  readonly limits?: Partial<WebSocketEndpointLimits>
  readonly metrics?: Pick<SocketMetrics, 'connections' | 'subscriptions'> | undefined
}

export interface WebSocketEndpointLimits extends WebSocketLimits {
  readonly sockets: number
  /** bytes that may wait for all clients together */
  readonly totalBufferedBytes: number
}

export interface WebSocketEndpoint {
  /** Takes over a connection that asks to become a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  close(): void
}

const MEBIBYTE = 1_048_576

export const DEFAULT_WEBSOCKET_LIMITS: WebSocketEndpointLimits = {
  sockets: 2_000,
  subscriptions: 100,
  requestsInFlight: 32,
  requestBytesInFlight: 16 * MEBIBYTE,
  bufferedBytes: 32 * MEBIBYTE,
  totalBufferedBytes: 256 * MEBIBYTE,
  stalledMs: 30_000,
  pingMs: 30_000,
  pongMs: 30_000,
}

const CHECK_INTERVAL_MS = 1_000

/** WebSockets with requests and subscriptions (geth: rpc/websocket.go); all share the limits. */
export function createWebSocketEndpoint(options: WebSocketEndpointOptions): WebSocketEndpoint {
  const { allowedOrigins, requestBytes, metrics } = options
  const limits = { ...DEFAULT_WEBSOCKET_LIMITS, ...options.limits }
  const protocols = new Map([...options.protocols].map(([path, create]) => [path, create(limits.subscriptions)]))
  const sessions = new Set<WebSocketSession>()
  // Compression would cost memory for every connection.
  const server = new WebSocketServer({ noServer: true, maxPayload: requestBytes, perMessageDeflate: false })
  const checks = setInterval(() => {
    const nowMs = performance.now()
    for (const session of sessions) session.check(nowMs)
    dropLargest(sessions, limits.totalBufferedBytes)
    metrics?.subscriptions.set(sessions.values().reduce((sum, session) => sum + session.subscriptionCount, 0))
  }, CHECK_INTERVAL_MS).unref()

  return {
    upgrade: (request, socket, head) => {
      const protocol = protocols.get(request.url?.split('?', 1)[0] ?? '')
      const refusal = refuse(request, allowedOrigins, sessions.size >= limits.sockets)
      if (protocol === undefined || refusal !== undefined) {
        socket.on('error', () => socket.destroy())
        socket.end(
          `HTTP/1.1 ${protocol === undefined ? '404 Not Found' : refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
        )
        return
      }
      server.handleUpgrade(request, socket, head, (client) => {
        const session = new WebSocketSession(client, protocol, limits)
        sessions.add(session)
        metrics?.connections.inc({ transport: 'ws' })
        client.once('close', () => {
          sessions.delete(session)
          metrics?.connections.dec({ transport: 'ws' })
        })
      })
    },
    close: () => {
      clearInterval(checks)
      for (const session of sessions) session.close(CLOSE_CODES.goingAway, 'the node stops')
      server.close()
    },
  }
}

/** The status line of a refusal. */
function refuse(request: IncomingMessage, allowedOrigins: AllowedOrigins, isFull: boolean): string | undefined {
  if (!isOriginAllowed(allowedOrigins, request.headers.origin)) return '403 Forbidden'
  return isFull ? '503 Service Unavailable' : undefined
}

/** Frees memory at the cost of the clients that take most of it. */
function dropLargest(sessions: ReadonlySet<WebSocketSession>, maxBytes: number): void {
  const waiting = [...sessions].filter(({ bufferedBytes }) => bufferedBytes > 0)
  let total = waiting.reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0)
  if (total <= maxBytes) return
  waiting.sort((a, b) => b.bufferedBytes - a.bufferedBytes)
  for (const session of waiting) {
    total -= session.bufferedBytes
    session.drop()
    if (total <= maxBytes) return
  }
}
