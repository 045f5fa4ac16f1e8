import type { FastifyRequest } from 'fastify'
import { createClientAddresses, forwardedFor } from '../../src/config/clientAddress.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import type { ExplorerConfig } from '../config/config.ts'

/** Names the client of a request, as `ClientAddresses.of` does. */
export type ClientOf = (request: Pick<FastifyRequest, 'headers' | 'socket'>) => string

/** Warns once when requests come through a proxy that TRUSTED_PROXIES does not list: all of its clients count as one. */
export function createClientOf(
  { trustedProxies }: Pick<ExplorerConfig, 'trustedProxies'>,
  logger: Pick<Logger, 'warn'>,
): ClientOf {
  const clients = createClientAddresses(trustedProxies, (address) =>
    logger.warn(
      { address },
      'a request was forwarded (X-Forwarded-For or a similar header) by an address that is not in TRUSTED_PROXIES',
    ),
  )
  return ({ headers, socket }) => {
    return clients.of(
      socket.remoteAddress,
      forwardedFor((name) => headers[name]),
    )
  }
}
