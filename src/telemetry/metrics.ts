import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'
import { droppedLines } from './lineWriter.ts'

/*
 * Every metric of the node, by thread; `createThreadMetrics` adds the delay of each thread's event loop. docs/operations.md says what
 * operators should watch.
 */

/** How often the delay of the main thread's event loop is measured, as `createThreadMetrics` does. */
const PROCESS_PRECISION_MS = 50

/**
 * Creates prom-client's metrics of the process. Once they are there, they wake the main thread to
 * measure its event loop.
 */
export function createProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: PROCESS_PRECISION_MS })
}

/** Metrics of the main thread: consensus and write-ahead log. */
export type ConsensusMetrics = ReturnType<typeof createConsensusMetrics>

export function createConsensusMetrics(registry: Registry) {
  const registers = [registry]
  new Counter({
    name: 'coind_log_dropped_total',
    help: 'Log lines that all threads dropped because their reader was too slow',
    registers,
    collect() {
      this.reset()
      this.inc(droppedLines())
    },
  })
  return {
    blockHeight: new Gauge({ name: 'coind_block_height', help: 'Height of the last decided block', registers }),
    blockIntervalSeconds: new Histogram({
      name: 'coind_block_interval_seconds',
      help: 'Time between the decisions of two consecutive blocks',
      buckets: [0.3, 0.35, 0.38, 0.4, 0.42, 0.45, 0.5, 0.6, 0.8, 1, 2, 5, 10],
      registers,
    }),
    buildBudgetSeconds: new Gauge({
      name: 'coind_build_budget_seconds',
      help: 'Time that this node may work on its next proposal; it adapts to how long the validators take',
      registers,
    }),
    walFsyncSeconds: new Histogram({
      name: 'coind_wal_fsync_seconds',
      help: 'Time that a synced write of the write-ahead log took',
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5],
      registers,
    }),
    clockOffsetSeconds: new Gauge({
      name: 'coind_clock_offset_seconds',
      help: "This node's clock minus the proposers', plus the transit time of a proposal: median of the last blocks of other validators",
      registers,
    }),
    backfillHeight: new Gauge({
      name: 'coind_backfill_height',
      help: 'Lowest block whose header was fetched since the start, by a node that started from a snapshot',
      registers,
    }),
    backfillBlocksTotal: new Counter({
      name: 'coind_backfill_blocks_total',
      help: 'Old blocks without transactions that were fetched and verified, by a node that started from a snapshot',
      registers,
    }),
    peers: new Gauge({ name: 'coind_peers', help: 'Connected peers', registers }),
    diskBytes: new Gauge({
      name: 'coind_disk_bytes',
      help: 'Bytes on the disk, by column of the database and for the directories segments, wal and snapshots; measured every ten minutes',
      labelNames: ['column'],
      registers,
    }),
    threadRestartsTotal: new Counter({
      name: 'coind_thread_restarts_total',
      help: 'Client threads that ended and were started again, by name',
      labelNames: ['name'],
      registers,
    }),
    unknownSignatures: new Counter({
      name: 'coind_unknown_signatures_total',
      help: "Votes signed with this validator's key that this node did not make: the key also signs elsewhere",
      registers,
    }),
  }
}

/** Metrics of this node's own validator, in the main thread. They exist, and are 0, on a node without a validator too. */
export type ValidatorMetrics = ReturnType<typeof createValidatorMetrics>

