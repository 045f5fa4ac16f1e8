import type { PoolEntry } from './poolEntry.ts'

/** After how long a transaction that still waits for a block is sent again, and how often at most. */
const REPEAT_MS = 15_000
const MAX_REPEATS = 40
/** The most transactions that one call sends again; the others wait for the next call. */
const REPEATS_AT_ONCE = 1_000
/** The most transactions that wait for a first peer; beyond that, those in a block are dropped. */
const MOST_UNTOLD = 4_096

/** The content of one message to peers. */
export interface TransactionBroadcast {
  /** encoded transactions as `bytesKey` */
  readonly transactions: readonly string[]
  readonly isRepeated: boolean
}

interface TransactionBroadcastQueueOptions {
  /** bytes of transactions in one announcement */
  readonly maxBytes: number
  /** transactions in one announcement */
  readonly maxCount: number
  /** milliseconds, monotonic */
  readonly now: () => number
  /** whether a transaction is still in the pool, by `bytesKey` of its hash */
  readonly isPending: (hashKey: string) => boolean
  /** whether there is anybody to tell */
  readonly hasPeers: () => boolean
  readonly announce: (announcement: TransactionBroadcast) => void
}

interface SentEntry {
  readonly entry: Pick<PoolEntry, 'hashKey' | 'raw'>
  readonly dueMs: number
  readonly repeats: number
}

/**
 * Sends peers the transactions that came to this node first: once when they could be in a block, and again while they wait, for nodes
 * that joined later or missed them. Without peers they wait for the first one: a node that has just started serves clients before it is
 * connected. Transactions that came from peers are not in this queue: gossip relays them.
 */
export class TransactionBroadcastQueue {
  readonly #options: TransactionBroadcastQueueOptions
  #fresh: Pick<PoolEntry, 'hashKey' | 'raw'>[] = []
  #freshBytes = 0
  /** transactions that found no peer; oldest first */
  #untold: Pick<PoolEntry, 'hashKey' | 'raw'>[] = []
  /** how many of them there may be before those that are in a block by now are dropped */
  #mostUntold = MOST_UNTOLD
  /** oldest first; each is due after the same time */
  #sent: SentEntry[] = []
  #firstSentEntry = 0

  constructor(options: TransactionBroadcastQueueOptions) {
    this.#options = options
  }

  /** transactions that were not announced yet */
  get waiting(): number {
    return this.#fresh.length
  }

  /** Adds a transaction to announce; a full announcement is sent at once. */
  add(entry: Pick<PoolEntry, 'hashKey' | 'raw'>): void {
    const { maxBytes, maxCount } = this.#options
    if (this.#freshBytes + entry.raw.length > maxBytes || this.#fresh.length >= maxCount) this.flush()
    this.#fresh.push(entry)
    this.#freshBytes += entry.raw.length
  }

  /** Sends all waiting transactions. */
  flush(): void {
    if (this.#fresh.length === 0) return
    const entries = this.#fresh
    this.#fresh = []
    this.#freshBytes = 0
    if (!this.#options.hasPeers()) {
      for (const entry of entries) this.#untold.push(entry)
      return
    }
    this.#options.announce({ transactions: entries.map(({ raw }) => raw), isRepeated: false })
    const dueMs = this.#options.now() + REPEAT_MS
    for (const entry of entries) this.#sent.push({ entry, dueMs, repeats: 0 })
  }

  /**
   * Sends the transactions that found no peer, and sends those again that are due. To be called regularly, for instance after each
   * block.
   */
  repeat(): void {
    if (!this.#options.hasPeers()) {
      this.#forgetUntold()
      return
    }
    if (this.#untold.length > 0) this.#announceUntold()
    const { now, isPending, maxBytes, maxCount, announce } = this.#options
    const nowMs = now()
    let transactions: string[] = []
    let bytes = 0
    let count = 0
    const send = (): void => {
      if (transactions.length > 0) announce({ transactions, isRepeated: true })
      transactions = []
      bytes = 0
    }
    while (count < REPEATS_AT_ONCE) {
      const sent = this.#sent[this.#firstSentEntry]
      if (sent === undefined || sent.dueMs > nowMs) break
      this.#firstSentEntry++
      const { entry, repeats } = sent
      if (!isPending(entry.hashKey)) continue
      count++
      if (bytes + entry.raw.length > maxBytes || transactions.length >= maxCount) send()
      transactions.push(entry.raw)
      bytes += entry.raw.length
      if (repeats + 1 < MAX_REPEATS) this.#sent.push({ entry, dueMs: nowMs + REPEAT_MS, repeats: repeats + 1 })
    }
    send()
    this.#forgetDone()
  }

  #announceUntold(): void {
    const untold = this.#pendingUntold()
    this.#untold = untold.slice(REPEATS_AT_ONCE)
    for (const entry of untold.slice(0, REPEATS_AT_ONCE)) this.add(entry)
    this.flush()
  }

  /** Drops what is in a block by now. Not at each call: a chain of one node never has peers. */
  #forgetUntold(): void {
    if (this.#untold.length < this.#mostUntold) return
    this.#untold = this.#pendingUntold()
    this.#mostUntold = Math.max(MOST_UNTOLD, 2 * this.#untold.length)
  }

  #pendingUntold(): Pick<PoolEntry, 'hashKey' | 'raw'>[] {
    return this.#untold.filter(({ hashKey }) => this.#options.isPending(hashKey))
  }

  #forgetDone(): void {
    if (this.#firstSentEntry < 1_024 || this.#firstSentEntry * 2 < this.#sent.length) return
    this.#sent = this.#sent.slice(this.#firstSentEntry)
    this.#firstSentEntry = 0
  }
}
