import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { PACKAGE_ROOT } from '../../src/primitives/location.ts'

/** Where scripts/buildWeb.js puts the pages. */
const PAGES = fileURLToPath(new URL('dist/web', PACKAGE_ROOT))
const INDEX = 'index.html'
/** The names of these files have a hash of their content. */
const ASSETS = '/assets/'
const YEAR_MS = 365 * 86_400_000

/**
 * What browsers may do on the pages: nothing inline, nothing from elsewhere, no frames. The exception is the public RPC address, where the
 * page builds and sends what a Cosmos wallet signs (CosmJS). Ethereum wallets send their own requests.
 */
function contentSecurityPolicy(rpcUrl: string | undefined): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${rpcUrl === undefined ? '' : ` ${new URL(rpcUrl).origin}`}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

/**
 * Serves the single-page application: its files, and for every other address outside of the API its index, which finds the page.
 * @param apiPrefixes below which there are no pages
 * @param publicRpcUrl the RPC address that wallets get
 */
export async function addPages(
  app: FastifyInstance,
  apiPrefixes: readonly string[],
  publicRpcUrl: () => string | undefined,
): Promise<void> {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({ ...HEADERS, 'content-security-policy': contentSecurityPolicy(publicRpcUrl()) })
  })
  if (!existsSync(join(PAGES, INDEX))) {
    app.setNotFoundHandler((_request, reply) =>
      reply.code(404).send({ error: 'not found; the pages are not built: run npm run build' }),
    )
    return
  }
  await app.register(fastifyStatic, {
    root: PAGES,
    index: false,
    preCompressed: true,
    wildcard: false,
    cacheControl: false,
    setHeaders: (reply, path) => {
      if (path.includes(ASSETS)) reply.header('cache-control', `public, max-age=${YEAR_MS / 1000}, immutable`)
    },
  })
  const index = readFileSync(join(PAGES, INDEX))
  app.setNotFoundHandler((request, reply) => {
    const isPage =
      ['GET', 'HEAD'].includes(request.method) &&
      ![...apiPrefixes, ASSETS].some((prefix) => request.url.startsWith(prefix))
    if (!isPage) return reply.code(404).send({ error: 'not found' })
    return reply.header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(index)
  })
}
