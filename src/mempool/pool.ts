import { type ChainConfig, forkAt } from '../chain/chainConfig.ts'
import type { Transaction } from '../chain/transaction.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey, keyBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { checkDelegation, checkSender, checkTransaction, outbids } from './admission.ts'
import { type Bid, EvictionOrder } from './evictionOrder.ts'
import { createEntry, entryBytes, type PoolEntry, toPooledTransaction } from './poolEntry.ts'
import { type SelectionRequest, selectTransactions } from './selection.ts'
import { SenderQueue } from './senderQueue.ts'
import {
  type AccountReader,
  type AccountState,
  type Admission,
  DEFAULT_POOL_LIMITS,
  type DropReason,
  type PoolContent,
  type PooledTransaction,
  type PoolHeadUpdate,
  type PoolLimits,
} from './types.ts'

/** Memory of a sender's queue and its map slots (about 900 bytes are measured). */
const QUEUE_OVERHEAD = 1_024
const EXPIRY_INTERVAL_MS = 60_000

export interface PoolOptions {
  readonly chain: Pick<ChainConfig, 'evmChainId' | 'forks' | 'feeMarket'>
  readonly head: Pick<PoolHeadUpdate, 'height' | 'baseFeePerGas' | 'gasLimit'>
  /** reads the state of the head that was last given, or of a later one */
  readonly readAccount: AccountReader
  /** recovers who signed a transaction's EIP-7702 authorizations; called for type 4 only, after the cheaper checks */
  readonly authoritiesOf: (transaction: Transaction) => readonly Address[]
  /** milliseconds */
  readonly now: () => number
  readonly limits?: Partial<PoolLimits>
  /** a transaction is executable for the first time: time to announce it to peers and subscribers */
  readonly onAdmitted?: (entry: PoolEntry) => void
  /** not called for a transaction that `add` refused */
  readonly onDropped?: (hash: Hash, reason: DropReason) => void
}

/**
 * The EVM transactions that wait for a block, by geth's rules (core/txpool/legacypool) with sizes for 400 ms blocks.
 * Synchronous, without timers: expiry happens at head updates.
 */
export class TransactionPool {
  readonly #options: PoolOptions
  readonly #limits: PoolLimits
  #head: Pick<PoolHeadUpdate, 'height' | 'baseFeePerGas' | 'gasLimit'>
  readonly #byHash = new Map<string, { readonly entry: PoolEntry; readonly queue: SenderQueue }>()
  readonly #queues = new Map<string, SenderQueue>()
  /** How many pooled transactions hold an authorization of an account. */
  readonly #authorities = new Map<string, number>()
  readonly #evictions: EvictionOrder
  /** Senders with waiting transactions by the time that one of theirs last became executable, longest ago first. */
  readonly #waitingSince = new Map<SenderQueue, number>()
  #executable = 0
  #bytes = 0
  #arrivals = 0
  #lastExpiryMs: number

  constructor(options: PoolOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_POOL_LIMITS, ...options.limits }
    this.#head = options.head
    const queues = { [Symbol.iterator]: () => this.#queues.values() }
    this.#evictions = new EvictionOrder(this.#limits.fairShare, options.head.baseFeePerGas, queues)
    this.#lastExpiryMs = options.now()
  }

