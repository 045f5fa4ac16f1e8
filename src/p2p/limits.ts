/** The rate of a budget: tokens per second, and the most that can be saved up. See {@link TokenBucket}. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

const KIB = 1 << 10
const MIB = 1 << 20

/**
 * All limits on the resources of this node that peers can use. An honest node stays below them: 50 validators cast 98 votes per block,
 * a block of 2 MB has 32 parts, and transactions come in batches.
 */
export const LIMITS = {
  /** bytes of a hello or a refusal */
  helloBytes: 8 * KIB,
  /** bytes of a message on the consensus stream; the largest is a status with bit sets of 50 validators */
  messageBytes: 4 * KIB,
  /** bytes of a message on the parts stream: 64 KiB and its Merkle proof */
  partBytes: 68 * KIB,
  /** bytes of a request, of an answer that is not a block, and of a block with its commit */
  requestBytes: KIB,
  answerBytes: 64 * KIB,
  blockBytes: 6 * MIB,
  /** blocks and bytes of one answer of the blocks protocol */
  blocksPerAnswer: 512,
  bytesPerAnswer: 4 * MIB,
  /** blocks without transactions in one answer of the headers protocol, and bytes of one with its Ethereum header and validators */
  headersPerAnswer: 256,
  headerFrameBytes: 4 * MIB,
  /** bytes of a light block: with 50 validators it has less than 10 KiB */
  lightBlockBytes: 256 * KIB,
  /** bytes of a piece of a snapshot's file */
  snapshotPieceBytes: MIB,
  /** bytes of a gossiped batch of transactions, and of a larger transaction, which is sent alone */
  batchBytes: 64 * KIB,
  transactionBytes: 128 * KIB,
  transactionsPerBatch: 2_048,
  evidenceBytes: 4 * KIB,

  /** messages of a peer on the consensus stream; more have to wait */
  messages: { perSecond: 400, burst: 800 },
  /** bytes of a peer on the parts stream; more have to wait. A shorter part counts as `leastPart`: only the last one of a block is short. */
  parts: { perSecond: 8 * MIB, burst: 16 * MIB },
  leastPart: 16 * KIB,
  /** milliseconds that a peer has to wait because of its budgets; a peer that is always above them is disconnected */
  waiting: { perSecond: 300, burst: 10_000 },
  /** votes, proposals and parts of heights other than the current one; more are dropped */
  offHeightMessages: { perSecond: 50, burst: 200 },
  /** messages of a peer that the main thread has not handled yet; more have to wait */
  unhandled: 256,
  /** pieces of evidence that clients of the RPC server submit */
  evidence: { perSecond: 2, burst: 20 },
  /** unanswered requests; a peer with more is disconnected */
  failures: { perSecond: 0.02, burst: 5 },
  /** relayed batches that repeat known transactions, from all peers together */
  repeatedBatches: { perSecond: 5, burst: 20 },
  /** lines of the log about peers without a reserved place: that they come, go, are turned away or banned; more are lines for debugging */
  peerLines: { perSecond: 1, burst: 40 },
  /** bytes and streams on a connection before its hello; a connection with more is closed */
  bytesBeforeHello: 256 * KIB,
  streamsBeforeHello: 32,
  /** bytes of a message in the handshake of noise; ours have 250 at most */
  noiseHandshakeBytes: 512,
  /** bytes of a connection's socket; more have to wait */
  connection: { perSecond: 16 * MIB, burst: 48 * MIB },
  /** streams that a peer opens, one for each request; a peer that opens more is disconnected */
  streams: { perSecond: 60, burst: 300 },
  /** pings and answers to pings; an honest peer sends two in `keepAliveMs`, one that sends more than this is disconnected */
  pings: { perSecond: 1, burst: 10 },
  /** times that a peer asks who this node is, once for a connection; a peer that asks more is disconnected */
  identifies: { perSecond: 0.1, burst: 4 },
  /** lines with which a peer chooses the protocol of a stream: two, and one for each protocol that this node does not know */
  protocolLines: 8,
  /** bytes that wait for a connection's socket; a peer that does not read them is disconnected */
  unsentBytes: 8 * MIB,
  /** bytes that wait on all streams of a connection to be read; a peer that sends more is disconnected */
  unreadBytes: 8 * MIB,
  /** bytes that each piece of them counts in addition, for the memory that it takes */
  unreadPiece: 256,
  /** bytes that wait for a slow peer before its oldest, least important messages are dropped */
  queuedMessages: MIB,
  queuedParts: 8 * MIB,
  /** bytes of gossip that wait for a slow peer, and that are sent at once, before messages are dropped */
  unsentGossip: MIB,
  /** bytes of gossiped transactions that wait for their senders to be recovered; half of them may be of peers without a reserved slot */
  queuedTransactions: 16 * MIB,
  /** bytes that a stream may send before the receiver has read some */
  streamWindow: MIB,

  /** time until a connection's hello must have arrived */
  helloMs: 10_000,
  /** an inbound connection without a hello after this time makes room for another when there is no place left */
  handshakeGraceMs: 3_000,
  /** a peer that reads none of its waiting messages for this time is disconnected */
  stalledMs: 15_000,
  /** a connection on which nothing arrives for this time, not even an answer to a ping, is dead */
  silentMs: 20_000,
  keepAliveMs: 5_000,
  requestMs: 10_000,
  /** bytes that a frame of an answer counts more than it has, from the second one on: frames of a byte take as long as longer ones */
  answerFrame: 256,
  /** time for a request to be answered in full */
  answerMs: 20_000,
  dialMs: 8_000,
} as const

