import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'

/** Metrics of the main thread: consensus, write-ahead log, and the process. */
export interface ConsensusMetrics {
  readonly blockHeight: Gauge
  readonly blockIntervalSeconds: Histogram
  readonly walFsyncSeconds: Histogram
  readonly peers: Gauge
  readonly unknownSignatures: Counter
}

export function createConsensusMetrics(registry: Registry): ConsensusMetrics {
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  return {
    blockHeight: new Gauge({ name: 'coind_block_height', help: 'Height of the last decided block', registers }),
    blockIntervalSeconds: new Histogram({
      name: 'coind_block_interval_seconds',
      help: 'Time from one decision to the next',
      buckets: [0.3, 0.35, 0.38, 0.4, 0.42, 0.45, 0.5, 0.6, 0.8, 1, 2, 5, 10],
      registers,
    }),
    walFsyncSeconds: new Histogram({
      name: 'coind_wal_fsync_seconds',
      help: 'Time that a synced write to the write-ahead log took',
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5],
      registers,
    }),
    peers: new Gauge({ name: 'coind_peers', help: 'Connected peers', registers }),
    unknownSignatures: new Counter({
      name: 'coind_unknown_signatures_total',
      help: 'Votes with the signature of this validator that it did not make',
      registers,
    }),
  }
}
