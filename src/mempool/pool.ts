import type { Transaction } from '../chain/block/transaction.ts'
import { nativeGasLimit } from '../chain/genesis/chainConfig.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey, keyBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { DependencyIndex } from './dependencyIndex.ts'
import { type Bid, EvictionOrder } from './evictionOrder.ts'
import { type Arrival, type PoolEntry, toPooledTransaction } from './poolEntry.ts'
import { ReadyIndex, type SelectionRequest, selectTransactions } from './selection.ts'
import type { SenderQueue } from './senderQueue.ts'
import {
  type AccountState,
  type Admission,
  type ContentScope,
  type ContentSize,
  DEFAULT_POOL_LIMITS,
  type DropReason,
  type PoolContent,
  type PooledTransaction,
  type PoolHeadUpdate,
  type PoolLimits,
  type PoolStatus,
  UNCONFIRMED_BYTES,
  type UnconfirmedTransactions,
} from './types.ts'
import {
  type AdmissionRefusal,
  admitEvm,
  admitNative,
  type PoolContents,
  type PoolHead,
  type PoolSources,
  refuseEvm,
  refuseNative,
  type ValidAdmission,
} from './validateAdmission.ts'

/** Memory of a sender's queue and its map slots (about 900 bytes are measured). */
const QUEUE_OVERHEAD = 1_024
const EXPIRY_INTERVAL_MS = 60_000
/** Transactions after which no further sender's are dropped in one turn because they waited for too long: a few milliseconds. */
const EXPIRED_AT_ONCE = 1_024
/**
 * Vesting senders whose coins are looked at after a block: each takes look-ups in the state, anybody can make such accounts, and what became
 * free a block ago does not come too late.
 */
const VESTING_PER_BLOCK = 256
/** Accounts that are remembered because they could not pay for transactions in the pool: some 15 MB at most. */
const MOST_DEFAULTED = 100_000
/** A transaction that was postponed waits for so many blocks of this node at most. */
const MOST_HELD_BLOCKS = 64
/** Postponed transactions that are remembered. */
const MOST_POSTPONED = 10_000
/** How many senders' ranks are corrected at once after a change of the base fee: about a millisecond. */
const CHANGES_AT_ONCE = 128

export interface PoolOptions extends PoolSources {
  readonly head: PoolHead
  /** milliseconds */
  readonly now: () => number
  readonly limits?: Partial<PoolLimits>
  /** a transaction is executable for the first time: it can be announced to peers and subscribers */
  readonly onAdmitted?: (entry: PoolEntry) => void
  /** not called for a transaction that `add` refused */
  readonly onDropped?: (entry: PoolEntry, reason: DropReason) => void
}

/**
 * The transactions that wait for a block, by geth's rules (core/txpool/legacypool) with sizes for 400 ms blocks. Native transactions
 * are in one queue with the EVM transactions of their sender, and the same rules order, replace and evict them. Synchronous, without
 * timers: expiry happens at head updates.
 */
export class TransactionPool {
  readonly #options: PoolOptions
  readonly #limits: PoolLimits
  readonly #contents: PoolContents
  #head: PoolHead
  readonly #byHash = new Map<string, { readonly entry: PoolEntry; readonly queue: SenderQueue }>()
  readonly #queues = new Map<string, SenderQueue>()
  /** How many pooled transactions hold an authorization of an account. */
  readonly #authorities = new Map<string, number>()
  #authorizationCount = 0
  readonly #evictions: EvictionOrder
  readonly #ready: ReadyIndex
  /** nonces of accounts, by `bytesKey`, when they could not pay for transactions in the pool; oldest first */
  readonly #defaulted = new Map<string, bigint>()
  /** how often transactions were postponed, by `bytesKey` of the hash; oldest first */
  readonly #postponed = new Map<string, number>()
  /** queues that are held back, see `SenderQueue.heldUntil` */
  readonly #held = new Set<SenderQueue>()
  /** Senders with waiting transactions by the time that one of theirs last became executable, longest ago first. */
  readonly #waitingSince = new Map<SenderQueue, number>()
  /** senders who have sent the pool a transaction, and whose coins become free with the time */
  readonly #vesting = new Map<string, Address>()
  readonly #dependencyIndex = new DependencyIndex()
  readonly #executable = { all: 0, native: 0, evmBytes: 0 }
  #native = 0
  #bytes = 0
  /** of all encodings, and of those of native transactions */
  #rawBytes = 0
  #nativeBytes = 0
  #revision = 0
  #arrivals = 0
  #lastExpiryMs: number

