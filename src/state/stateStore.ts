import type { Address } from '../primitives/address.ts'
import { BoundedCache } from '../primitives/boundedCache.ts'
import { bytesKey, EMPTY_BYTES, keyBytes } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash } from '../primitives/hash.ts'
import { WriteBatch } from '../storage/batch.ts'
import { Column } from '../storage/columns.ts'
import type { DatabaseView, WritableDatabase } from '../storage/database.ts'
import { CodeCache } from './caches.ts'
import type { StateChanges } from './changes.ts'
import { checkAbsent } from './checkAbsent.ts'
import {
  accountKey,
  codeKey,
  decodeAccount,
  encodeAccount,
  FlatReader,
  nativePageKey,
  writeNameOfKey,
} from './flatState.ts'
import { readOldestHeight, readStateHead, readStateHeight, writeOldestHeight, writeStateHead } from './head.ts'
import { BlockHistory, dropStates, indexKey } from './history.ts'
import { readMany } from './loadPaths.ts'
import { type PreparedChanges, prepareChanges } from './prepareChanges.ts'
import type { Account, StateReader } from './reader.ts'
import { SlotCache } from './slotCache.ts'
import { SlotFilter } from './slotFilter.ts'
import { NAME_WORDS, VALUE_WORDS, valueBytes, writeValue } from './slotWords.ts'
import { LEAST_BULK, StateTrie, type TrieCommit } from './trie.ts'

export interface StateStoreOptions {
  /** approximate bytes of flat entries in memory: half for accounts, a quarter for slots and one for all others */
  readonly cacheBytes?: number
  /** see `SlotCache`; it is random in a node */
  readonly hashSeed?: bigint | undefined
  /** approximate bytes of cached bytecode */
  readonly codeCacheBytes?: number
  /** bytes of trie nodes that are cached between blocks */
  readonly residentBytes?: number
}

/** The state after a block that may or may not be decided. If it is not used, it needs no clean-up. */
export interface PendingState {
  readonly height: number
  readonly root: Hash
  /** Does most of the work of `write` beforehand, for example while consensus decides the block. */
  prepare(): void
  /**
   * Adds the block's flat entries, trie nodes, history and head record to its batch. From this call until `publish`, no other
   * pending state can be written.
   */
  write(batch: WriteBatch): void
  /**
   * Makes this state the head, after the batch was written. From then on, readers of the previous
   * head and other pending states on top of that head are invalid.
   */
  publish(): void
}

/**
 * The state at the head of the chain, with its history, for the one thread that writes the database. The steps of a block:
 *
 * 1. a journal on top of `reader()` collects the changes of the block's execution;
 * 2. `apply` computes the state root, which the next step of consensus needs; nothing is stored
 *    yet, so several blocks may be pending, and at most one is decided;
 * 3. `dropHistory(batch)` and then `pending.write(batch)` add deletes of old history, flat entries, trie nodes, history and head record to
 *    the batch that also takes the block: after a crash the database has all of them or none and needs no repair;
 * 4. `database.write(batch)` puts the batch on stable storage, before any reader can see something that a crash could undo;
 * 5. `pending.publish()` makes it the head of this object: caches, trie and snapshot change together.
 */
export class StateStore {
  readonly #database: WritableDatabase
  /** accounts by address; null: absent */
  readonly #accounts: BoundedCache<Account | null>
  readonly #slots: SlotCache
  readonly #slotFilter: SlotFilter
  /** entries other than accounts and slots */
  readonly #entries: BoundedCache<Uint8Array>
  readonly #codeCache: CodeCache
  readonly #trie: StateTrie
  /** `bytesKey` of entries that were read and not found since the last root was computed: the trie must not have them either (`checkAbsent`) */
  readonly #unchecked = new Set<string>()
  #snapshot: DatabaseView
  #height: number
  #root: Hash
  #oldestHeight: number
  /** whether history was dropped since the start: only then the oldest height may be another one after a block */
  #dropsHistory = false
  /** a pending state is between `write` and `publish` */
  #isWriting = false

