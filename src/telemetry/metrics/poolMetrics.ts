import { Counter, Gauge, type Registry } from 'prom-client'

/** Metrics of the pool thread. */
export interface PoolMetrics {
  /** `state`: pending (could be in the next block) or queued (behind a nonce gap) */
  readonly transactions: Gauge<'state'>
  readonly bytes: Gauge
  readonly admittedTotal: Counter
  /** `reason`: one of the pool's own codes, never a text with values in it */
  readonly rejectedTotal: Counter<'reason'>
}

export function createPoolMetrics(registry: Registry): PoolMetrics {
  const registers = [registry]
  return {
    transactions: new Gauge({
      name: 'coind_mempool_transactions',
      help: 'Transactions in the pool, by state',
      labelNames: ['state'],
      registers,
    }),
    bytes: new Gauge({ name: 'coind_mempool_bytes', help: 'Bytes of the transactions in the pool', registers }),
    admittedTotal: new Counter({ name: 'coind_mempool_admitted_total', help: 'Transactions admitted', registers }),
    rejectedTotal: new Counter({
      name: 'coind_mempool_rejected_total',
      help: 'Transactions refused, by reason',
      labelNames: ['reason'],
      registers,
    }),
  }
}
