import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'

// An import would also load undici, for names that Node.js exports from this module: 35 ms of each start's processor time.
const { createServer } = process.getBuiltinModule('node:http')

interface MetricsServer {
  readonly port: number
  stop(): Promise<void>
}

/** Connections at the same time. Prometheus uses one. */
const MAX_CONNECTIONS = 16

/**
 * Serves `GET /metrics`. It runs in the main thread and asks all others, so a page is made for all who ask
 * meanwhile.
 * @param collect makes the page (see `formatMetrics`); when it rejects, the answer is 503
 * @throws Error with a `code` when host and port cannot be opened
 */
export async function serveMetrics(
  { host, port }: { readonly host: string; readonly port: number },
  collect: () => Promise<string>,
): Promise<MetricsServer> {
  let running: Promise<string> | undefined
  const collectOnce = (): Promise<string> => {
    running ??= collect().finally(() => {
      running = undefined
    })
    return running
  }
  const server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end()
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
    } else {
      collectOnce().then(
        (page) => response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(page),
        (error: unknown) => response.writeHead(503).end(`${String(error)}\n`),
      )
    }
  })
  server.maxConnections = MAX_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)))
        server.closeAllConnections()
      }),
  }
}