  constructor(database: WritableDatabase, options: StateStoreOptions = {}) {
    const { cacheBytes = 128 << 20, codeCacheBytes = 64 << 20, residentBytes = 32 << 20, hashSeed = 0n } = options
    this.#database = database
    this.#accounts = new BoundedCache(cacheBytes / 2, (_, account) => (account === null ? 120 : ACCOUNT_BYTES))
    this.#slots = new SlotCache(cacheBytes / 4, hashSeed)
    this.#slotFilter = new SlotFilter(hashSeed)
    this.#entries = new BoundedCache(cacheBytes / 4, (key, value) => key.length + value.length + 250)
    this.#codeCache = new CodeCache(codeCacheBytes)
    this.#snapshot = database.snapshot()
    this.#trie = new StateTrie(this.#snapshot, residentBytes, hashSeed)
    const head = readStateHead(this.#snapshot)
    this.#height = head?.height ?? -1
    this.#root = head?.root ?? EMPTY_TRIE_ROOT
    this.#oldestHeight = head?.oldestHeight ?? 0
  }

  /** -1 before the genesis state is written. */
  get height(): number {
    return this.#height
  }

  get root(): Hash {
    return this.#root
  }

  /** Returns the lowest height whose state is retained. */
  get oldestHeight(): number {
    return this.#oldestHeight
  }

  /** Returns the state at the current head. Reading it throws once another head is published. */
  reader(): StateReader {
    const height = this.#height
    return new FlatReader({
      value: (key) => {
        this.#assertHead(height)
        return this.#value(key)
      },
      account: (address) => {
        this.#assertHead(height)
        return this.#account(address)
      },
      knownSlot: (name, value) => height === this.#height && this.#slots.read(name, value),
      code: (hash) => this.#codeCache.get(this.#snapshot, hash),
    })
  }

  /**
   * Computes the state after block `height`, which follows the head (any height when there is no
   * head), from the changes of a journal on top of `reader()`. It has no effect until it is written
   * and published; several may be pending.
   * @throws DatabaseError when the flat state lacks an entry that the trie has, so that the
   * execution took it for absent
   */
  async apply(changes: StateChanges, height: number): Promise<PendingState> {
    const base = this.#height
    if (base >= 0 ? height !== base + 1 : height < 0) throw new Error(`block ${height} does not follow ${base}`)
    const reader = this.reader()
    await this.#extendSlotFilter(reader)
    this.#assertHead(base)
    const readPage = (page: number) => this.#value(nativePageKey(page))
    const prepared = await prepareChanges(reader, readPage, this.#snapshot, changes)
    this.#assertHead(base)
    const plan = this.#trie.plan(prepared.trie)
    await this.#trie.load(plan, this.#snapshot)
    this.#assertHead(base)
    // Other threads read the records while this one computes the root.
    const [historyRecords, commit] = await Promise.all([
      base < 0 ? undefined : this.#readRecords(prepared),
      (async () => this.#trie.computePlan(plan, base < 0 ? undefined : height))(),
    ])
    this.#assertHead(base)
    // Check the entries that the execution found absent. Those that it wrote have just been
    // compared with the trie.
    this.#forgetWritten(prepared)
    for (const name of this.#unchecked) checkAbsent(keyBytes(name), this.#trie, this.#snapshot)
    this.#unchecked.clear()
    let ready: WriteBatch | undefined
    const prepare = (): WriteBatch => {
      this.#assertHead(base)
      ready ??= this.#batchOf(base, height, changes, prepared, commit, historyRecords)
      return ready
    }
    return {
      height,
      root: commit.root,
      prepare,
      write: (batch) => {
        this.#assertHead(base)
        if (this.#isWriting) throw new Error('another state is being written')
        this.#isWriting = true
        batch.append(prepare())
      },
      publish: () => this.#publish(base, height, changes, prepared, commit),
    }
  }

  /**
   * Adds deletes to the batch of the next block, which drop history until `oldestHeightToKeep` is
   * the lowest height with state, or until about `budget` entries are dropped: the next block can
   * continue. They must come before the writes of the block's pending state. That state may extend
   * a record that is deleted here, and then its put counts. The changes that the put brings back
   * are below the lowest height, where no reader looks for them, and are deleted with the entry's
   * next change.
   */
  dropHistory(batch: WriteBatch, oldestHeightToKeep: number, budget: number): void {
    const oldest = this.#oldestHeight
    const oldestToKeep = Math.min(oldestHeightToKeep, this.#height)
    if (oldest >= oldestToKeep) return
    this.#dropsHistory = true
    writeOldestHeight(batch, dropStates(this.#database, batch, { oldest, oldestToKeep }, budget))
  }

  /** Closes the head's snapshot. The caller closes the database. */
  close(): Promise<void> {
    return this.#snapshot.close()
  }

  #batchOf(
    base: number,
    height: number,
    changes: StateChanges,
    prepared: PreparedChanges,
    commit: TrieCommit,
    records: readonly (Uint8Array | undefined)[] | undefined,
  ): WriteBatch {
    const batch = new WriteBatch()
    for (const { hash, code } of changes.codes) batch.put(codeKey(hash), code)
    batch.append(commit.batch)
    const block = { height, oldest: this.#oldestHeight, trieKeys: commit.keys }
    const history = base < 0 ? undefined : new BlockHistory(this.#database, batch, block)
    let next = 0
    const addHistory = (key: Uint8Array, previous: Uint8Array): void => {
      if (records !== undefined) history?.addTo(records[next++], key, previous)
      else if (this.#hasNoRecord(key)) history?.addTo(undefined, key, previous)
      else history?.add(key, previous)
    }
    for (const { address, previous, current } of prepared.accounts) {
      const key = accountKey(address)
      putOrDelete(batch, key, encodeAccount(current))
      addHistory(key, encodeAccount(previous))
    }
    for (const { key, previous, current } of prepared.flat) {
      putOrDelete(batch, key, current)
      addHistory(key, previous)
    }
    if (history === undefined) writeOldestHeight(batch, height)
    else history.finish()
    writeStateHead(batch, height, commit.root)
    return batch
  }

  /** Reads the records to which `#batchOf` adds changes in other threads, in its order; undefined for a few, which it reads itself. */
  #readRecords({ accounts, flat }: PreparedChanges): Promise<(Uint8Array | undefined)[]> | undefined {
    const keys = [...accounts.map(({ address }) => accountKey(address)), ...flat.map(({ key }) => key)]
    const isNone = keys.map((key) => this.#hasNoRecord(key))
    const toRead = keys.filter((_, index) => !isNone[index])
    if (toRead.length < LEAST_BULK) return undefined
    return readMany(this.#snapshot, toRead.map(indexKey)).then((records) => {
      let next = 0
      return isNone.map((none) => (none ? undefined : records[next++]))
    })
  }

  /**
   * Uses a new snapshot: the head's was taken while its batch was being written, so it merges the
   * database and the batch, and cannot do range reads.
   */
  async #extendSlotFilter(reader: StateReader): Promise<void> {
    if (!this.#slotFilter.isBehind) return
    const snapshot = this.#database.snapshot()
    try {
      await this.#slotFilter.extend(snapshot, (address) => reader.storageCount(address))
    } finally {
      await snapshot.close()
    }
  }

  /** Whether the history certainly has no record of the flat entry. */
  #hasNoRecord(key: Uint8Array): boolean {
    if (key[0] !== Column.slot) return false
    writeNameOfKey(slotName, key)
    return this.#slotFilter.isAbsent(slotName)
  }

  #publish(base: number, height: number, changes: StateChanges, prepared: PreparedChanges, commit: TrieCommit): void {
    this.#assertHead(base)
    const snapshot = this.#database.snapshot()
    if (readStateHeight(snapshot) !== height)
      throw new Error(`block ${height} is published before its batch is written`)
    for (const { address, current } of prepared.accounts) this.#accounts.set(bytesKey(address), current ?? null)
    for (const { key, current } of prepared.flat) {
      if (key[0] === Column.slot) {
        this.#rememberSlot(key, current)
        this.#slotFilter.add(slotName)
      } else {
        this.#entries.set(bytesKey(key), current)
      }
    }
    for (const { hash, code } of changes.codes) this.#codeCache.add(hash, code)
    this.#forgetWritten(prepared)
    this.#trie.adopt(commit, snapshot)
    const former = this.#snapshot
    this.#snapshot = snapshot
    this.#height = height
    this.#root = commit.root
    if (base < 0 || this.#dropsHistory) this.#oldestHeight = readOldestHeight(snapshot)!
    this.#isWriting = false
    // Not awaited: the snapshot is closed after the last range read of the previous head.
    void former.close()
  }

  #account(address: Address): Account | undefined {
    const name = bytesKey(address)
    let account = this.#accounts.get(name)
    if (account === undefined) {
      const key = accountKey(address)
      const bytes = this.#snapshot.get(key)
      if (bytes === undefined) this.#noteAbsent(key)
      account = (bytes && decodeAccount(bytes)) ?? null
      this.#accounts.set(name, account)
    }
    return account ?? undefined
  }

  #rememberSlot(key: Uint8Array, value: Uint8Array): void {
    writeNameOfKey(slotName, key)
    writeValue(slotValue, value)
    this.#slots.write(slotName, slotValue)
  }

  #slot(key: Uint8Array): Uint8Array {
    writeNameOfKey(slotName, key)
    if (this.#slots.read(slotName, slotValue)) return valueBytes(slotValue)
    let value: Uint8Array | undefined
    if (!this.#slotFilter.isAbsent(slotName)) {
      value = this.#snapshot.get(key)
      if (value === undefined) this.#slotFilter.noteMissed(slotName)
    }
    if (value === undefined) this.#noteAbsent(key)
    this.#rememberSlot(key, value ?? EMPTY_BYTES)
    return value ?? EMPTY_BYTES
  }

  #value(key: Uint8Array): Uint8Array {
    if (key[0] === Column.slot) return this.#slot(key)
    const name = bytesKey(key)
    let value = this.#entries.get(name)
    if (value === undefined) {
      // A copy, because LevelDB's arrays are outside of the heap.
      value = this.#snapshot.get(key)?.slice()
      if (value === undefined) this.#noteAbsent(key)
      value ??= EMPTY_BYTES
      this.#entries.set(name, value)
    }
    return value
  }

  /** Most absent entries are written by the block that reads them, and their check costs nothing when the root is computed. */
  #noteAbsent(key: Uint8Array): void {
    if (this.#unchecked.size < MAX_UNCHECKED) this.#unchecked.add(bytesKey(key))
    else checkAbsent(key, this.#trie, this.#snapshot)
  }

  /** Forgets the absent entries that a block writes: `StateTrie.compute` has compared them with the trie. */
  #forgetWritten({ accounts, flat }: PreparedChanges): void {
    if (this.#unchecked.size === 0) return
    for (const { address, previous } of accounts)
      if (previous === undefined) this.#unchecked.delete(bytesKey(accountKey(address)))
    for (const { key, previous } of flat) if (previous.length === 0) this.#unchecked.delete(bytesKey(key))
  }

  #assertHead(height: number): void {
    if (height !== this.#height) throw new Error(`the state of block ${height} is no longer the head`)
  }
}

/** Of the look-up that runs. */
const slotName = new Int32Array(NAME_WORDS)
const slotValue = new Int32Array(VALUE_WORDS)

/** More absent entries are looked up in the trie when they are read. */
const MAX_UNCHECKED = 100_000

/** Approximate bytes of an account in the cache: key, object, two integers, entry of the map. */
const ACCOUNT_BYTES = 220

function putOrDelete(batch: WriteBatch, key: Uint8Array, value: Uint8Array): void {
  if (value.length === 0) batch.del(key)
  else batch.put(key, value)
}
