import type { Address } from '../primitives/address.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../primitives/hash.ts'

/** The fields of an account in the flat store; the storage root is only in the trie. */
export interface Account {
  readonly nonce: bigint
  /** in acoin */
  readonly balance: bigint
  /** EMPTY_CODE_HASH for an account without code */
  readonly codeHash: Hash
}

/** An account that was just created. */
export const NEW_ACCOUNT: Account = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }

/** EIP-161: absent, or nonce 0, balance 0 and no code. */
export function isEmptyAccount(account: Account | undefined): boolean {
  if (account === undefined) return true
  return account.nonce === 0n && account.balance === 0n && equalBytes(account.codeHash, EMPTY_CODE_HASH)
}

/** Whether two accounts have the same fields, or both are absent. */
export function equalAccounts(a: Account | undefined, b: Account | undefined): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined) return false
  return a.nonce === b.nonce && a.balance === b.balance && equalBytes(a.codeHash, b.codeHash)
}

/**
 * The state after one block, read synchronously. A journal is on top of such a reader: the head's flat store while a block is built or
 * executed, a historical view for calls and traces.
 */
export interface StateReader {
  /** undefined when the account does not exist */
  getAccount(address: Address): Account | undefined
  /** Minimal big-endian bytes without leading zeros; no bytes when the slot is unset. `slot` is 32 bytes. */
  getStorage(address: Address, slot: Uint8Array): Uint8Array
  /**
   * Writes the value of a slot to `value` if it is in memory; false says nothing about the slot.
   * Names and values are numbers, see slotWords.ts: no object is made for a look-up. A reader that
   * has no cache, or must see every read, leaves it out.
   */
  readonly knownSlot?: ((name: Int32Array, value: Int32Array) => boolean) | undefined
  /**
   * Returns how many slots of the account are set. The journal needs it for EIP-7610 (does the
   * account have storage?).
   */
  storageCount(address: Address): number
  /** Returns the same array object for the same hash as long as it stays cached, so that an analysis can be cached with it. */
  getCode(codeHash: Hash): Uint8Array
  /** Returns a native module entry by its raw key; undefined when unset. */
  getNative(key: Uint8Array): Uint8Array | undefined
  /**
   * Yields the raw keys of native entries with `prefix` from `start` (included) on, or with
   * `reverse` down from it, read lazily; see `NativeStore.range`.
   */
  nativeRange(prefix: Uint8Array, start?: Uint8Array, reverse?: boolean): IterableIterator<Uint8Array>
}

/**
 * The stored state could not be read: the disk failed, the database is damaged, or the reader is no longer valid. No
 * transaction can cause this, so it must never become the result of a transaction.
 */
export class StateReadError extends Error {
  override readonly name = 'StateReadError'

  constructor(cause: unknown) {
    super(`the state cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
