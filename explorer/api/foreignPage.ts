import type { FastifyRequest } from 'fastify'

/**
 * Whether a browser sends this request for a page of another site, which must not make its visitors change anything here. Programs send
 * neither header. `sec-fetch-site` is right even if a proxy changes the host.
 */
export function isForeignPage(headers: FastifyRequest['headers']): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const { origin, host } = headers
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)
}
