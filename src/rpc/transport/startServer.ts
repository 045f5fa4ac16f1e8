import { once } from 'node:events'
import { answerStartingProbe, probeOf } from './probes.ts'

// An import would also load undici, because of names that Node.js re-exports there: 35 ms of
// processor time at each start.
const { createServer } = process.getBuiltinModule('node:http')

export interface StartServerOptions {
  /** where the RPC server will listen */
  readonly host: string
  readonly port: number
  /** called when the port cannot be opened: the RPC server will not be able to open it either */
  readonly onError: (error: Error) => void
  /** milliseconds before the server opens: a shorter start needs none */
  readonly afterMs?: number
}

/** Answers instead of the RPC server until that one listens. */
export interface StartServer {
  /** Frees the port, for the RPC server. */
  close(): Promise<void>
}

/** Health checks wait longer than this before they call a process unhealthy. */
const AFTER_MS = 5_000
/** Far more than health checks need; further connections are refused. */
const MAX_CONNECTIONS = 64
const REQUEST_MS = 10_000

const TEXT = 'the node is starting, and does not serve requests yet: its log shows the progress\n'

/**
 * Creates the server. A start may take hours: it waits for a seed node or a first peer, restores a
 * snapshot, or executes blocks from a web server. A supervisor must not take such a process for one
 * that hangs, and kill it. So after a while its port answers all requests with 503, and the probes
 * with a JSON that says that the node is starting.
 */
export function createStartServer({ host, port, onError, afterMs = AFTER_MS }: StartServerOptions): StartServer {
  const server = createServer((request, response) => {
    const probe = probeOf(request.url?.split('?', 1)[0] ?? '')
    const { status, text } = probe === undefined ? { status: 503, text: TEXT } : answerStartingProbe(probe)
    response.writeHead(status, {
      'content-type': probe === undefined ? 'text/plain; charset=utf-8' : 'application/json',
    })
    response.end(text)
  })
  server.maxConnections = MAX_CONNECTIONS
  server.headersTimeout = REQUEST_MS
  server.requestTimeout = REQUEST_MS
  server.on('error', onError)
  /** resolves when the port is open, or cannot be opened */
  let listening: Promise<unknown> | undefined
  const timer = setTimeout(() => {
    listening = once(server, 'listening').catch(() => undefined)
    server.listen({ host, port })
  }, afterMs)
  return {
    close: async () => {
      clearTimeout(timer)
      await listening
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