/**
 * Work of the network thread for what arrives on connections, whatever its content: one unit is about
 * 10 µs. It bounds frames, which can be as short as 12 bytes. A connection without a hello is closed
 * above `beforeHello`.
 */
export const WORK = {
  /** an encrypted message, without content too */
  message: 0.4,
  /** a frame that is not one of the following */
  frame: 0.25,
  /** data, which is answered with a larger window */
  data: 1.5,
  ping: 1,
  /** a new stream, whose protocol is negotiated */
  stream: 20,
  /** a window that is so small that this node sends its bytes in many frames */
  smallWindow: 16,
  /** of a connection in all */
  beforeHello: 800,
} as const

/**
 * What arrives on connections to peers without a reserved place: `own` is each one's, `shared` is for all of them that need more. A peer
 * with neither has to wait. So the peers that flood a node slow one another, but not those that send little. A mebibyte takes about
 * 6 ms, a relayed vote 1.9 units.
 */
export const STRANGERS = {
  bytes: { own: { perSecond: MIB, burst: 8 * MIB }, shared: { perSecond: 32 * MIB, burst: 64 * MIB } },
  work: { own: { perSecond: 600, burst: 1_200 }, shared: { perSecond: 12_000, burst: 12_000 } },
} as const

/** Rate of a connection to a peer with a reserved place, instead of both; its bytes are those of `LIMITS.connection`. */
export const RESERVED_WORK = { perSecond: 6_000, burst: 12_000 } as const

/**
 * Inbound connections without a session: at the same time, and how many may start, since each costs about 2 ms. `known` and `strangers`
 * have budgets of their own; of each, one address has a share. A whole test network may share one private address.
 */
export const HANDSHAKE_LIMITS = {
  /** from addresses of configured peers and of validators that were connected before */
  known: { pending: 64, started: { perSecond: 20, burst: 128 } },
  strangers: { pending: 64, started: { perSecond: 20, burst: 128 } },
  publicAddress: { pending: 8, started: { perSecond: 1, burst: 16 } },
  privateAddress: { pending: 64, started: { perSecond: 20, burst: 128 } },
} as const

/**
 * What inbound peers without a reserved slot may take of the slots: one public address (IPv6: one /64) so many, and one network group (/16,
 * IPv6: /48) this part.
 */
export const INBOUND_SHARE = { address: 4, group: 1 / 4 } as const

/** How many requests of a protocol one peer may make. */
export interface RequestLimits {
  /** more have to wait */
  readonly rate: Rate
  /** of one peer at the same time */
  readonly inFlight: number
}

export const REQUEST_LIMITS = {
  blocks: { rate: { perSecond: 20, burst: 60 }, inFlight: 4 },
  // One in five seconds; one that comes too soon waits.
  peers: { rate: { perSecond: 0.2, burst: 1 }, inFlight: 1 },
  status: { rate: { perSecond: 5, burst: 20 }, inFlight: 2 },
  light: { rate: { perSecond: 20, burst: 100 }, inFlight: 4 },
  headers: { rate: { perSecond: 20, burst: 60 }, inFlight: 4 },
  snapshots: { rate: { perSecond: 20, burst: 60 }, inFlight: 4 },
} as const satisfies Readonly<Record<string, RequestLimits>>

