import type { FastifyRequest } from 'fastify'
import { createClientAddresses } from '../../src/config/clientAddress.ts'
import type { ExplorerConfig } from '../config/config.ts'

/** Who sends a request, as `ClientAddresses.of` names clients. */
export type ClientOf = (request: Pick<FastifyRequest, 'headers' | 'socket'>) => string

export function createClientOf({ trustedProxies }: Pick<ExplorerConfig, 'trustedProxies'>): ClientOf {
  const clients = createClientAddresses(trustedProxies)
  return ({ headers, socket }) => {
    const forwarded = headers['x-forwarded-for']
    return clients.of(socket.remoteAddress, Array.isArray(forwarded) ? forwarded.join(',') : forwarded)
  }
}
