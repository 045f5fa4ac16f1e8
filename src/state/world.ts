import type { Burn, NativeEvent, ValueTransfer } from '../chain/block/entries.ts'
import type { Log } from '../chain/block/receipt.ts'
import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import type { SlotWords } from './slotWords.ts'
import type { WorkMeter } from './workMeter.ts'

/**
 * The one journaled world state into which EVM engines, precompiles and native modules write, so that a revert covers all of them.
 * Synchronous. All changes since a checkpoint are undone by `revert` (warmth, transient storage, logs, events and creation marks too).
 */
export interface WorldState {
  /** Whether the account is in the state (it may be empty in EIP-161's sense). */
  exists(address: Address): boolean
  /** EIP-161: absent, or nonce 0, balance 0 and no code. */
  isEmpty(address: Address): boolean
  getBalance(address: Address): bigint
  /**
   * Returns the part of the balance that may leave now: locked coins of a vesting account
   * (src/state/vesting.ts) may not.
   */
  getSpendable(address: Address): bigint
  /** Whether any account of the state vests. Where none does, all balances may be spent. */
  hasVesting(): boolean
  /** Sets the block's time, by which coins become free; without it all coins that vest are locked. @param time seconds since the epoch */
  setTime(time: number): void
  /** Touches the account and creates it when it is absent, also for an amount of 0. */
  addBalance(address: Address, amount: bigint): void
  /** @throws Error (a bug) when less than `amount` may be spent */
  subBalance(address: Address, amount: bigint): void
  /** Takes coins that are delegated, which may be locked ones. @throws Error (a bug) when the balance is smaller than `amount` */
  subDelegated(address: Address, amount: bigint): void
  setBalance(address: Address, balance: bigint): void
  getNonce(address: Address): bigint
  setNonce(address: Address, nonce: bigint): void
  getCode(address: Address): Uint8Array
  /** EMPTY_CODE_HASH for an account without code, undefined for an absent one. */
  getCodeHash(address: Address): Hash | undefined
  setCode(address: Address, code: Uint8Array): void
  /** Marks the account as touched, so that EIP-161 deletes it at the transaction's end when it is empty. */
  touch(address: Address): void
  hasStorage(address: Address): boolean
  /** Minimal big-endian bytes; none when unset. `slot` is 32 bytes. */
  getStorage(address: Address, slot: Uint8Array): Uint8Array
  /** Returns the value at the transaction's start (EIP-2200). */
  getOriginalStorage(address: Address, slot: Uint8Array): Uint8Array
  /** Writes value and original value of the slot of the account that `slot` names, in one look-up. Returns whether it is warm. */
  readSlot(address: Address, slot: SlotWords): boolean
  /** `value`: at most 32 bytes, leading zeros allowed; no bytes or zeros delete the slot. */
  setStorage(address: Address, slot: Uint8Array, value: Uint8Array): void
  /** Removes every slot of the account (for a CREATE at an address that has storage, or a deletion). */
  clearStorage(address: Address): void
  /** Removes the account with its storage. */
  deleteAccount(address: Address): void
  getTransient(address: Address, slot: Uint8Array): Uint8Array
  setTransient(address: Address, slot: Uint8Array, value: Uint8Array): void

  /** Warms the address (EIP-2929) and returns whether it was warm before. */
  warmAddress(address: Address): boolean
  /**
   * Warms exactly the addresses with these keys (`bytesKey`) for the rest of the transaction,
   * whatever is reverted, without reading their accounts. The set must not change.
   */
  warmAlways(keys: ReadonlySet<string>): void
  /** Like {@link isWarmSlot} it never reads the underlying state, so that code without the gas for a cold access causes no read. */
  isWarmAddress(address: Address): boolean
  warmSlot(address: Address, slot: Uint8Array): boolean
  isWarmSlot(address: Address, slot: Uint8Array): boolean

  /** Marks an account as created in this transaction (EIP-6780). */
  markCreated(address: Address): void
  isCreated(address: Address): boolean
  /** Registers the account for deletion at the transaction's end. */
  markSelfDestructed(address: Address): void
  isSelfDestructed(address: Address): boolean

  readonly native: NativeStore
  emitLog(log: Log): void
  /** Logs of this transaction so far, in order. */
  logs(): readonly Log[]
  emitEvent(event: NativeEvent): void
  events(): readonly NativeEvent[]
  /** Records coins that code or a message moved. Native modules do not record their transfers here; they emit events. */
  recordTransfer(transfer: ValueTransfer): void
  /** Returns the recorded transfers of this transaction so far, in order. */
  transfers(): readonly ValueTransfer[]
  /**
   * Records coins that a self-destruct destroyed at once. Coins destroyed at the transaction's end
   * are not recorded here.
   */
  recordBurn(burn: Burn): void
  /** Returns the recorded burns of this transaction so far, in order. */
  burns(): readonly Burn[]

  /** Checkpoints are strictly nested: each is ended by one `commit` or one `revert`. */
  checkpoint(): void
  commit(): void
  revert(): void
}

/** Entries of the native modules: raw keys and values, one Merkle leaf each. */
export interface NativeStore {
  /** Counts all calls of the methods below, except `watch`. */
  readonly work: WorkMeter
  get(key: Uint8Array): Uint8Array | undefined
  /**
   * Returns an object that always has the entry's current value, for an entry that is looked up
   * very often.
   */
  watch(key: Uint8Array): { readonly value: Uint8Array | undefined }
  /** `value` is never empty */
  set(key: Uint8Array, value: Uint8Array): void
  delete(key: Uint8Array): void
  /**
   * Entries with `prefix` from `start` on, in ascending key order (with `reverse` from `start`
   * down, in descending order); read lazily, so the first of millions costs only a few look-ups.
   * Nothing may be written before the walk ends, under any prefix: a walk that continues after a
   * write throws an error (a bug).
   * @param start a whole key, itself included; by default the first (or last) key with the prefix
   */
  range(
    prefix: Uint8Array,
    options?: { readonly start?: Uint8Array; readonly reverse?: boolean },
  ): IterableIterator<readonly [Uint8Array, Uint8Array]>
}