export function createValidatorMetrics(registry: Registry) {
  const registers = [registry]
  return {
    known: new Gauge({
      name: 'coind_validator_known',
      help: "1: the chain has a validator with this node's consensus key",
      registers,
    }),
    active: new Gauge({
      name: 'coind_validator_active',
      help: "1: this node's validator is in the set of the next block",
      registers,
    }),
    power: new Gauge({
      name: 'coind_validator_power',
      help: "Voting power of this node's validator in the set of the next block",
      registers,
    }),
    jailed: new Gauge({ name: 'coind_validator_jailed', help: "1: this node's validator is jailed", registers }),
    tombstoned: new Gauge({
      name: 'coind_validator_tombstoned',
      help: "1: this node's consensus key has signed twice and can never be used again",
      registers,
    }),
    missed: new Gauge({
      name: 'coind_validator_missed_blocks',
      help: "Blocks of its window that this node's validator has missed",
      registers,
    }),
    missedLimit: new Gauge({
      name: 'coind_validator_missed_limit_blocks',
      help: 'Missed blocks per window above which a validator is jailed',
      registers,
    }),
    window: new Gauge({
      name: 'coind_validator_window_blocks',
      help: 'Length in blocks of the window in which missed blocks count',
      registers,
    }),
    position: new Gauge({
      name: 'coind_validator_window_position_blocks',
      help: "Position of the newest block in the window of this node's validator",
      registers,
    }),
    missedTotal: new Counter({
      name: 'coind_validator_missed_total',
      help: "Blocks since the start whose commits lack the signature of this node's validator",
      registers,
    }),
    signedHeight: new Gauge({
      name: 'coind_validator_signed_height',
      help: "Newest block whose commit has a signature of this node's validator; 0: none since the start",
      registers,
    }),
  }
}

/** Metrics of remote signers; they exist before the registry of their thread, which they are added to. */
export type SignerMetrics = ReturnType<typeof createSignerMetrics>

export function createSignerMetrics() {
  const registers: Registry[] = []
  return {
    connected: new Gauge({
      name: 'coind_signer_connected',
      help: 'Connected remote signers; only where PRIV_VALIDATOR_LADDR is set',
      // Without a label it would be 0 where there is no remote signer to miss.
      labelNames: ['key'],
      registers,
    }),
    seconds: new Histogram({
      name: 'coind_signer_seconds',
      help: 'Time from a request to a remote signer to its answer',
      buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5],
      registers,
    }),
    lost: new Counter({
      name: 'coind_signer_lost_total',
      help: 'Votes and proposals that a remote signer did not sign in time, by reason: disconnected, timeout, refused or wrong',
      labelNames: ['reason'],
      registers,
    }),
  }
}

/**
 * Creates the counter of unforeseen errors, the same in every thread where transactions are checked
 * or run: the values are added up.
 * @param places where they may occur in this thread. They start at 0, since an alert sees a number rise, not appear
 */
function unforeseenErrors(registers: Registry[], places: readonly string[]) {
  const counter = new Counter({
    name: 'coind_unforeseen_errors_total',
    help: 'Unforeseen errors, by place: build, check or decided (of a block), pool, senders',
    labelNames: ['place'],
    registers,
  })
  for (const place of places) counter.inc({ place }, 0)
  return counter
}

function stoppedExecutions(registers: Registry[]) {
  const counter = new Counter({
    name: 'coind_stopped_executions_total',
    help: 'Executions that were stopped because they took too long, by place: build (a transaction) or check (a block)',
    labelNames: ['place'],
    registers,
  })
  for (const place of ['build', 'check']) counter.inc({ place }, 0)
  return counter
}

/** Metrics of the executor thread: building, execution and commit of blocks. */
export function createExecutorMetrics(registry: Registry) {
  const registers = [registry]
  return {
    transactionsTotal: new Counter({
      name: 'coind_transactions_total',
      help: 'Transactions in committed blocks',
      registers,
    }),
    gasUsedTotal: new Counter({ name: 'coind_gas_used_total', help: 'EVM gas used by committed blocks', registers }),
    blockGasUsed: new Gauge({ name: 'coind_block_gas_used', help: 'EVM gas used by the last block', registers }),
    baseFeeWei: new Gauge({
      name: 'coind_base_fee_wei',
      help: 'Base fee per gas of the last block, in wei',
      registers,
    }),
    evidenceTotal: new Counter({
      name: 'coind_evidence_total',
      help: 'Evidence of double signatures in committed blocks',
      registers,
    }),
    unforeseenTotal: unforeseenErrors(registers, ['build', 'check', 'decided']),
    stoppedTotal: stoppedExecutions(registers),
    lateAnswersTotal: new Counter({
      name: 'coind_pool_late_answers_total',
      help: 'Executor requests that the pool did not answer in time, by request; the block is then built or checked without the answer',
      labelNames: ['asked'],
      registers,
    }),
    speculationsTotal: new Counter({
      name: 'coind_speculations_total',
      help: 'Transactions offered to other threads before their turn (EXECUTION_THREADS), by outcome: adopted, conflict (executed again), or alone (executed only in their turn)',
      labelNames: ['outcome'],
      registers,
    }),
    executionSeconds: new Histogram({
      name: 'coind_block_execution_seconds',
      help: 'Time to execute a block, including the state root',
      buckets: [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1, 5],
      registers,
    }),
    dbBatchSeconds: new Histogram({
      name: 'coind_db_batch_seconds',
      help: 'Time to write a block to the database',
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
      help: 'Height of the oldest block whose state is retained',
      registers,
    }),
  }
}

