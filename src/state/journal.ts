import type { Burn, NativeEvent, ValueTransfer } from '../chain/block/entries.ts'
import type { Log } from '../chain/block/receipt.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, equalBytes, keyBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash, keccak256 } from '../primitives/hash.ts'
import type { AccountChange, SlotChange, StateChanges } from './changes.ts'
import { NativeJournal } from './nativeJournal.ts'
import { type Account, equalAccounts, isEmptyAccount, NEW_ACCOUNT, type StateReader } from './reader.ts'
import { keyBytesOf, type SlotWords, VALUE_WORDS, writeValue } from './slotWords.ts'
import { UndoLog } from './undoLog.ts'
import { VestingLocks } from './vesting.ts'
import type { WorldState } from './world.ts'

const NOTHING: readonly never[] = []
/**
 * Address 3. A reverted touch of this account still counts for EIP-161, because it did in mainnet's
 * block 2,675,119.
 */
const RIPEMD_PRECOMPILE: Address = Uint8Array.of(...new Uint8Array(19), 3)

/**
 * One storage slot: its value in the reader, its current value, and the one at the start of a
 * transaction.
 */
interface Slot {
  /** `bytesKey` of the slot */
  readonly key: string
  readonly base: Uint8Array
  value: Uint8Array
  original: Uint8Array
  /** transaction that `original` belongs to */
  originalOf: number
  /** last transaction in which the slot was warm */
  warmIn: number
}

/** One account with its storage. */
interface AccountEntry {
  readonly address: Address
  /** in the reader */
  readonly base: Account | undefined
  /** current fields; the object is replaced as a whole, so that undoing restores the old object */
  account: Account | undefined
  /** the code of the hash `codeOf`, which is the account's unless its code has changed since it was read */
  code: Uint8Array
  codeOf: Hash | undefined
  /** slots that were read or written; undefined before the first */
  slots: Map<string, Slot> | undefined
  /** all of the reader's slots were deleted */
  wiped: boolean
  /** number of slots that are set now, minus the number in the reader (minus 0 after a wipe) */
  slotDelta: number
  /** `wiped` at the start of transaction `scopeOf` */
  wipedBefore: boolean
  scopeOf: number
  /** last transaction in which the account was warm */
  warmIn: number
  /** last transaction in which the account was touched (EIP-161) */
  touchedIn: number
}

/**
 * Changes for {@link Journal.adopt}, by keys of addresses and slots (`bytesKey`). No storage is
 * wiped. `stored`: the reader's value where it is known, so that it is not read again.
 */
export interface AdoptedChanges {
  readonly accounts: readonly {
    readonly key: string
    readonly stored?: Account | undefined
    readonly account: Account | undefined
  }[]
  /** values in minimal big-endian bytes */
  readonly slots: readonly {
    readonly key: string
    readonly slot: string
    readonly stored?: Uint8Array | undefined
    readonly value: Uint8Array
  }[]
  /** bytecode by hash, of the accounts above */
  readonly codes: readonly { readonly key: string; readonly code: Uint8Array }[]
}

/**
 * Receives accounts and slots: the reader's values, and the current ones. `slot` is a slot's
 * `bytesKey`.
 */
export interface JournalVisitor {
  account(address: Address, stored: Account | undefined, account: Account | undefined): void
  slot(address: Address, slot: string, stored: Uint8Array, value: Uint8Array): void
}

/** Data of one transaction. Parts that most transactions do not use are created when they are needed. */
interface TransactionScope {
  readonly id: number
  readonly depth: number
  ended: boolean
  /** keys of accounts that are warm without entries that say so */
  alwaysWarm: ReadonlySet<string> | undefined
  logs: Log[] | undefined
  events: NativeEvent[] | undefined
  transfers: ValueTransfer[] | undefined
  burns: Burn[] | undefined
  /** by address and slot in one key */
  transient: Map<string, Uint8Array> | undefined
  /** accounts that were touched; if a revert has undone the touch, `touchedIn` shows it */
  readonly touched: AccountEntry[]
  /** slots that were written, in pairs with their accounts, where that is asked for; also those whose writes a revert has undone */
  readonly written: (readonly [AccountEntry, Slot])[] | undefined
  created: Set<AccountEntry> | undefined
  selfDestructed: Set<AccountEntry> | undefined
}

