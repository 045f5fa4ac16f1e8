import type { Address } from '../primitives/address.ts'
import { keccak256 } from '../primitives/hash.ts'
import type { AccountChange, StateChanges } from './changes.ts'
import { NEW_ACCOUNT } from './journalEntry.ts'
import type { Account, StateReader } from './reader.ts'

/** The reserved account whose storage trie commits to the native modules' state: "native", right-aligned. */
export const NATIVE_ACCOUNT: Address = Uint8Array.of(...new Uint8Array(14), ...new TextEncoder().encode('native'))

/** Slot of a native entry in the reserved account's storage, as `eth_getProof` takes it. */
export function nativeSlot(rawKey: Uint8Array): Uint8Array {
  return keccak256(rawKey)
}

/**
 * The account changes with one of the reserved account when native entries change: its nonce is at least 1, so that
 * EIP-161 never clears it.
 * @throws Error (a bug) when EVM storage of the reserved account changed
 */
export function withNativeAccount(reader: StateReader, changes: StateChanges): readonly AccountChange[] {
  const own = changes.accounts.find(({ address }) => Buffer.compare(address, NATIVE_ACCOUNT) === 0)
  if (own !== undefined && (own.wiped || own.slots.length > 0 || own.current === undefined)) {
    throw new Error('the storage of the native account is written through native entries only')
  }
  if (changes.native.length === 0) return changes.accounts
  const previous = own === undefined ? reader.getAccount(NATIVE_ACCOUNT) : own.previous
  const current = withNonce(own?.current ?? previous ?? NEW_ACCOUNT)
  const others = changes.accounts.filter((change) => change !== own)
  return [...others, { address: NATIVE_ACCOUNT, previous, current, wiped: false, slots: [] }]
}

function withNonce(account: Account): Account {
  return account.nonce === 0n ? { ...account, nonce: 1n } : account
}
