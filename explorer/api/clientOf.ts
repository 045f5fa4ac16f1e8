import type { FastifyRequest } from 'fastify'
import { createClientAddresses } from '../../src/config/clientAddress.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import type { ExplorerConfig } from '../config/config.ts'

/** Who sends a request, as `ClientAddresses.of` names clients. */
export type ClientOf = (request: Pick<FastifyRequest, 'headers' | 'socket'>) => string

/** Tells once when requests come through a proxy that TRUSTED_PROXIES does not list: all of its clients count as one. */
export function createClientOf(
  { trustedProxies }: Pick<ExplorerConfig, 'trustedProxies'>,
  logger: Pick<Logger, 'warn'>,
): ClientOf {
  const clients = createClientAddresses(trustedProxies, (address) =>
    logger.warn(
      { address },
      'a request has X-Forwarded-For, but TRUSTED_PROXIES does not have the address that it comes from',
    ),
  )
  return ({ headers, socket }) => {
    const forwarded = headers['x-forwarded-for']
    return clients.of(socket.remoteAddress, Array.isArray(forwarded) ? forwarded.join(',') : forwarded)
  }
}
