import type { Address } from '../primitives/address.ts'
import { bigIntToMinimalBytes, bytesToBigInt, EMPTY_BYTES, equalBytes, writeBigInt } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../primitives/hash.ts'
import { Column, columnKey } from '../storage/columns.ts'
import { walkKeys } from './nativeDirectory.ts'
import { type Account, StateReadError, type StateReader } from './reader.ts'
import { writeNameAt } from './slotWords.ts'

// Keys and values of the flat state: one database entry for each account, slot and native entry.

const HAS_CODE = 0x80

export function accountKey(address: Address): Uint8Array {
  const key = new Uint8Array(21)
  key[0] = Column.account
  for (let i = 0; i < 20; i++) key[1 + i] = address[i]!
  return key
}

export function slotKey(address: Address, slot: Uint8Array): Uint8Array {
  const key = new Uint8Array(53)
  key[0] = Column.slot
  for (let i = 0; i < 20; i++) key[1 + i] = address[i]!
  for (let i = 0; i < 32; i++) key[21 + i] = slot[i]!
  return key
}

/** Takes the slot's name out of its {@link slotKey}. */
export function writeNameOfKey(name: Int32Array, key: Uint8Array): void {
  writeNameAt(name, key, 1, key, 21)
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
  const { codeHash } = account
  const nonceEnd = writeBigInt(scratch, 1, account.nonce)
  let end = writeBigInt(scratch, nonceEnd, account.balance)
  if (nonceEnd > 9 || end - nonceEnd > 32) throw new RangeError('a nonce has at most 8 bytes, a balance 32')
  scratch[0] = nonceEnd - 1
  if (!equalBytes(codeHash, EMPTY_CODE_HASH)) {
    scratch[0] |= HAS_CODE
    for (let i = 0; i < 32; i++) scratch[end + i] = codeHash[i]!
    end += 32
  }
  return scratch.slice(0, end)
}

/** Length of the nonce, 8 bytes of nonce, 32 of balance, code hash. */
const scratch = new Uint8Array(1 + 8 + 32 + 32)

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

/** Returns a count in minimal big-endian bytes; none for 0. */
export function encodeCount(count: number): Uint8Array {
  return bigIntToMinimalBytes(BigInt(count))
}

function decodeCount(bytes: Uint8Array): number {
  return Number(bytesToBigInt(bytes))
}

/** The source from which a `FlatReader` reads. */
interface FlatSource {
  /** value of a flat entry at the reader's height; undefined or no bytes when absent */
  value(key: Uint8Array): Uint8Array | undefined
  /** reads an account, if there is a faster way than decoding its flat entry */
  account?(address: Address): Account | undefined
  /** see `StateReader` */
  readonly knownSlot?: StateReader['knownSlot']
  code(hash: Hash): Uint8Array
}

/** The state as flat entries, at the head or at an older height. Errors of its source become a `StateReadError`. */
export class FlatReader implements StateReader {
  readonly knownSlot: StateReader['knownSlot']
  readonly #source: FlatSource

  constructor(source: FlatSource) {
    this.#source = source
    this.knownSlot = source.knownSlot
  }

  getAccount(address: Address): Account | undefined {
    if (this.#source.account === undefined) return decodeAccount(this.#value(accountKey(address)))
    try {
      return this.#source.account(address)
    } catch (cause) {
      throw new StateReadError(cause)
    }
  }

  getStorage(address: Address, slot: Uint8Array): Uint8Array {
    return this.#value(slotKey(address, slot))
  }

  storageCount(address: Address): number {
    return decodeCount(this.#value(slotCountKey(address)))
  }

  getCode(codeHash: Hash): Uint8Array {
    try {
      return this.#source.code(codeHash)
    } catch (cause) {
      throw new StateReadError(cause)
    }
  }

  getNative(key: Uint8Array): Uint8Array | undefined {
    const value = this.#value(nativeKey(key))
    return value.length === 0 ? undefined : value
  }

  *nativeRange(prefix: Uint8Array, start?: Uint8Array, reverse = false): Generator<Uint8Array, void, void> {
    try {
      yield* walkKeys((page) => this.#source.value(nativePageKey(page)), prefix, start, reverse)
    } catch (cause) {
      throw new StateReadError(cause)
    }
  }

  #value(key: Uint8Array): Uint8Array {
    try {
      return this.#source.value(key) ?? EMPTY_BYTES
    } catch (cause) {
      throw new StateReadError(cause)
    }
  }
}