  constructor(options: PoolOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_POOL_LIMITS, ...options.limits }
    this.#head = options.head
    const queues = { [Symbol.iterator]: () => this.#queues.values() }
    this.#evictions = new EvictionOrder(this.#limits.fairShare, options.head.baseFeePerGas, queues)
    this.#ready = new ReadyIndex(options.head.baseFeePerGas)
    this.#lastExpiryMs = options.now()
    const head = (): PoolHead => this.#head
    const authorizationCount = (): number => this.#authorizationCount
    this.#contents = {
      limits: this.#limits,
      get head() {
        return head()
      },
      has: (hashKey) => this.#byHash.has(hashKey),
      queues: this.#queues,
      authorities: this.#authorities,
      get authorizationCount() {
        return authorizationCount()
      },
      dependencyIndex: this.#dependencyIndex,
      hasDefaulted: (account) => this.#hasDefaulted(account),
    }
  }

  /** Estimated memory of the content, see `PoolLimits.bytes`. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Admits a transaction whose signature recovers to `sender`, or says in geth's words why not. Everything is checked
   * before anything changes. Where the signers of its authorizations are not known, it is refused with `needsAuthorities`.
   * @param isLocal a client of this node sent it, so this node has to announce it to peers
   */
  add(transaction: Transaction, sender: Address, isLocal = true): Admission {
    const place = admitEvm(this.#contents, this.#options, transaction, sender, this.#arrival(isLocal))
    if ('accepted' in place) return place
    if (place.needsAuthorities === true) {
      const crowded = this.#crowded(place)
      if (crowded !== undefined) return refuseEvm({ reason: crowded, error: 'mempoolIsFull' })
      return { accepted: false, reason: 'the signers of its authorizations are not known', needsAuthorities: true }
    }
    const refusal = this.#admit(place)
    return refusal === undefined ? { accepted: true, hash: transaction.hash } : refuseEvm(refusal)
  }

  /** Admits a native transaction whose signatures were checked, or says why not as the Cosmos SDK does. */
  addNative(transaction: NativeTransaction, isLocal = true): Admission {
    const place = admitNative(this.#contents, this.#options, transaction, this.#arrival(isLocal))
    if ('accepted' in place) return place
    const refusal = this.#admit(place)
    return refusal === undefined ? { accepted: true, hash: transaction.hash } : refuseNative(refusal)
  }

  /** The answer of {@link add} if there were room; it does not check the signers of authorizations. */
  check(transaction: Transaction, sender: Address): Admission {
    const place = admitEvm(this.#contents, this.#options, transaction, sender, this.#arrival(true))
    return 'accepted' in place ? place : { accepted: true, hash: transaction.hash }
  }

  /** Returns the answer of {@link addNative} if there were room. */
  checkNative(transaction: NativeTransaction): Admission {
    const place = admitNative(this.#contents, this.#options, transaction, this.#arrival(true))
    return 'accepted' in place ? place : { accepted: true, hash: transaction.hash }
  }

  #arrival(isLocal: boolean): Arrival {
    return { arrival: this.#arrivals, admittedMs: this.#options.now(), isLocal }
  }

  /** Makes room and inserts the transaction. Returns the refusal, if any: then nothing has changed. */
  #admit({ queue, entry }: ValidAdmission): AdmissionRefusal | undefined {
    const old = queue.get(entry.nonce)
    const overflow = old === undefined && queue.entries.length >= this.#limits.perSender ? queue.last! : undefined
    const crowded = this.#makeRoom(needOf({ queue, entry }))
    if (crowded !== undefined) return { reason: crowded, error: 'mempoolIsFull' }
    if (overflow !== undefined && this.#byHash.has(overflow.hashKey)) this.#drop(queue, overflow, 'evicted')
    if (old !== undefined) this.#forget(old, 'replaced')
    this.#arrivals++
    this.#insert(queue, entry)
    this.#queueChanged(queue)
    return undefined
  }

  /** Follows a published block: drops the transactions whose nonces it used, and determines again which ones are executable. */
  headChanged(update: PoolHeadUpdate): void {
    const isLimitLower = update.gasLimit < this.#head.gasLimit
    this.#head = update
    this.#evictions.setBaseFee(update.baseFeePerGas)
    this.#ready.setBaseFee(update.baseFeePerGas)
    this.#evictions.refresh(CHANGES_AT_ONCE)
    this.#releaseHeld(update.height)
    const included = new Set(update.included.map(bytesKey))
    for (const [address, state] of update.accounts) {
      const key = bytesKey(address)
      const queue = this.#queues.get(key)
      if (queue !== undefined) this.#updateAccount(queue, state, included)
      for (const { entry, reason } of this.#dependencyIndex.brokenBy(key, state)) this.#dropOne(entry, reason)
    }
    this.#updateVesting(included)
    for (const entry of this.#dependencyIndex.timedOut(update.height)) this.#dropOne(entry, 'timeout')
    if (isLimitLower) this.#dropAboveGasLimit()
    this.#expire()
  }

  /** Drops transactions that could not be executed although their turn had come, for a reason that the pool does not follow. */
  dropUnexecutable(hashes: Iterable<Hash>): void {
    for (const hash of hashes) {
      const known = this.#byHash.get(bytesKey(hash))
      if (known !== undefined) this.#dropOne(known.entry, 'unexecutable')
    }
  }

  /**
   * Holds back transactions that this node had to leave out of its blocks, for 1, 2, 4, … blocks each time. Meanwhile they are the first
   * to go when the pool is full.
   */
  postpone(hashes: Iterable<Hash>): void {
    for (const hash of hashes) {
      const key = bytesKey(hash)
      const known = this.#byHash.get(key)
      if (known === undefined) continue
      const { queue, entry } = known
      const times = this.#postponed.get(key) ?? 0
      remember(this.#postponed, key, times + 1, MOST_POSTPONED)
      if (queue.entries[0] !== entry) continue
      queue.heldUntil = this.#head.height + Math.min(2 ** times, MOST_HELD_BLOCKS)
      this.#held.add(queue)
      this.#queueChanged(queue)
    }
  }

  #releaseHeld(height: number): void {
    for (const queue of this.#held) {
      if (queue.heldUntil > height) continue
      queue.heldUntil = 0
      this.#held.delete(queue)
      this.#queueChanged(queue)
    }
  }

  /**
   * Corrects the ranks of some senders after a change of the base fee. Call it until it returns false. A selection corrects ranks too, but
   * only those that it needs.
   */
  reorder(): boolean {
    if (this.#ready.reorder(this.#head.baseFeePerGas, CHANGES_AT_ONCE) === 0) return true
    return this.#evictions.refresh(CHANGES_AT_ONCE)
  }

  /** @param hashKey `bytesKey` of a transaction's hash */
  has(hashKey: string): boolean {
    return this.#byHash.has(hashKey)
  }

  /** @param hashKey `bytesKey` of a transaction's hash */
  entryOf(hashKey: string): PoolEntry | undefined {
    return this.#byHash.get(hashKey)?.entry
  }

  /** An EVM transaction. */
  get(hash: Hash): PooledTransaction | undefined {
    const entry = this.#byHash.get(bytesKey(hash))?.entry
    return entry?.kind === 'evm' ? toPooledTransaction(entry) : undefined
  }

  /** The sender of a transaction that is in the pool; its signatures were checked when it came. */
  senderOf(hash: Hash): Address | undefined {
    return this.#byHash.get(bytesKey(hash))?.entry.sender
  }

  /** The nonce after the sender's executable transactions, of both kinds; undefined when the pool has no transaction of the sender. */
  pendingNonce(sender: Address): bigint | undefined {
    return this.#queues.get(bytesKey(sender))?.nextNonce
  }

  /** How many EVM transactions there are. */
  status(): PoolStatus {
    const pending = this.#executable.all - this.#executable.native
    return { pending, queued: this.#byHash.size - this.#native - pending }
  }

  /** How many native transactions there are. */
  nativeStatus(): PoolStatus {
    const pending = this.#executable.native
    return { pending, queued: this.#native - pending }
  }

  /** Differs from what it was when the content has changed. */
  get revision(): number {
    return this.#revision
  }

  /** How much {@link contentParts} has now. */
  contentSize(of: ContentScope): ContentSize {
    if (of === 'all') {
      return { transactions: this.#byHash.size - this.#native, bytes: this.#rawBytes - this.#nativeBytes }
    }
    if (of === 'pending') return { transactions: this.status().pending, bytes: this.#executable.evmBytes }
    let [transactions, bytes] = [0, 0]
    for (const { kind, raw } of this.#queues.get(bytesKey(of))?.entries ?? []) {
      if (kind !== 'evm') continue
      transactions++
      bytes += raw.length
    }
    return { transactions, bytes }
  }

  /**
   * EVM transactions, sender after sender; a part may be empty. The pool may change between two parts: each sender is shown once, as it is
   * when its part is taken.
   */
  *contentParts(of: ContentScope): Generator<ContentPart, void, void> {
    const shown = new Set<string>()
    const own = typeof of === 'string' ? undefined : this.#queues.get(bytesKey(of))
    // A queue that is removed and comes again is at the end of the map.
    for (const queue of typeof of === 'string' ? this.#queues.values() : own === undefined ? [] : [own]) {
      const part = shown.has(queue.key) ? EMPTY_PART : partOf(queue, of === 'pending')
      if (part !== EMPTY_PART) shown.add(queue.key)
      yield part
    }
  }

  /** The EVM transactions, however many; `contentParts` is for answers to clients. */
  content(): PoolContent {
    return contentOf(this.#queues.values())
  }

  /** The EVM transactions of one sender, however many. */
  contentFrom(sender: Address): PoolContent {
    const queue = this.#queues.get(bytesKey(sender))
    return contentOf(queue === undefined ? [] : [queue])
  }

  /** Transactions of both kinds, in the order of their arrival. */
  unconfirmed(limit: number): UnconfirmedTransactions {
    const transactions: Uint8Array[] = []
    let bytes = 0
    for (const { entry } of this.#byHash.values()) {
      if (transactions.length >= limit || bytes >= UNCONFIRMED_BYTES) break
      transactions.push(keyBytes(entry.raw))
      bytes += entry.raw.length
    }
    return { count: this.#byHash.size, bytes: this.#rawBytes, transactions }
  }

  /** The transactions for a block in the order to try them, see {@link selectTransactions}. One selection ends the one before. */
  candidates(request: SelectionRequest): Generator<PoolEntry, void, void> {
    return selectTransactions(this.#ready, request)
  }

  /**
   * Sets the new state of a sender. Its own transactions leave it enough for the later ones, unless they move coins in another way than
   * as their value; others can take its coins too. Transactions that it could pay for and no longer can are dropped at once. From then on
   * it may have one in the pool, until it has paid for another.
   */
  #updateAccount(queue: SenderQueue, state: AccountState, included: ReadonlySet<string>): void {
    const { executable } = queue
    const isLater = state.nonce >= queue.state.nonce
    const used = queue.setState(state)
    for (const entry of used) this.#forget(entry, included.has(entry.hashKey) ? 'included' : 'stale')
    queue.updateExecutable()
    if (isLater && queue.executable < executable - used.length) {
      for (const entry of queue.entries.slice(queue.executable).reverse()) this.#drop(queue, entry, 'unpaid')
      remember(this.#defaulted, queue.key, state.nonce, MOST_DEFAULTED)
    }
    this.#queueChanged(queue)
  }

  #hasDefaulted({ key, state }: Pick<SenderQueue, 'key' | 'state'>): boolean {
    const nonce = this.#defaulted.get(key)
    if (nonce === undefined) return false
    if (state.nonce <= nonce) return true
    this.#defaulted.delete(key)
    return false
  }

  /** Looks at the vesting senders whose turn it is; the next ones have theirs after the next block. */
  #updateVesting(included: ReadonlySet<string>): void {
    for (const [key, address] of this.#vesting.entries().take(VESTING_PER_BLOCK).toArray()) {
      this.#vesting.delete(key)
      const queue = this.#queues.get(key)
      if (queue === undefined) continue
      this.#vesting.set(key, address)
      this.#updateAccount(queue, this.#options.readAccount(address), included)
    }
  }

  /**
   * Drops worse transactions until the new one fits, or none at all: otherwise a bid that fails could evict others for free. Returns
   * the refusal, if any.
   */
  #makeRoom(need: Need): string | undefined {
    const taken: { readonly queue: SenderQueue; readonly entry: PoolEntry }[] = []
    let refusal: string | undefined
    for (;;) {
      if (this.#hasRoom(need)) break
      refusal = this.#evictions.refusal(need.bid)
      if (refusal !== undefined) break
      const queue = this.#evictions.worst()!
      const entry = queue.last!
      this.#remove(queue, entry)
      this.#queueChanged(queue)
      taken.push({ queue, entry })
    }
    if (refusal === undefined) {
      for (const { entry } of taken) this.#report(entry, 'evicted')
      return undefined
    }
    for (const { queue, entry } of taken.reverse()) {
      this.#insert(queue, entry)
      this.#queueChanged(queue)
    }
    return refusal
  }

  #hasRoom({ count, bytes, bid }: Need): boolean {
    const queueBytes = this.#queues.has(bid.queue.key) ? 0 : QUEUE_OVERHEAD
    const isWithin = this.#byHash.size + count <= this.#limits.count
    return isWithin && this.#bytes + bytes + queueBytes <= this.#limits.bytes
  }

  /** Why a transaction cannot have the first place that it needs in a full pool. */
  #crowded(place: ValidAdmission): string | undefined {
    const need = needOf(place)
    return this.#hasRoom(need) ? undefined : this.#evictions.refusal(need.bid)
  }

  #dropAboveGasLimit(): void {
    for (const queue of [...this.#queues.values()]) {
      const tooLarge = queue.entries.filter((entry) => !fitsBlock(entry, this.#head.gasLimit))
      for (const entry of tooLarge) this.#drop(queue, entry, 'gasLimit')
      if (tooLarge.length > 0) this.#queueChanged(queue)
    }
  }

  #expire(): void {
    const nowMs = this.#options.now()
    if (nowMs - this.#lastExpiryMs < EXPIRY_INTERVAL_MS) return
    const { queuedLifetimeMs } = this.#limits
    for (const entry of this.#dependencyIndex.olderThan(nowMs - queuedLifetimeMs)) this.#dropOne(entry, 'expired')
    let dropped = 0
    for (const [queue, sinceMs] of this.#waitingSince) {
      if (nowMs - sinceMs <= queuedLifetimeMs) break
      // The others have their turn after the next block.
      if (dropped >= EXPIRED_AT_ONCE) return
      const waiting = queue.entries.slice(queue.executable)
      for (const entry of waiting.reverse()) this.#drop(queue, entry, 'expired')
      dropped += waiting.length
      this.#queueChanged(queue)
    }
    this.#lastExpiryMs = nowMs
  }

  /** Puts an entry into the pool, in place of the one with its nonce, which the caller has forgotten. */
  #insert(queue: SenderQueue, entry: PoolEntry): void {
    if (queue.state.isVesting === true) this.#vesting.set(queue.key, queue.address)
    if (!this.#queues.has(queue.key)) {
      this.#queues.set(queue.key, queue)
      this.#bytes += QUEUE_OVERHEAD
    }
    queue.put(entry)
    this.#byHash.set(entry.hashKey, { entry, queue })
    this.#bytes += entry.bytes
    this.#rawBytes += entry.raw.length
    if (entry.kind === 'native') {
      this.#native++
      this.#nativeBytes += entry.raw.length
    }
    this.#dependencyIndex.add(entry)
    this.#authorizationCount += entry.authorities.length
    for (const key of entry.authorities) this.#authorities.set(key, (this.#authorities.get(key) ?? 0) + 1)
  }

  /**
   * Drops an entry, if it is still there, and brings its queue up to date. Where others wait behind it, its sender may have one
   * transaction until it has paid for another: it has not paid for the room that they took.
   */
  #dropOne({ hashKey }: PoolEntry, reason: DropReason): void {
    const known = this.#byHash.get(hashKey)
    if (known === undefined) return
    const { queue, entry } = known
    if (queue.last !== entry) remember(this.#defaulted, queue.key, queue.state.nonce, MOST_DEFAULTED)
    this.#drop(queue, entry, reason)
    this.#queueChanged(queue)
  }

  #drop(queue: SenderQueue, entry: PoolEntry, reason: DropReason): void {
    this.#remove(queue, entry)
    this.#report(entry, reason)
  }

  #remove(queue: SenderQueue, entry: PoolEntry): void {
    queue.remove(entry)
    this.#unlink(entry)
  }

  /** Updates totals and indexes for an entry that its queue has removed already. */
  #forget(entry: PoolEntry, reason: DropReason): void {
    this.#unlink(entry)
    this.#report(entry, reason)
  }

  #unlink(entry: PoolEntry): void {
    this.#byHash.delete(entry.hashKey)
    this.#bytes -= entry.bytes
    this.#rawBytes -= entry.raw.length
    if (entry.kind === 'native') {
      this.#native--
      this.#nativeBytes -= entry.raw.length
    }
    this.#dependencyIndex.delete(entry)
    this.#authorizationCount -= entry.authorities.length
    for (const key of entry.authorities) {
      const count = this.#authorities.get(key)! - 1
      if (count === 0) this.#authorities.delete(key)
      else this.#authorities.set(key, count)
    }
  }

  #report(entry: PoolEntry, reason: DropReason): void {
    this.#options.onDropped?.(entry, reason)
  }

  /** Brings everything that depends on a queue up to date after it changed, and announces what became executable. */
  #queueChanged(queue: SenderQueue): void {
    queue.updateExecutable()
    const { entries, executable, executableNative, executableBytes } = queue
    this.#revision++
    this.#executable.all += executable - queue.counted
    this.#executable.native += executableNative - queue.countedNative
    this.#executable.evmBytes += executableBytes - queue.countedBytes
    const hasGrown = executable > queue.counted
    queue.counted = executable
    queue.countedNative = executableNative
    queue.countedBytes = executableBytes
    if (queue.heldUntil > 0 && !this.#isPostponed(entries[0])) {
      queue.heldUntil = 0
      this.#held.delete(queue)
    }
    if (entries.length === 0) {
      if (this.#queues.delete(queue.key)) this.#bytes -= QUEUE_OVERHEAD
      this.#evictions.remove(queue)
    } else {
      this.#evictions.put(queue)
    }
    this.#ready.put(queue)
    this.#recordWaiting(queue, hasGrown)
    for (const entry of queue.takeUnannounced()) this.#options.onAdmitted?.(entry)
  }

  #isPostponed(entry: PoolEntry | undefined): boolean {
    return entry !== undefined && this.#postponed.has(entry.hashKey)
  }

  #recordWaiting(queue: SenderQueue, hasGrown: boolean): void {
    if (queue.entries.length === queue.executable) {
      this.#waitingSince.delete(queue)
    } else if (hasGrown || !this.#waitingSince.has(queue)) {
      this.#waitingSince.delete(queue)
      this.#waitingSince.set(queue, this.#options.now())
    }
  }
}

/** EVM transactions of one sender. */
export interface ContentPart {
  readonly pending: readonly PoolEntry[]
  readonly queued: readonly PoolEntry[]
}

const EMPTY_PART: ContentPart = { pending: [], queued: [] }

function partOf({ entries, executable }: SenderQueue, isPendingOnly: boolean): ContentPart {
  const isEvm = ({ kind }: PoolEntry): boolean => kind === 'evm'
  const pending = entries.slice(0, executable).filter(isEvm)
  const queued = isPendingOnly ? [] : entries.slice(executable).filter(isEvm)
  return pending.length + queued.length === 0 ? EMPTY_PART : { pending, queued }
}

function contentOf(queues: Iterable<SenderQueue>): PoolContent {
  const pending: PooledTransaction[] = []
  const queued: PooledTransaction[] = []
  for (const { entries, executable } of queues) {
    for (const [index, entry] of entries.entries()) {
      if (entry.kind !== 'evm') continue
      const list = index < executable ? pending : queued
      list.push(toPooledTransaction(entry))
    }
  }
  return { pending, queued }
}

/** Whether a block with this gas limit could hold the transaction. */
function fitsBlock({ kind, gasLimit, minimumGas }: PoolEntry, blockGasLimit: bigint): boolean {
  return kind === 'evm' ? gasLimit <= blockGasLimit : minimumGas <= nativeGasLimit(blockGasLimit)
}

/** The room that a new transaction needs. */
interface Need {
  /** transactions more than there are */
  readonly count: number
  readonly bytes: number
  readonly bid: Bid
}

function needOf({ queue, entry }: ValidAdmission): Need {
  const { nonce, maxFeePerGas, maxPriorityFeePerGas } = entry
  const old = queue.get(nonce)
  return {
    count: old === undefined ? 1 : 0,
    bytes: entry.bytes - (old?.bytes ?? 0),
    bid: { queue, nonce, isExecutable: nonce <= queue.nextNonce, maxFeePerGas, maxPriorityFeePerGas },
  }
}

/** Sets a value in a map that holds so many at most; the oldest one goes. */
function remember<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key)
  if (map.size >= most) map.delete(map.keys().next().value!)
  map.set(key, value)
}
