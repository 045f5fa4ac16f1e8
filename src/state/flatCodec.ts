import type { Address } from '../primitives/address.ts'
import { bigIntToMinimalBytes, bytesToBigInt, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../primitives/hash.ts'
import { Column, columnKey } from '../storage/columns.ts'
import type { Account } from './reader.ts'

/** Keys and values of the flat store: the state at the head, one entry each. */

const HAS_CODE = 0x80

export function accountKey(address: Address): Uint8Array {
  return columnKey(Column.account, address)
}

export function slotKey(address: Address, slot: Uint8Array): Uint8Array {
  return columnKey(Column.slot, address, slot)
}

export function slotCountKey(address: Address): Uint8Array {
  return columnKey(Column.slotCount, address)
}

export function nativeKey(key: Uint8Array): Uint8Array {
  return columnKey(Column.native, key)
}

export function nativePageKey(page: number): Uint8Array {
  return Uint8Array.of(Column.nativePage, page >>> 24, page >>> 16, page >>> 8, page)
}

export function codeKey(hash: Hash): Uint8Array {
  return columnKey(Column.code, hash)
}

/**
 * An account as: 1 byte (length of the nonce, with the top bit set when a code hash follows), nonce, balance, code hash.
 * No bytes for an absent account.
 */
export function encodeAccount(account: Account | undefined): Uint8Array {
  if (account === undefined) return EMPTY_BYTES
  const nonce = bigIntToMinimalBytes(account.nonce)
  const balance = bigIntToMinimalBytes(account.balance)
  const hasCode = !equalBytes(account.codeHash, EMPTY_CODE_HASH)
  const out = new Uint8Array(1 + nonce.length + balance.length + (hasCode ? 32 : 0))
  out[0] = nonce.length | (hasCode ? HAS_CODE : 0)
  out.set(nonce, 1)
  out.set(balance, 1 + nonce.length)
  if (hasCode) out.set(account.codeHash, out.length - 32)
  return out
}

export function decodeAccount(bytes: Uint8Array): Account | undefined {
  if (bytes.length === 0) return undefined
  const hasCode = (bytes[0]! & HAS_CODE) !== 0
  const nonceEnd = 1 + (bytes[0]! & ~HAS_CODE)
  const balanceEnd = bytes.length - (hasCode ? 32 : 0)
  return {
    nonce: bytesToBigInt(bytes.subarray(1, nonceEnd)),
    balance: bytesToBigInt(bytes.subarray(nonceEnd, balanceEnd)),
    codeHash: hasCode ? bytes.slice(balanceEnd) : EMPTY_CODE_HASH,
  }
}

/** A count in minimal big-endian bytes; none for 0. */
export function encodeCount(count: number): Uint8Array {
  return bigIntToMinimalBytes(BigInt(count))
}

export function decodeCount(bytes: Uint8Array): number {
  return Number(bytesToBigInt(bytes))
}
