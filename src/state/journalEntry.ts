import type { NativeEvent, ValueTransfer } from '../chain/entries.ts'
import type { Log } from '../chain/receipt.ts'
import type { Address } from '../primitives/address.ts'
import { equalBytes, keyBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../primitives/hash.ts'
import type { SlotChange } from './changes.ts'
import type { Account } from './reader.ts'

export const NEW_ACCOUNT: Account = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }

/** One slot: its value below the journal, at the transaction's start and now. */
export interface Slot {
  readonly base: Uint8Array
  value: Uint8Array
  original: Uint8Array
  /** transaction that `original` belongs to */
  originalOf: number
  /** last transaction in which the slot was warm */
  warmIn: number
}

export interface AccountEntry {
  readonly address: Address
  readonly base: Account | undefined
  /** replaced as a whole, so that undoing is putting the old object back */
  account: Account | undefined
  /** made when the first slot is looked at */
  slots: Map<string, Slot> | undefined
  /** the slots below the journal are gone */
  wiped: boolean
  /** slots set now minus slots set below the journal (minus nothing once wiped) */
  slotDelta: number
  /** `wiped` at the start of transaction `scopeOf` */
  wipedBefore: boolean
  scopeOf: number
  /** last transaction in which the account was warm */
  warmIn: number
  /** last transaction in which the account was touched (EIP-161) */
  touchedIn: number
}

/** What lives as long as a transaction; what most transactions do without is made when it is needed. */
export interface TransactionScope {
  readonly id: number
  readonly depth: number
  ended: boolean
  logs: Log[] | undefined
  events: NativeEvent[] | undefined
  transfers: ValueTransfer[] | undefined
  /** by address and slot in one key */
  transient: Map<string, Uint8Array> | undefined
  /** all that were touched; `touchedIn` says whether they still are */
  readonly touched: AccountEntry[]
  created: Set<AccountEntry> | undefined
  selfDestructed: Set<AccountEntry> | undefined
}

/** Field by field: a spread takes several times as long, and every transfer makes two of these. */
export function withBalance(account: Account, balance: bigint): Account {
  return { nonce: account.nonce, balance, codeHash: account.codeHash }
}

export function withNonce(account: Account, nonce: bigint): Account {
  return { nonce, balance: account.balance, codeHash: account.codeHash }
}

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

/** A slot that transaction `id` has not looked at yet still has the value of the transaction's start. */
export function enterTransaction(slot: Slot, id: number): void {
  if (slot.originalOf === id) return
  slot.original = slot.value
  slot.originalOf = id
}

export function changedSlots(entry: AccountEntry, wiped: boolean): SlotChange[] {
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

export function createEntry(address: Address, base: Account | undefined): AccountEntry {
  return {
    address,
    base,
    account: base,
    slots: undefined,
    wiped: false,
    slotDelta: 0,
    wipedBefore: false,
    scopeOf: 0,
    warmIn: 0,
    touchedIn: 0,
  }
}

export function createScope(id: number, depth: number): TransactionScope {
  return {
    id,
    depth,
    ended: false,
    logs: undefined,
    events: undefined,
    transfers: undefined,
    transient: undefined,
    touched: [],
    created: undefined,
    selfDestructed: undefined,
  }
}