/** Metrics of the background thread. */
export function createBackgroundMetrics(registry: Registry) {
  const registers = [registry]
  return {
    bytesTotal: new Counter({
      name: 'coind_scrubbed_bytes_total',
      help: 'Bytes of the database whose checksums were checked in the background',
      registers,
    }),
    lastPass: new Gauge({
      name: 'coind_scrub_last_pass_timestamp_seconds',
      help: 'When all tables of the database were last found undamaged since the start, in Unix time; 0: not yet',
      registers,
    }),
  }
}

/** Metrics of the thread that makes snapshots; a node that makes none has them too. */
export function createSnapshotMetrics(registry: Registry) {
  const registers = [registry]
  return {
    height: new Gauge({
      name: 'coind_snapshot_height',
      help: 'Block of the newest snapshot that this node has made; 0: none',
      registers,
    }),
    seconds: new Gauge({
      name: 'coind_snapshot_seconds',
      help: 'How long the last snapshot took, including its pauses for other work',
      registers,
    }),
    bytes: new Gauge({
      name: 'coind_snapshot_bytes',
      help: 'Size of the last snapshot that was made since the start, without its manifest',
      registers,
    }),
    failuresTotal: new Counter({
      name: 'coind_snapshot_failures_total',
      help: 'Snapshots that could not be made; the log has the reasons',
      registers,
    }),
  }
}

/** Metrics of the tracing thread; a node without traces has them too. */
export function createTracingMetrics(registry: Registry) {
  const registers = [registry]
  return {
    spansTotal: new Counter({
      name: 'coind_trace_spans_total',
      help: 'Spans that the threads recorded for the collector',
      registers,
    }),
    droppedSpansTotal: new Counter({
      name: 'coind_trace_dropped_spans_total',
      help: 'Spans that threads dropped: too many transactions in a second, or too many spans waiting to be sent',
      registers,
    }),
    exportFailuresTotal: new Counter({
      name: 'coind_trace_export_failures_total',
      help: 'Batches of spans that the collector refused, and other reported failures to send spans',
      registers,
    }),
  }
}

/** Metrics of the pool thread. */
export function createPoolMetrics(registry: Registry) {
  const registers = [registry]
  return {
    transactions: new Gauge({
      name: 'coind_mempool_transactions',
      help: 'Transactions in the pool: pending (could be in the next block) or queued (behind a nonce gap)',
      labelNames: ['state'],
      registers,
    }),
    bytes: new Gauge({ name: 'coind_mempool_bytes', help: 'Bytes of the transactions in the pool', registers }),
    admittedTotal: new Counter({
      name: 'coind_mempool_admitted_total',
      help: 'Transactions that the pool admitted',
      registers,
    }),
    /** `reason` has no values in it: labels must stay few */
    rejectedTotal: new Counter({
      name: 'coind_mempool_rejected_total',
      help: 'Transactions that the pool refused, by reason',
      labelNames: ['reason'],
      registers,
    }),
    journalBytes: new Gauge({
      name: 'coind_mempool_journal_bytes',
      help: "Bytes of the pool's journal on the disk; 0 if the file is absent or cannot be written",
      registers,
    }),
    journalSkippedTotal: new Counter({
      name: 'coind_mempool_journal_skipped_total',
      help: 'Accepted transactions of clients for which the journal had no room',
      registers,
    }),
    unforeseenTotal: unforeseenErrors(registers, ['pool']),
  }
}

