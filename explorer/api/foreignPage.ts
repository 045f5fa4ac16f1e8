import type { FastifyRequest } from 'fastify'

/**
 * Whether a browser sends a request that changes something for a page of another site: a page may not have its visitors ask for anything.
 * Programs send neither header; where the proxy changes the host, browsers still say in the first one where a page is from.
 */
export function isForeignPage(headers: FastifyRequest['headers']): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const { origin, host } = headers
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)
}
