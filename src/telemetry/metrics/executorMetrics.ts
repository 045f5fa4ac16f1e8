import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Metrics of the executor thread: building, execution and commit of blocks. */
export interface ExecutorMetrics {
  readonly transactionsTotal: Counter
  readonly gasUsedTotal: Counter
  readonly blockGasUsed: Gauge
  /** wei */
  readonly baseFeeWei: Gauge
  readonly evidenceTotal: Counter
  readonly executionSeconds: Histogram
  readonly dbBatchSeconds: Histogram
  readonly dbBatchBytes: Histogram
  readonly historyOldestHeight: Gauge
}

export function createExecutorMetrics(registry: Registry): ExecutorMetrics {
  const registers = [registry]
  return {
    transactionsTotal: new Counter({
      name: 'coind_transactions_total',
      help: 'Transactions in committed blocks',
      registers,
    }),
    gasUsedTotal: new Counter({ name: 'coind_gas_used_total', help: 'EVM gas used by committed blocks', registers }),
    blockGasUsed: new Gauge({ name: 'coind_block_gas_used', help: 'EVM gas used by the last block', registers }),
    baseFeeWei: new Gauge({ name: 'coind_base_fee_wei', help: 'Base fee of the last block, per gas', registers }),
    evidenceTotal: new Counter({
      name: 'coind_evidence_total',
      help: 'Pieces of evidence in committed blocks',
      registers,
    }),
    executionSeconds: new Histogram({
      name: 'coind_block_execution_seconds',
      help: 'Time that the execution of a block took, state root included',
      buckets: [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1, 5],
      registers,
    }),
    dbBatchSeconds: new Histogram({
      name: 'coind_db_batch_seconds',
      help: 'Time that the write of a block to the database took',
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2],
      registers,
    }),
    dbBatchBytes: new Histogram({
      name: 'coind_db_batch_bytes',
      help: 'Size of the batch that a block writes to the database',
      buckets: [1e3, 1e4, 1e5, 1e6, 1e7, 1e8],
      registers,
    }),
    historyOldestHeight: new Gauge({
      name: 'coind_history_oldest_height',
      help: 'Oldest block whose state is kept',
      registers,
    }),
  }
}