/** Metrics of the network thread. */
export type NetworkMetrics = ReturnType<typeof createNetworkMetrics>

export function createNetworkMetrics(registry: Registry) {
  const registers = [registry]
  return {
    peers: new Gauge({
      name: 'coind_p2p_peers',
      help: 'Connected peers of the same chain, by direction of the connection',
      labelNames: ['direction'],
      registers,
    }),
    receivedBytesTotal: new Counter({
      name: 'coind_p2p_received_bytes_total',
      help: 'Bytes received from peers, by protocol',
      labelNames: ['protocol'],
      registers,
    }),
    sentBytesTotal: new Counter({
      name: 'coind_p2p_sent_bytes_total',
      help: 'Bytes sent to peers, by protocol',
      labelNames: ['protocol'],
      registers,
    }),
    receivedMessagesTotal: new Counter({
      name: 'coind_p2p_received_messages_total',
      help: 'Messages received from peers, by protocol',
      labelNames: ['protocol'],
      registers,
    }),
    readSecondsTotal: new Counter({
      name: 'coind_p2p_read_seconds_total',
      help: 'Seconds that the network thread spent on reading blocks and light blocks for peers',
      registers,
    }),
    /** `reason` is one of a few fixed texts */
    droppedTotal: new Counter({
      name: 'coind_p2p_dropped_total',
      help: 'Dropped messages from peers or to slow peers, by reason',
      labelNames: ['reason'],
      registers,
    }),
    gossipWaitsTotal: new Counter({
      name: 'coind_p2p_gossip_waits_total',
      help: 'Gossip frames that had to wait for their turn, by kind of peer (reserved, strangers)',
      labelNames: ['from'],
      registers,
    }),
    queuedBytes: new Gauge({
      name: 'coind_p2p_queued_bytes',
      help: 'Bytes waiting to be sent to slow peers (consensus, parts) or to be checked (transactions), by queue',
      labelNames: ['queue'],
      registers,
    }),
    /** `reason` is `fault` or `budget` */
    connectionsEndedTotal: new Counter({
      name: 'coind_p2p_connections_ended_total',
      help: 'Connections closed below the protocols: bytes that no node sends (fault), or more than a peer may cause (budget)',
      labelNames: ['reason'],
      registers,
    }),
    bansTotal: new Counter({
      name: 'coind_p2p_bans_total',
      help: 'Peers that were banned for breaking the rules',
      registers,
    }),
    errorsTotal: new Counter({
      name: 'coind_p2p_errors_total',
      help: 'Unexpected errors of the peer-to-peer library, which the node survived',
      registers,
    }),
    /** `result` is `admitted`, or the reason for which the connection was closed before or during its handshake */
    inboundConnectionsTotal: new Counter({
      name: 'coind_p2p_inbound_connections_total',
      help: 'Inbound connections, by result: admitted to a handshake, or closed before it (banned, full, rate, share) or during it (late, evicted)',
      labelNames: ['result'],
      registers,
    }),
    pendingHandshakes: new Gauge({
      name: 'coind_p2p_pending_handshakes',
      help: 'Inbound connections that have not proved their identity yet, from addresses of known peers and from others',
      labelNames: ['from'],
      registers,
    }),
    dialsTotal: new Counter({
      name: 'coind_p2p_dials_total',
      help: 'Attempts to connect to a peer, by result',
      labelNames: ['result'],
      registers,
    }),
    dialSeconds: new Histogram({
      name: 'coind_p2p_dial_seconds',
      help: 'Time to connect to a peer, until both know that they are on the same chain',
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10],
      registers,
    }),
    namedAddressesTotal: new Counter({
      name: 'coind_p2p_named_addresses_total',
      help: 'Addresses received from peers, added to the address book or left out',
      labelNames: ['result'],
      registers,
    }),
    knownAddresses: new Gauge({
      name: 'coind_p2p_known_addresses',
      help: 'Peer addresses in the address book: new ones, received from others, and tried ones, which this node has reached',
      labelNames: ['kind'],
      registers,
    }),
  }
}

