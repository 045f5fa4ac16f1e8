import type { Address } from '../primitives/address.ts'
import type { HeapItem } from './indexedHeap.ts'
import type { PoolEntry } from './poolEntry.ts'
import type { AccountState } from './types.ts'

/** Ranks a queue among those that lose their last transaction when the pool is full. */
interface EvictionRank {
  /** the lowest one loses first */
  tier: number
  /** effective tip of its last transaction */
  tip: bigint
  /** of its transactions */
  count: number
  /** of its last transaction */
  arrival: number
}

/**
 * The pooled transactions of one sender in nonce order. The first `executable` of them have the account's next nonces
 * without a gap, and its balance covers the most that all of them together can cost; the others wait.
 */
export class SenderQueue implements HeapItem {
  readonly key: string
  readonly address: Address
  heapIndex = -1
  /** how many executable transactions of this queue the pool's totals include, and how many of them are native */
  counted = 0
  countedNative = 0
  /** and the length of the encodings of those that are not */
  countedBytes = 0
  /** the height up to which no block of this node is to hold its next transaction; 0: any block may */
  heldUntil = 0
  /** what `EvictionOrder` compares, as it was when the queue last changed */
  readonly evictionRank: EvictionRank = { tier: 0, tip: 0n, count: 0, arrival: 0 }
  #state: AccountState
  readonly #entries: PoolEntry[] = []
  #executable = 0
  #executableCost = 0n
  #executableNative = 0
  #executableBytes = 0
  /** entries that were not announced yet */
  #unannounced = 0

  constructor(key: string, address: Address, state: AccountState) {
    this.key = key
    this.address = address
    this.#state = state
  }

  get state(): AccountState {
    return this.#state
  }

  /** All transactions, ascending nonces. The caller must not change the list, and must not hold it after the next change. */
  get entries(): readonly PoolEntry[] {
    return this.#entries
  }

  /** How many of the first entries can run. */
  get executable(): number {
    return this.#executable
  }

  /** acoin that the executable transactions can cost at most */
  get executableCost(): bigint {
    return this.#executableCost
  }

  /** how many of the executable transactions are native */
  get executableNative(): number {
    return this.#executableNative
  }

  /** length of the encodings of the executable EVM transactions */
  get executableBytes(): number {
    return this.#executableBytes
  }

  /** The nonce after the executable transactions. */
  get nextNonce(): bigint {
    return this.#state.nonce + BigInt(this.#executable)
  }

  /** The transaction whose turn it is. */
  get ready(): PoolEntry | undefined {
    return this.#executable > 0 && this.heldUntil === 0 ? this.#entries[0] : undefined
  }

  get last(): PoolEntry | undefined {
    return this.#entries.at(-1)
  }

  get(nonce: bigint): PoolEntry | undefined {
    const entry = this.#entries[this.#search(nonce)]
    return entry?.nonce === nonce ? entry : undefined
  }

  /** The executable transaction with this nonce. */
  getExecutable(nonce: bigint): PoolEntry | undefined {
    if (nonce < this.#state.nonce || nonce >= this.nextNonce) return undefined
    return this.#entries[Number(nonce - this.#state.nonce)]
  }

  /** Adds `entry`, in place of the one with its nonce if there is one. {@link updateExecutable} must follow. */
  put(entry: PoolEntry): void {
    const index = this.#search(entry.nonce)
    const old = this.#entries[index]
    if (!entry.announced) this.#unannounced++
    if (old?.nonce !== entry.nonce) {
      this.#cut(index)
      this.#entries.splice(index, 0, entry)
      return
    }
    if (!old.announced) this.#unannounced--
    this.#entries[index] = entry
    if (index < this.#executable) {
      this.#count(old, -1)
      this.#count(entry, 1)
    }
  }

  /** Removes `entry`. {@link updateExecutable} must follow. */
  remove(entry: PoolEntry): void {
    const index = this.#search(entry.nonce)
    if (this.#entries[index] !== entry) throw new Error('the transaction is not in its sender’s queue')
    this.#cut(index)
    this.#entries.splice(index, 1)
    if (!entry.announced) this.#unannounced--
  }

  /** Sets the account's new state; removes and returns the entries whose nonces are used up. {@link updateExecutable} must follow. */
  setState(state: AccountState): PoolEntry[] {
    const stale = this.#search(state.nonce)
    if (state.nonce < this.#state.nonce) this.#cut(0)
    for (let i = 0; i < Math.min(stale, this.#executable); i++) this.#count(this.#entries[i]!, -1)
    this.#executable = Math.max(0, this.#executable - stale)
    this.#state = state
    const used = this.#entries.splice(0, stale)
    for (const entry of used) if (!entry.announced) this.#unannounced--
    return used
  }

  /** Determines again which of the first entries are executable by nonces and balance. */
  updateExecutable(): void {
    const { nonce, balance } = this.#state
    while (this.#executableCost > balance) this.#cut(this.#executable - 1)
    for (;;) {
      const entry = this.#entries[this.#executable]
      if (entry === undefined || entry.nonce !== nonce + BigInt(this.#executable)) return
      if (this.#executableCost + entry.cost > balance) return
      this.#count(entry, 1)
      this.#executable++
    }
  }

  /** Executable entries that were not announced yet, in order; they count as announced from now on. */
  takeUnannounced(): PoolEntry[] {
    const found: PoolEntry[] = []
    // From the end: most often it is the last one alone.
    for (let i = this.#executable - 1; i >= 0 && this.#unannounced > 0; i--) {
      const entry = this.#entries[i]!
      if (entry.announced) continue
      entry.announced = true
      this.#unannounced--
      found.push(entry)
    }
    return found.reverse()
  }

  /** Makes the entries from `index` on not executable. */
  #cut(index: number): void {
    while (this.#executable > index) this.#count(this.#entries[--this.#executable]!, -1)
  }

  /** An entry becomes executable (1) or no longer is (-1). */
  #count({ kind, cost, raw }: PoolEntry, change: 1 | -1): void {
    this.#executableCost += change === 1 ? cost : -cost
    if (kind === 'native') this.#executableNative += change
    else this.#executableBytes += change * raw.length
  }

  /** Index of the first entry whose nonce is at least `nonce`. */
  #search(nonce: bigint): number {
    let low = 0
    let high = this.#entries.length
    if (high > 0 && this.#entries[high - 1]!.nonce < nonce) return high
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#entries[middle]!.nonce < nonce) low = middle + 1
      else high = middle
    }
    return low
  }
}