  /** Estimated memory of the content, see `PoolLimits.bytes`. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Admits a transaction whose signature recovers to `sender`, or says in geth's words why not. Everything is checked
   * before anything changes.
   * @param isLocal a client of this node sent it: peers have to be told of it by this node
   */
  add(transaction: Transaction, sender: Address, isLocal = true): Admission {
    const hashKey = bytesKey(transaction.hash)
    if (this.#byHash.has(hashKey)) return refuse('already known')
    const check = checkTransaction(transaction, sender, {
      chainId: this.#options.chain.evmChainId,
      fork: forkAt(this.#options.chain, this.#head.height + 1),
      blockGasLimit: this.#head.gasLimit,
      minimumBaseFee: this.#options.chain.feeMarket.minimumBaseFee,
      minimumTip: this.#limits.minimumTip,
      transactionBytes: this.#limits.transactionBytes,
    })
    if ('reason' in check) return refuse(check.reason)

    const key = bytesKey(sender)
    const { nonce } = transaction
    const known = this.#queues.get(key)
    const queue = known ?? new SenderQueue(key, new Uint8Array(sender), this.#options.readAccount(sender))
    const state = queue.state
    const old = queue.get(nonce)
    const replaced = queue.getExecutable(nonce)
    const poor = checkSender(transaction, sender, { state, executableCost: queue.executableCost, replaced })
    if (poor !== undefined) return refuse(poor)

    const authorities = transaction.type === 4 ? this.#options.authoritiesOf(transaction) : []
    const delegated = checkDelegation(nonce, {
      state,
      nextNonce: queue.nextNonce,
      hasExecutable: queue.executable > 0,
      replaces: replaced !== undefined,
      isAuthority: this.#authorities.has(key),
      authorityCounts: authorities.map((authority) => this.#queues.get(bytesKey(authority))?.entries.length ?? 0),
    })
    if (delegated !== undefined) return refuse(delegated)

    if (old !== undefined && !outbids(transaction, old)) return refuse('replacement transaction underpriced')
    const overflow = old === undefined && queue.entries.length >= this.#limits.perSender ? queue.last! : undefined
    if (overflow !== undefined && overflow.nonce < nonce) {
      return refuse(`account limit exceeded: pooled ${queue.entries.length} txs`)
    }

    const crowded = this.#makeRoom({
      count: old === undefined ? 1 : 0,
      bytes: entryBytes(transaction.raw.length, authorities.length) - (old?.bytes ?? 0),
      bid: {
        queue,
        nonce,
        isExecutable: nonce <= queue.nextNonce,
        maxFeePerGas: transaction.maxFeePerGas,
        maxPriorityFeePerGas: transaction.maxPriorityFeePerGas,
      },
    })
    if (crowded !== undefined) return refuse(crowded)

    if (overflow !== undefined && this.#byHash.has(overflow.hashKey)) this.#drop(queue, overflow, 'evicted')
    const { minimumGas } = check
    const entry = createEntry(transaction, queue.address, {
      minimumGas,
      authorities,
      arrival: this.#arrivals++,
      isLocal,
    })
    if (old !== undefined) this.#forget(old, 'replaced')
    this.#insert(queue, entry)
    this.#settle(queue)
    return { accepted: true, hash: transaction.hash }
  }

  /** Follows a published block: drops what it used up, and checks again who can pay and whose turn it is. */
  headChanged(update: PoolHeadUpdate): void {
    const isLimitLower = update.gasLimit < this.#head.gasLimit
    this.#head = update
    this.#evictions.setBaseFee(update.baseFeePerGas)
    const included = new Set(update.included.map(bytesKey))
    for (const [address, state] of update.accounts) {
      const queue = this.#queues.get(bytesKey(address))
      if (queue !== undefined) this.#updateAccount(queue, state, included)
    }
    if (isLimitLower) this.#dropAboveGasLimit()
    this.#expire()
  }

  /** @param hashKey `bytesKey` of a transaction's hash */
  has(hashKey: string): boolean {
    return this.#byHash.has(hashKey)
  }

  get(hash: Hash): PooledTransaction | undefined {
    const known = this.#byHash.get(bytesKey(hash))
    return known === undefined ? undefined : toPooledTransaction(known.entry)
  }

  /** The sender of a transaction that is in the pool; its signature was checked when it came. */
  senderOf(hash: Hash): Address | undefined {
    return this.#byHash.get(bytesKey(hash))?.entry.sender
  }

  /** The nonce behind the sender's executable transactions; undefined when the pool has none of the sender's. */
  pendingNonce(sender: Address): bigint | undefined {
    return this.#queues.get(bytesKey(sender))?.nextNonce
  }

  status(): { readonly pending: number; readonly queued: number } {
    return { pending: this.#executable, queued: this.#byHash.size - this.#executable }
  }

  content(): PoolContent {
    return contentOf(this.#queues.values())
  }

  contentFrom(sender: Address): PoolContent {
    const queue = this.#queues.get(bytesKey(sender))
    return contentOf(queue === undefined ? [] : [queue])
  }

  /** The transactions for a block in the order to try them, see {@link selectTransactions}. */
  candidates(request: SelectionRequest): Generator<PoolEntry, void, void> {
    return selectTransactions(this.#queues.values(), request)
  }

  #updateAccount(queue: SenderQueue, state: AccountState, included: ReadonlySet<string>): void {
    for (const entry of queue.setState(state)) this.#forget(entry, included.has(entry.hashKey) ? 'included' : 'stale')
    this.#settle(queue)
  }

  /**
   * Drops worse transactions until the newcomer fits, or none at all: else a bid that fails could push out others for
   * free. Gives the refusal, if any.
   */
  #makeRoom(need: { readonly count: number; readonly bytes: number; readonly bid: Bid }): string | undefined {
    const { count, bytes } = this.#limits
    const taken: { readonly queue: SenderQueue; readonly entry: PoolEntry }[] = []
    let refusal: string | undefined
    for (;;) {
      const queueBytes = this.#queues.has(need.bid.queue.key) ? 0 : QUEUE_OVERHEAD
      if (this.#byHash.size + need.count <= count && this.#bytes + need.bytes + queueBytes <= bytes) break
      refusal = this.#evictions.refusal(need.bid)
      if (refusal !== undefined) break
      const queue = this.#evictions.worst()!
      const entry = queue.last!
      this.#remove(queue, entry)
      this.#settle(queue)
      taken.push({ queue, entry })
    }
    if (refusal === undefined) {
      for (const { entry } of taken) this.#report(entry, 'evicted')
      return undefined
    }
    for (const { queue, entry } of taken.reverse()) {
      this.#insert(queue, entry)
      this.#settle(queue)
    }
    return refusal
  }

  #dropAboveGasLimit(): void {
    for (const queue of [...this.#queues.values()]) {
      const tooLarge = queue.entries.filter((entry) => entry.gasLimit > this.#head.gasLimit)
      for (const entry of tooLarge) this.#drop(queue, entry, 'gasLimit')
      if (tooLarge.length > 0) this.#settle(queue)
    }
  }

  #expire(): void {
    const nowMs = this.#options.now()
    if (nowMs - this.#lastExpiryMs < EXPIRY_INTERVAL_MS) return
    this.#lastExpiryMs = nowMs
    for (const [queue, sinceMs] of this.#waitingSince) {
      if (nowMs - sinceMs <= this.#limits.queuedLifetimeMs) return
      for (const entry of queue.entries.slice(queue.executable)) this.#drop(queue, entry, 'expired')
      this.#settle(queue)
    }
  }

  /** Puts an entry into the pool, in place of the one with its nonce, which the caller has forgotten. */
  #insert(queue: SenderQueue, entry: PoolEntry): void {
    if (!this.#queues.has(queue.key)) {
      this.#queues.set(queue.key, queue)
      this.#bytes += QUEUE_OVERHEAD
    }
    queue.put(entry)
    this.#byHash.set(entry.hashKey, { entry, queue })
    this.#bytes += entry.bytes
    for (const key of entry.authorities) this.#authorities.set(key, (this.#authorities.get(key) ?? 0) + 1)
  }

  #drop(queue: SenderQueue, entry: PoolEntry, reason: DropReason): void {
    this.#remove(queue, entry)
    this.#report(entry, reason)
  }

  #remove(queue: SenderQueue, entry: PoolEntry): void {
    queue.remove(entry)
    this.#unlink(entry)
  }

  /** Accounts for an entry that its queue gave out already. */
  #forget(entry: PoolEntry, reason: DropReason): void {
    this.#unlink(entry)
    this.#report(entry, reason)
  }

  #unlink(entry: PoolEntry): void {
    this.#byHash.delete(entry.hashKey)
    this.#bytes -= entry.bytes
    for (const key of entry.authorities) {
      const count = this.#authorities.get(key)! - 1
      if (count === 0) this.#authorities.delete(key)
      else this.#authorities.set(key, count)
    }
  }

  #report(entry: PoolEntry, reason: DropReason): void {
    this.#options.onDropped?.(keyBytes(entry.hashKey), reason)
  }

  /** Brings everything that depends on a queue up to date after it changed, and announces what became executable. */
  #settle(queue: SenderQueue): void {
    queue.settle()
    const { entries, executable } = queue
    this.#executable += executable - queue.counted
    const hasGrown = executable > queue.counted
    queue.counted = executable
    if (entries.length === 0) {
      if (this.#queues.delete(queue.key)) this.#bytes -= QUEUE_OVERHEAD
      this.#evictions.remove(queue)
    } else {
      this.#evictions.put(queue)
    }
    this.#noteWaiting(queue, hasGrown)
    for (const entry of queue.takeUnannounced()) this.#options.onAdmitted?.(entry)
  }

  #noteWaiting(queue: SenderQueue, hasGrown: boolean): void {
    if (queue.entries.length === queue.executable) {
      this.#waitingSince.delete(queue)
    } else if (hasGrown || !this.#waitingSince.has(queue)) {
      this.#waitingSince.delete(queue)
      this.#waitingSince.set(queue, this.#options.now())
    }
  }
}

function contentOf(queues: Iterable<SenderQueue>): PoolContent {
  const pending: PooledTransaction[] = []
  const queued: PooledTransaction[] = []
  for (const { entries, executable } of queues) {
    for (const [index, entry] of entries.entries()) {
      const list = index < executable ? pending : queued
      list.push(toPooledTransaction(entry))
    }
  }
  return { pending, queued }
}

function refuse(reason: string): Admission {
  return { accepted: false, reason }
}