/** Metrics of a socket thread. */
export type SocketMetrics = ReturnType<typeof createSocketMetrics>

export function createSocketMetrics(registry: Registry) {
  const registers = [registry]
  return {
    /** `method` is one that exists (the gRPC path for REST) or `unknown`: a client must not be able to create labels */
    requestsTotal: new Counter({
      name: 'coind_rpc_requests_total',
      help: 'JSON-RPC requests and REST queries, by method and outcome',
      labelNames: ['method', 'outcome'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'coind_rpc_request_seconds',
      help: 'Time from a decoded request to its answer, by method',
      labelNames: ['method'],
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1, 5],
      registers,
    }),
    /** `reason` is one of a few fixed words, and never says who was refused */
    refusedTotal: new Counter({
      name: 'coind_rpc_refused_total',
      help: 'Requests of clients that were refused because a limit was reached, by reason',
      labelNames: ['reason'],
      registers,
    }),
    compressionsTotal: new Counter({
      name: 'coind_rpc_compressions_total',
      help: 'Long answers to clients that accept compression, by outcome: gzip, br or zstd; or uncompressed because view threads were busy, it would not have helped (useless) or an error occurred (failed)',
      labelNames: ['outcome'],
      registers,
    }),
    shortCallsTotal: new Counter({
      name: 'coind_rpc_short_calls_total',
      help: 'eth_call, by where it ran: here (in the socket thread), or why in a view thread: unfit, long, busy, client, loading, or dropped for work, reads or precompile',
      labelNames: ['outcome'],
      registers,
    }),
    connections: new Gauge({
      name: 'coind_rpc_connections',
      help: 'Open connections, by transport',
      labelNames: ['transport'],
      registers,
    }),
    subscriptions: new Gauge({ name: 'coind_rpc_subscriptions', help: 'Open subscriptions', registers }),
    unreadBytes: new Gauge({
      name: 'coind_rpc_unread_bytes',
      help: 'Memory of messages that WebSocket clients have not read yet',
      registers,
    }),
    criteriaBytes: new Gauge({
      name: 'coind_rpc_criteria_bytes',
      help: 'Memory of the addresses and topics of log subscriptions and filters, and of event queries',
      registers,
    }),
  }
}

/** Metrics of a view thread. */
export type ViewMetrics = ReturnType<typeof createViewMetrics>

export function createViewMetrics(registry: Registry) {
  const registers = [registry]
  return {
    taskSeconds: new Histogram({
      name: 'coind_view_task_seconds',
      help: 'Time that tasks (calls, traces, proofs, log scans) took in a view thread, by queue',
      labelNames: ['queue'],
      buckets: [0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 5],
      registers,
    }),
    waitSeconds: new Histogram({
      name: 'coind_view_wait_seconds',
      help: 'Time from the arrival of a request to the start of its task in a view thread, by queue; a task starts within 30 seconds or not at all',
      labelNames: ['queue'],
      buckets: [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30],
      registers,
    }),
    waitingTasks: new Gauge({
      name: 'coind_view_waiting_tasks',
      help: 'Tasks that wait in a view thread, by queue',
      labelNames: ['queue'],
      registers,
    }),
    runningTasks: new Gauge({
      name: 'coind_view_running_tasks',
      help: 'Tasks that run in turns in a view thread, by queue',
      labelNames: ['queue'],
      registers,
    }),
    droppedTasksTotal: new Counter({
      name: 'coind_view_dropped_tasks_total',
      help: 'Tasks that were not run, by queue and reason: expired, cancelled (the client is gone) or refused (no room)',
      labelNames: ['queue', 'reason'],
      registers,
    }),
    cancelledTasksTotal: new Counter({
      name: 'coind_view_cancelled_tasks_total',
      help: 'Running tasks that were stopped because the client was gone',
      registers,
    }),
    deadlinesMissedTotal: new Counter({
      name: 'coind_view_deadlines_missed_total',
      help: 'Tasks that were stopped at their deadline, by queue',
      labelNames: ['queue'],
      registers,
    }),
    unforeseenTotal: unforeseenErrors(registers, ['senders']),
  }
}