/**
 * The world state in memory on top of a reader. Every change is one assignment and one undo action, and a revert runs the undo actions
 * in reverse order. One look-up of an account or slot finds its value, original value and warmth together. Arrays that are handed out
 * are shared: callers must not write to them.
 */
export class Journal implements WorldState {
  readonly native: NativeJournal
  readonly #reader: StateReader
  readonly #undo = new UndoLog()
  readonly #locks: VestingLocks
  readonly #accounts = new Map<string, AccountEntry>()
  /**
   * bytecode set through this journal, by hash; a revert does not remove it, because nothing refers
   * to it then
   */
  readonly #codeByHash = new Map<string, Uint8Array>()
  #scope: TransactionScope = createScope(1, 0)
  #lastScope = 1
  /** the two entries that were looked up last: a transfer has a sender and a recipient */
  #recent: AccountEntry | undefined
  #beforeRecent: AccountEntry | undefined

  /** whether {@link written} is asked for */
  #notesWrites = false

  constructor(reader: StateReader) {
    this.#reader = reader
    this.native = new NativeJournal(reader, this.#undo)
    this.#locks = new VestingLocks(this.native)
  }

  /** Returns the state below the journal. */
  get stored(): StateReader {
    return this.#reader
  }

  exists(address: Address): boolean {
    return this.#entry(address).account !== undefined
  }

  isEmpty(address: Address): boolean {
    return isEmptyAccount(this.#entry(address).account)
  }

  getBalance(address: Address): bigint {
    return this.#entry(address).account?.balance ?? 0n
  }

  getSpendable(address: Address): bigint {
    return this.#spendable(this.#entry(address))
  }

  /** Whether coins of the account are or were locked. */
  isVesting(address: Address): boolean {
    return this.#locks.isVesting(address)
  }

  hasVesting(): boolean {
    return this.#locks.areAny
  }

  setTime(time: number): void {
    this.#locks.setTime(time)
  }

  addBalance(address: Address, amount: bigint): void {
    const entry = this.#entry(address)
    const account = entry.account ?? NEW_ACCOUNT
    this.#setAccount(entry, amount === 0n ? account : withBalance(account, account.balance + amount))
  }

  subBalance(address: Address, amount: bigint): void {
    const entry = this.#entry(address)
    const spendable = this.#spendable(entry)
    if (spendable < amount) throw new Error(`a balance with ${spendable} to spend cannot pay ${amount}`)
    this.#subtract(entry, amount)
  }

  subDelegated(address: Address, amount: bigint): void {
    const entry = this.#entry(address)
    const balance = entry.account?.balance ?? 0n
    if (balance < amount) throw new Error(`a balance of ${balance} cannot pay ${amount}`)
    this.#subtract(entry, amount)
  }

  setBalance(address: Address, balance: bigint): void {
    if (balance < 0n) throw new Error('a balance is never negative')
    const entry = this.#entry(address)
    this.#setAccount(entry, withBalance(entry.account ?? NEW_ACCOUNT, balance))
  }

  getNonce(address: Address): bigint {
    return this.#entry(address).account?.nonce ?? 0n
  }

  setNonce(address: Address, nonce: bigint): void {
    const entry = this.#entry(address)
    this.#setAccount(entry, withNonce(entry.account ?? NEW_ACCOUNT, nonce))
  }

  getCode(address: Address): Uint8Array {
    const entry = this.#entry(address)
    const hash = entry.account?.codeHash
    if (hash === undefined || equalBytes(hash, EMPTY_CODE_HASH)) return EMPTY_BYTES
    // A transaction asks several times for the code that it runs.
    if (hash !== entry.codeOf) {
      entry.code = this.#ownCode(hash) ?? this.#reader.getCode(hash)
      entry.codeOf = hash
    }
    return entry.code
  }

  /** Most journals have set none. */
  #ownCode(hash: Hash): Uint8Array | undefined {
    return this.#codeByHash.size === 0 ? undefined : this.#codeByHash.get(bytesKey(hash))
  }

  getCodeHash(address: Address): Hash | undefined {
    return this.#entry(address).account?.codeHash
  }

  setCode(address: Address, code: Uint8Array): void {
    const entry = this.#entry(address)
    const codeHash = code.length === 0 ? EMPTY_CODE_HASH : keccak256(code)
    const key = bytesKey(codeHash)
    if (code.length > 0 && !this.#codeByHash.has(key)) this.#codeByHash.set(key, new Uint8Array(code))
    this.#setAccount(entry, { ...(entry.account ?? NEW_ACCOUNT), codeHash })
  }

  touch(address: Address): void {
    this.#touch(this.#entry(address))
  }

  hasStorage(address: Address): boolean {
    const { wiped, slotDelta } = this.#entry(address)
    return slotDelta > 0 || (!wiped && this.#reader.storageCount(address) + slotDelta > 0)
  }

  getStorage(address: Address, slot: Uint8Array): Uint8Array {
    return this.#slot(this.#entry(address), slot).value
  }

  getOriginalStorage(address: Address, slot: Uint8Array): Uint8Array {
    return this.#slot(this.#entry(address), slot).original
  }

  /**
   * Adds no entry for a slot that the reader has in memory and that was never written or warmed
   * here: most are looked up once.
   */
  readSlot(address: Address, { name, value, original }: SlotWords): boolean {
    const entry = this.#entry(address)
    const { slots } = entry
    const bytes = slots === undefined ? undefined : keyBytesOf(name)
    const key = bytes === undefined ? undefined : bytesKey(bytes)
    const isKept = key !== undefined && slots!.has(key)
    if (!isKept && this.#reader.knownSlot?.(name, value) === true) {
      if (entry.wipedBefore) original.fill(0)
      else for (let i = 0; i < VALUE_WORDS; i++) original[i] = value[i]!
      if (entry.wiped) value.fill(0)
      return false
    }
    const known = key === undefined ? this.#slot(entry, keyBytesOf(name)) : this.#slotOf(entry, key, bytes)
    writeValue(value, known.value)
    writeValue(original, known.original)
    return known.warmIn === this.#scope.id
  }

  /** Creates the account when it is absent, since only an account can hold storage. */
  setStorage(address: Address, slot: Uint8Array, value: Uint8Array): void {
    if (value.length > 32) throw new Error(`a storage value has at most 32 bytes, not ${value.length}`)
    const entry = this.#entry(address)
    if (entry.account === undefined) this.#setAccount(entry, NEW_ACCOUNT)
    this.#setSlot(entry, this.#slot(entry, slot), minimalCopy(value))
  }

  clearStorage(address: Address): void {
    const entry = this.#entry(address)
    if (entry.slots !== undefined) {
      for (const slot of entry.slots.values()) {
        enterTransaction(slot, this.#scope.id)
        this.#setSlot(entry, slot, EMPTY_BYTES)
      }
    }
    if (entry.wiped) return
    this.#undo.record(restoreWiped, entry, { slotDelta: entry.slotDelta, known: entry.slots?.size ?? 0 })
    entry.wiped = true
    entry.slotDelta = 0
  }

  deleteAccount(address: Address): void {
    const entry = this.#entry(address)
    this.clearStorage(address)
    this.#setAccount(entry, undefined)
  }

  getTransient(address: Address, slot: Uint8Array): Uint8Array {
    const { transient } = this.#scope
    return transient?.get(bytesKey(address) + bytesKey(slot)) ?? EMPTY_BYTES
  }

  setTransient(address: Address, slot: Uint8Array, value: Uint8Array): void {
    const scope = this.#scope
    scope.transient ??= new Map()
    const { transient } = scope
    const key = bytesKey(address) + bytesKey(slot)
    this.#undo.record(restoreTransient, transient, { key, previous: transient.get(key) ?? EMPTY_BYTES })
    transient.set(key, minimalCopy(value))
  }

  warmAddress(address: Address): boolean {
    return this.#warm(this.#entry(address)) || this.#isAlwaysWarm(address)
  }

  warmAlways(keys: ReadonlySet<string>): void {
    this.#scope.alwaysWarm = keys
  }

  isWarmAddress(address: Address): boolean {
    return this.#known(address)?.warmIn === this.#scope.id || this.#isAlwaysWarm(address)
  }

  warmSlot(address: Address, slot: Uint8Array): boolean {
    return this.#warm(this.#slot(this.#entry(address), slot))
  }

  isWarmSlot(address: Address, slot: Uint8Array): boolean {
    return this.#known(address)?.slots?.get(bytesKey(slot))?.warmIn === this.#scope.id
  }

  markCreated(address: Address): void {
    this.#scope.created = this.#mark(this.#scope.created, this.#entry(address))
  }

  isCreated(address: Address): boolean {
    return this.#scope.created?.has(this.#entry(address)) === true
  }

  markSelfDestructed(address: Address): void {
    this.#scope.selfDestructed = this.#mark(this.#scope.selfDestructed, this.#entry(address))
  }

  isSelfDestructed(address: Address): boolean {
    return this.#scope.selfDestructed?.has(this.#entry(address)) === true
  }

  emitLog(log: Log): void {
    this.#scope.logs = this.#append(this.#scope.logs, log)
  }

  logs(): readonly Log[] {
    return this.#scope.logs ?? NOTHING
  }

  emitEvent(event: NativeEvent): void {
    this.#scope.events = this.#append(this.#scope.events, event)
  }

  events(): readonly NativeEvent[] {
    return this.#scope.events ?? NOTHING
  }

  recordTransfer(transfer: ValueTransfer): void {
    this.#scope.transfers = this.#append(this.#scope.transfers, transfer)
  }

  transfers(): readonly ValueTransfer[] {
    return this.#scope.transfers ?? NOTHING
  }

  recordBurn(burn: Burn): void {
    this.#scope.burns = this.#append(this.#scope.burns, burn)
  }

  burns(): readonly Burn[] {
    return this.#scope.burns ?? NOTHING
  }

  checkpoint(): void {
    this.#undo.checkpoint()
  }

  commit(): void {
    this.#undo.commit()
  }

  revert(): void {
    this.#undo.revert()
  }

  /**
   * Runs `work` in a checkpoint that nothing in it can close. When it throws, all that it has changed is undone, whatever checkpoints
   * and transaction it leaves open: the journal is as it was, and the error is thrown again.
   */
  async attempt<T>(work: () => Promise<T> | T): Promise<T> {
    const outer = this.#undo.enclose()
    try {
      const result = await work()
      this.#undo.keep(outer)
      return result
    } catch (error) {
      this.#undo.abandon(outer)
      throw error
    }
  }

  /**
   * Starts a transaction: nothing is warm, touched, created or destroyed. Transient storage, logs
   * and events are empty (arrays of the previous transaction that were handed out do not change),
   * and original values are the current ones. Reverting an earlier checkpoint restores the previous
   * transaction's scope.
   * @throws Error (a bug) inside a checkpoint that an unfinished transaction opened
   */
  beginTransaction(): void {
    const previous = this.#scope
    if (!previous.ended && this.#undo.depth > previous.depth) {
      throw new Error('the transaction before has open checkpoints')
    }
    this.#undo.record(this.#restoreScope, undefined, previous)
    this.#scope = createScope(++this.#lastScope, this.#undo.depth, this.#notesWrites ? [] : undefined)
  }

  /**
   * Deletes self-destructed accounts and, with `clearEmpty` (EIP-161, from Spurious Dragon),
   * touched accounts that are empty. Locked coins of a self-destructed account stay. `burns`: other
   * coins that the self-destructed accounts still had.
   * @throws Error (a bug) when the transaction left a checkpoint open
   */
  endTransaction(options: { readonly clearEmpty: boolean }): { readonly burns: readonly Burn[] } {
    const scope = this.#scope
    if (this.#undo.depth > scope.depth) throw new Error('the transaction has open checkpoints')
    const burns: Burn[] = []
    if (scope.selfDestructed !== undefined) {
      for (const entry of scope.selfDestructed) {
        const { address: account } = entry
        const amountAcoin = this.#spendable(entry)
        const locked = (entry.account?.balance ?? 0n) - amountAcoin
        if (amountAcoin > 0n) burns.push({ account, amountAcoin })
        this.deleteAccount(entry.address)
        if (locked > 0n) this.#setAccount(entry, withBalance(NEW_ACCOUNT, locked))
      }
    }
    if (options.clearEmpty) {
      for (const entry of scope.touched) {
        if (entry.touchedIn !== scope.id || entry.account === undefined) continue
        if (isEmptyAccount(entry.account)) this.deleteAccount(entry.address)
      }
    }
    this.#undo.record(restoreOpen, scope, undefined)
    scope.ended = true
    return { burns }
  }

  /** Returns the account as it is now; undefined when it does not exist. */
  account(address: Address): Account | undefined {
    return this.#entry(address).account
  }

  /**
   * Whether the fields of the account with this key (`bytesKey`) are those of the reader. Where the journal has not looked yet they are,
   * without a look.
   */
  isStoredAccount(key: string): boolean {
    const entry = this.#accounts.get(key)
    return entry === undefined || equalAccounts(entry.base, entry.account)
  }

  /**
   * Returns the same for a slot; false also where its account's storage was wiped and it was not
   * looked at before.
   */
  isStoredSlot(key: string, slot: string): boolean {
    const entry = this.#accounts.get(key)
    if (entry === undefined) return true
    const found = entry.slots?.get(slot)
    return found === undefined ? !entry.wiped : equalBytes(found.base, found.value)
  }

  /** Whether as many slots of the account are set as in the reader. */
  isStoredSlotCount(key: string): boolean {
    const entry = this.#accounts.get(key)
    return entry === undefined || (!entry.wiped && entry.slotDelta === 0)
  }

  /** Whether the account with this key has these fields. */
  isAccount(key: string, account: Account | undefined): boolean {
    return equalAccounts(this.#entryOf(key).account, account)
  }

  /** Whether a slot has this value. */
  isSlot(key: string, slot: string, value: Uint8Array): boolean {
    return equalBytes(this.#slotOf(this.#entered(this.#entryOf(key)), slot).value, value)
  }

  /**
   * Applies changes that were computed elsewhere on an equal state, as a transaction of its own.
   */
  adopt({ accounts, slots, codes }: AdoptedChanges): void {
    this.beginTransaction()
    for (const { key, code } of codes) if (!this.#codeByHash.has(key)) this.#codeByHash.set(key, code)
    for (const { key, stored, account } of accounts) {
      this.#setAccount(this.#entered(this.#entryOf(key, undefined, stored)), account)
    }
    for (const { key, slot, stored, value } of slots) {
      const entry = this.#entered(this.#entryOf(key))
      this.#setSlot(entry, this.#slotOf(entry, slot, undefined, stored), value)
    }
    this.endTransaction({ clearEmpty: false })
  }

  /** From the next transaction on, {@link visitWritten} knows which slots it wrote. */
  noteWrites(): void {
    this.#notesWrites = true
  }

  /**
   * Visits the accounts that the last transaction touched and the slots that it wrote, including
   * those whose values are unchanged.
   */
  visitWritten(visitor: JournalVisitor): void {
    const { touched, written = [] } = this.#scope
    for (const { address, base, account } of touched) visitor.account(address, base, account)
    for (const [{ address }, { key, base, value }] of written) visitor.slot(address, key, base, value)
  }

  /** Visits every account and slot that was looked up; the slots of an account follow it. */
  visit(visitor: JournalVisitor): void {
    for (const { address, base, account, slots } of this.#accounts.values()) {
      visitor.account(address, base, account)
      if (slots === undefined) continue
      for (const { key, base: stored, value } of slots.values()) visitor.slot(address, key, stored, value)
    }
  }

  /** Visits the bytecode that was set, including bytecode that no account has. */
  visitCodes(visit: (hash: Hash, code: Uint8Array) => void): void {
    for (const [key, code] of this.#codeByHash) visit(keyBytes(key), code)
  }

  /** Whether slots of the reader were deleted as a whole. */
  wipesStorage(): boolean {
    for (const { address, wiped } of this.#accounts.values()) {
      if (wiped && this.#reader.storageCount(address) > 0) return true
    }
    return false
  }

  /** Returns all differences from the reader's state. The journal can be used afterwards. */
  changes(): StateChanges {
    const accounts: AccountChange[] = []
    const codeKeys = new Set<string>()
    // The order of these strings is that of their bytes.
    for (const key of [...this.#accounts.keys()].sort()) {
      const entry = this.#accounts.get(key)!
      const wiped = entry.wiped && this.#reader.storageCount(entry.address) > 0
      const slots = changedSlots(entry, wiped)
      if (!wiped && slots.length === 0 && equalAccounts(entry.base, entry.account)) continue
      const { address, base: previous, account: current } = entry
      accounts.push({ address, previous, current, wiped, slots })
      if (current !== undefined) codeKeys.add(bytesKey(current.codeHash))
    }
    const codes = [...codeKeys]
      .filter((key) => this.#codeByHash.has(key))
      .sort()
      .map((key) => ({ hash: keyBytes(key), code: this.#codeByHash.get(key)! }))
    return { accounts, codes, native: this.native.changes() }
  }

  /**
   * Returns the entry of an account that was looked up before; undefined for any other account,
   * which is neither warm nor changed.
   */
  #known(address: Address): AccountEntry | undefined {
    const recent = this.#recent
    return recent !== undefined && equalBytes(recent.address, address) ? recent : this.#accounts.get(bytesKey(address))
  }

  #entry(address: Address): AccountEntry {
    let entry = this.#recent
    if (entry === undefined || !equalBytes(entry.address, address)) {
      const other = this.#beforeRecent
      this.#beforeRecent = entry
      entry = other !== undefined && equalBytes(other.address, address) ? other : this.#lookUp(address)
      this.#recent = entry
    }
    return this.#entered(entry)
  }

  /** To be called before the transaction uses the entry. */
  #entered(entry: AccountEntry): AccountEntry {
    if (entry.scopeOf !== this.#scope.id) {
      entry.scopeOf = this.#scope.id
      entry.wipedBefore = entry.wiped
    }
    return entry
  }

  #lookUp(address: Address): AccountEntry {
    return this.#entryOf(bytesKey(address), address)
  }

  /** @param stored the reader's account, where it is known */
  #entryOf(key: string, address?: Address, stored?: Account): AccountEntry {
    let entry = this.#accounts.get(key)
    if (entry === undefined) {
      const own = address === undefined ? keyBytes(key) : new Uint8Array(address)
      entry = createEntry(own, stored ?? this.#reader.getAccount(own))
      this.#accounts.set(key, entry)
    }
    return entry
  }

  #slot(entry: AccountEntry, slot: Uint8Array): Slot {
    return this.#slotOf(entry, bytesKey(slot), slot)
  }

  /** @param stored the reader's value, where it is known */
  #slotOf(entry: AccountEntry, key: string, slot?: Uint8Array, stored?: Uint8Array): Slot {
    const { id } = this.#scope
    entry.slots ??= new Map()
    let found = entry.slots.get(key)
    if (found === undefined) {
      const base = stored ?? this.#reader.getStorage(entry.address, slot ?? keyBytes(key))
      const value = entry.wiped ? EMPTY_BYTES : base
      const original = entry.wipedBefore ? EMPTY_BYTES : base
      found = { key, base, value, original, originalOf: id, warmIn: 0 }
      entry.slots.set(key, found)
    } else {
      enterTransaction(found, id)
    }
    return found
  }

  #spendable({ address, account }: AccountEntry): bigint {
    const balance = account?.balance ?? 0n
    const locked = balance === 0n ? 0n : this.#locks.locked(address)
    return balance > locked ? balance - locked : 0n
  }

  #subtract(entry: AccountEntry, amount: bigint): void {
    const account = entry.account ?? NEW_ACCOUNT
    if (amount === 0n) this.#touch(entry)
    else this.#setAccount(entry, withBalance(account, account.balance - amount))
  }

  #setAccount(entry: AccountEntry, account: Account | undefined): void {
    this.#touch(entry)
    const previous = entry.account
    if (previous === account) return
    this.#undo.record(restoreAccount, entry, previous)
    entry.account = account
  }

  #setSlot(entry: AccountEntry, slot: Slot, value: Uint8Array): void {
    const previous = slot.value
    if (equalBytes(previous, value)) return
    this.#undo.record(restoreSlot, slot, previous)
    slot.value = value
    this.#scope.written?.push([entry, slot])
    const delta = Math.sign(value.length) - Math.sign(previous.length)
    if (delta === 0) return
    this.#undo.record(restoreSlotDelta, entry, entry.slotDelta)
    entry.slotDelta += delta
  }

  #touch(entry: AccountEntry): void {
    const previous = entry.touchedIn
    if (previous === this.#scope.id) return
    if (!equalBytes(entry.address, RIPEMD_PRECOMPILE)) this.#undo.record(restoreTouched, entry, previous)
    entry.touchedIn = this.#scope.id
    this.#scope.touched.push(entry)
  }

  #isAlwaysWarm(address: Address): boolean {
    return this.#scope.alwaysWarm?.has(bytesKey(address)) === true
  }

  #warm(item: AccountEntry | Slot): boolean {
    const previous = item.warmIn
    if (previous === this.#scope.id) return true
    this.#undo.record(restoreWarm, item, previous)
    item.warmIn = this.#scope.id
    return false
  }

  #mark(set = new Set<AccountEntry>(), entry: AccountEntry): Set<AccountEntry> {
    if (set.has(entry)) return set
    this.#undo.record(unmark, set, entry)
    return set.add(entry)
  }

  #append<Item>(list: Item[] = [], item: Item): Item[] {
    this.#undo.record(dropLast, list, undefined)
    list.push(item)
    return list
  }

  readonly #restoreScope = (_: undefined, previous: TransactionScope): void => {
    this.#scope = previous
  }
}

function createEntry(address: Address, base: Account | undefined): AccountEntry {
  return {
    address,
    base,
    account: base,
    code: EMPTY_BYTES,
    codeOf: undefined,
    slots: undefined,
    wiped: false,
    slotDelta: 0,
    wipedBefore: false,
    scopeOf: 0,
    warmIn: 0,
    touchedIn: 0,
  }
}

function createScope(id: number, depth: number, written?: TransactionScope['written']): TransactionScope {
  return {
    id,
    depth,
    ended: false,
    alwaysWarm: undefined,
    logs: undefined,
    events: undefined,
    transfers: undefined,
    burns: undefined,
    transient: undefined,
    touched: [],
    written,
    created: undefined,
    selfDestructed: undefined,
  }
}

/**
 * Called before transaction `id` uses a slot: at the first use, its current value becomes the
 * original value.
 */
function enterTransaction(slot: Slot, id: number): void {
  if (slot.originalOf === id) return
  slot.original = slot.value
  slot.originalOf = id
}

function changedSlots(entry: AccountEntry, wiped: boolean): SlotChange[] {
  const slots: SlotChange[] = []
  if (entry.slots === undefined) return slots
  for (const key of [...entry.slots.keys()].sort()) {
    const { base, value } = entry.slots.get(key)!
    if (wiped ? value.length > 0 : !equalBytes(base, value)) {
      slots.push({ slot: keyBytes(key), previous: base, current: value })
    }
  }
  return slots
}

function minimalCopy(value: Uint8Array): Uint8Array {
  let start = 0
  while (start < value.length && value[start] === 0) start++
  return start === value.length ? EMPTY_BYTES : value.slice(start)
}

/** Copies field by field: a spread takes several times as long, and every transfer makes two such copies. */
function withBalance(account: Account, balance: bigint): Account {
  return { nonce: account.nonce, balance, codeHash: account.codeHash }
}

function withNonce(account: Account, nonce: bigint): Account {
  return { nonce, balance: account.balance, codeHash: account.codeHash }
}

// The undo functions of each kind of change.

function restoreAccount(entry: AccountEntry, previous: Account | undefined): void {
  entry.account = previous
}

function restoreSlot(slot: Slot, previous: Uint8Array): void {
  slot.value = previous
}

function restoreSlotDelta(entry: AccountEntry, previous: number): void {
  entry.slotDelta = previous
}

function restoreTouched(entry: AccountEntry, previous: number): void {
  entry.touchedIn = previous
}

function restoreWarm(item: AccountEntry | Slot, previous: number): void {
  item.warmIn = previous
}

function restoreOpen(scope: TransactionScope): void {
  scope.ended = false
}

function restoreTransient(
  transient: Map<string, Uint8Array>,
  { key, previous }: { readonly key: string; readonly previous: Uint8Array },
): void {
  transient.set(key, previous)
}

/** Slots that were first looked up after the wipe were read as empty, so they must be looked up again. */
function restoreWiped(
  entry: AccountEntry,
  { slotDelta, known }: { readonly slotDelta: number; readonly known: number },
): void {
  entry.wiped = false
  entry.slotDelta = slotDelta
  if (entry.slots === undefined) return
  for (const key of [...entry.slots.keys()].slice(known)) entry.slots.delete(key)
}

function unmark(set: Set<AccountEntry>, entry: AccountEntry): void {
  set.delete(entry)
}

function dropLast(list: unknown[]): void {
  list.pop()
}
