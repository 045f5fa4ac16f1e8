import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Metrics of a socket thread. */
export interface SocketMetrics {
  /**
   * `method`: a method that exists (of REST: its gRPC path), or `unknown`: what clients make up must not become labels; `outcome`: ok or the error
   * code
   */
  readonly requestsTotal: Counter<'method' | 'outcome'>
  readonly requestSeconds: Histogram<'method'>
  /** `transport`: http or ws */
  readonly connections: Gauge<'transport'>
  readonly subscriptions: Gauge
}

export function createSocketMetrics(registry: Registry): SocketMetrics {
  const registers = [registry]
  return {
    requestsTotal: new Counter({
      name: 'coind_rpc_requests_total',
      help: 'JSON-RPC requests and REST queries, by method and outcome',
      labelNames: ['method', 'outcome'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'coind_rpc_request_seconds',
      help: 'Time from the decoded request to its answer, by method',
      labelNames: ['method'],
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1, 5],
      registers,
    }),
    connections: new Gauge({
      name: 'coind_rpc_connections',
      help: 'Open connections, by transport',
      labelNames: ['transport'],
      registers,
    }),
    subscriptions: new Gauge({ name: 'coind_rpc_subscriptions', help: 'Open subscriptions', registers }),
  }
}