/**
 * Work for gossip, in units of about 0.1 ms of the network thread: the rates for all peers with a
 * reserved slot (`reserved`) and for all others together (`strangers`), and the cost of a frame, of its
 * new messages and of the messages that it asks for. A message costs so much because it is relayed to
 * some eight neighbours. `refused` counts transactions that the pool refused, plus one for each KiB of
 * them; each of the two kinds of peers has this rate. While more than `checked` transactions of one peer
 * or network are being checked, no more of its transactions are read. See `GossipWork`.
 */
export const GOSSIP_WORK = {
  reserved: { perSecond: 3_000, burst: 12_000 },
  strangers: { perSecond: 2_000, burst: 8_000 },
  refused: { perSecond: 1_000, burst: 5_000 },
  checked: 1_000,
  frame: { each: 0.15, perKib: 0.02, perField: 0.003, perWanted: 4 },
  message: { each: 4, perKib: 0.25 },
  transaction: 0.25,
  evidence: 25,
} as const

/**
 * Answers with blocks that are sent at the same time, and as many with headers: in all, to peers without a reserved slot, and to one peer. An answer that has waited
 * for its peer for `graceMs` and was taken at less than these rates (bytes per second) makes room for others, see `AnswerSlots`.
 */
export const BLOCK_ANSWERS = {
  total: 8,
  strangers: 6,
  perPeer: 2,
  graceMs: 1_000,
  stalledRate: 64 * KIB,
  slowRate: 512 * KIB,
} as const

/** Bytes of blocks and headers per second that this node sends to all peers without a reserved slot together, see `ServedBytes`. */
export const SERVED_BYTES = { perSecond: 32 * MIB, burst: 64 * MIB } as const

/**
 * Milliseconds of the network thread for long reads of blocks and light blocks: for all peers together,
 * and for one. Shorter reads do not count. A peer that syncs reads 64 blocks in a row for one long read,
 * so it gets some thousand blocks per second.
 * After `turnMs` of reads of any length, the next one waits for the next turn of the event loop.
 */
export const READING_TIME = {
  all: { perSecond: 700, burst: 3_000 },
  peer: { perSecond: 600, burst: 2_000 },
  longMs: 1,
  turnMs: 5,
} as const

/**
 * Limits of serving snapshots: bytes per second in all, and to one address. A request that would have
 * to wait longer than `longestWait` (seconds) is refused. At most `addresses` addresses are remembered.
 */
export const SNAPSHOT_SERVING = {
  total: { perSecond: 16 * MIB, burst: 32 * MIB },
  address: { perSecond: 8 * MIB, burst: 16 * MIB },
  longestWait: 5,
  addresses: 1_024,
} as const

/** How many peers the node wants and accepts, in addition to persistent peers and validators of the current set. */
export interface PeerCounts {
  /** the node dials known peers until this many are connected, and a few more if all of them have dialled it */
  readonly wanted: number
  readonly inbound: number
  readonly outbound: number
}

/** Counts for a node with this many slots for peers (MAX_PEERS). */
export function peerCounts(maxPeers: number): PeerCounts {
  const outbound = Math.ceil((maxPeers * 3) / 8)
  return { wanted: Math.min(16, outbound), inbound: maxPeers - outbound, outbound }
}

/**
 * A budget that refills steadily: at most `burst` tokens, `perSecond` more each second. The caller passes the time in monotonic
 * milliseconds.
 */
export class TokenBucket {
  readonly #rate: Rate
  #tokens: number
  #atMs: number

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate
    this.#tokens = rate.burst
    this.#atMs = nowMs
  }

  /** Returns whether the bucket has `count` tokens. */
  has(count: number, nowMs: number): boolean {
    this.#fill(nowMs)
    return this.#tokens >= count
  }

  /** Takes `count` tokens if the bucket has them. */
  take(count: number, nowMs: number): boolean {
    this.#fill(nowMs)
    if (this.#tokens < count) return false
    this.#tokens -= count
    return true
  }

  /**
   * Takes `count` tokens in any case. Returns how many milliseconds the caller should wait before it takes more: 0 if the budget is
   * not overdrawn.
   */
  draw(count: number, nowMs: number): number {
    this.#fill(nowMs)
    this.#tokens -= count
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens / this.#rate.perSecond) * 1000)
  }

  #fill(nowMs: number): void {
    const { perSecond, burst } = this.#rate
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * perSecond)
    this.#atMs = nowMs
  }
}
