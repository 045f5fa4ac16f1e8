import { type Address, parseAddress } from '../../src/primitives/address.ts'
import type { Event } from './answers.ts'

/* Readers for the texts and bytes in the node's answers. */

/** The chain has one denomination. An amount may also be empty: no coins. */
const COINS = /^([0-9]{1,78})acoin$/

/** `5acoin` → 5n */
export function coinsOf(text: string): bigint {
  if (text === '') return 0n
  const amount = COINS.exec(text)?.[1]
  if (amount === undefined) throw new Error(`the node reports an invalid amount: ${text.slice(0, 100)}`)
  return BigInt(amount)
}

/** Parsed accounts by their texts, because the same ones recur. */
const accounts = new Map<string, Address>()
const MAX_ACCOUNTS = 65_536

/** Reads `coin1…`. */
export function accountOf(text: string): Address {
  let account = accounts.get(text)
  if (account === undefined) {
    account = parseAddress(text)
    if (accounts.size === MAX_ACCOUNTS) accounts.clear()
    accounts.set(text, account)
  }
  return account
}

/** Returns the signers' addresses of a native transaction, from its events. */
export function signersOf(events: readonly Event[]): readonly string[] {
  return events.flatMap(({ type, attributes }) =>
    type === 'tx' ? attributes.filter(({ key }) => key === 'acc_seq').map(({ value }) => value.split('/')[0]!) : [],
  )
}

/** EIP-2718 types and RLP lists. The protobuf of a native transaction begins with 0x0a, the tag of its first field. */
export function isEvm(bytes: Uint8Array): boolean {
  const first = bytes[0] ?? 0
  return first >= 0xc0 || (first >= 1 && first <= 4)
}

/** Whether modules emitted a block's event before the first transaction. */
export function isOfBegin({ attributes }: Event): boolean {
  return attributes.some(({ key, value }) => key === 'mode' && value === 'BeginBlock')
}
