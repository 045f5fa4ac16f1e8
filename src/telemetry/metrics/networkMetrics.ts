import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Metrics of the network thread. */
export interface NetworkMetrics {
  /** `direction`: inbound or outbound */
  readonly peers: Gauge<'direction'>
  /** bytes of payload by protocol (consensus, parts, blocks, peers, status, transactions, evidence) */
  readonly receivedBytesTotal: Counter<'protocol'>
  readonly sentBytesTotal: Counter<'protocol'>
  readonly receivedMessagesTotal: Counter<'protocol'>
  /** `reason`: why something was not passed on; few fixed words */
  readonly droppedTotal: Counter<'reason'>
  /** bytes that wait for slow peers, by stream (consensus, parts), or for other threads (transactions) */
  readonly queuedBytes: Gauge<'queue'>
  readonly bansTotal: Counter
  /** errors that should not happen, and that the node survived */
  readonly errorsTotal: Counter
  /** `result`: connected, or failed */
  readonly dialsTotal: Counter<'result'>
  readonly dialSeconds: Histogram
  readonly knownAddresses: Gauge
}

export function createNetworkMetrics(registry: Registry): NetworkMetrics {
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
    droppedTotal: new Counter({
      name: 'coind_p2p_dropped_total',
      help: 'Messages that were not passed on, by reason',
      labelNames: ['reason'],
      registers,
    }),
    queuedBytes: new Gauge({
      name: 'coind_p2p_queued_bytes',
      help: 'Bytes that wait to be sent or handled, by queue',
      labelNames: ['queue'],
      registers,
    }),
    bansTotal: new Counter({ name: 'coind_p2p_bans_total', help: 'Bans of peers', registers }),
    errorsTotal: new Counter({
      name: 'coind_p2p_errors_total',
      help: 'Unexpected errors on connections with peers',
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
      help: 'Time from a dial to a peer of the same chain',
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10],
      registers,
    }),
    knownAddresses: new Gauge({ name: 'coind_p2p_known_addresses', help: 'Entries of the address book', registers }),
  }
}
