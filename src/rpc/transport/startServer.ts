import { once } from 'node:events'
import { answerStartingProbe, probeOf } from './probes.ts'

// An import of it would also load undici, for the names that Node.js exports of it there: 35 ms of each start's processor time.
const { createServer } = process.getBuiltinModule('node:http')

export interface StartServerOptions {
  /** where the RPC server will listen */
  readonly host: string
  readonly port: number
  /** the port cannot be opened: the RPC server will not be able to, either */
  readonly onError: (error: Error) => void
  /** a shorter start needs no server */
  readonly afterMs?: number
}

/** Answers in the place of the RPC server, as long as that is not there. */
export interface StartServer {
  /** Frees the port, for the RPC server. */
  close(): Promise<void>
}

/** Health checks give a process longer than this before they call it unhealthy. */
const AFTER_MS = 5_000
/** Whoever asks more often than health checks do is not served. */
const MAX_CONNECTIONS = 64
const REQUEST_MS = 10_000

const TEXT = 'the node is starting, and does not serve requests yet: its log says how far it is\n'

/**
 * A start may take hours: it waits for a seed node or a first peer, restores a snapshot, or executes blocks of a web server.
 * Whoever watches the process should not take it for one that hangs, and end it in the middle of that. So after a while its port answers
 * all requests with 503, and the probes with a JSON that says that it is starting.
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
