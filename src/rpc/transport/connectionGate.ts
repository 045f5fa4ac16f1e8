import type { Socket } from 'node:net'
import type { ClientAddresses } from '../../config/clientAddress.ts'
import type { SocketMetrics } from '../../telemetry/metrics.ts'
import { createClientBudget } from './clientBudget.ts'
import type { RateLimit } from './rateLimit.ts'

interface ConnectionGateOptions {
  readonly clients: Pick<ClientAddresses, 'ofConnection'>
  /**
   * counts new connections; those above it are closed at once, which costs a fraction of reading
   * and refusing their request
   */
  readonly connectionRate: RateLimit
  /** most open connections */
  readonly most: number
  /** for the metric of open connections */
  readonly transport: 'http' | 'grpc'
  readonly metrics?: Pick<SocketMetrics, 'connections' | 'refusedTotal'> | undefined
}

/** Accepts a connection when there is room for one more of its client; otherwise closes it. */
export function createConnectionGate(options: ConnectionGateOptions): (socket: Socket) => boolean {
  const { clients, connectionRate, most, transport, metrics } = options
  const budget = createClientBudget({
    total: most,
    onRefused: () => metrics?.refusedTotal.inc({ reason: 'connections' }),
  })
  return (socket) => {
    const client = clients.ofConnection(socket.remoteAddress)
    const isTooFast = client !== undefined && connectionRate.admit(client, 0) > 0
    if (isTooFast || !budget.take(client, 1)) {
      socket.destroy()
      return false
    }
    metrics?.connections.inc({ transport })
    socket.once('close', () => {
      budget.giveBack(client, 1)
      metrics?.connections.dec({ transport })
    })
    return true
  }
}
