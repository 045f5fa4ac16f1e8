import type { Address } from '../primitives/address.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { accountKey, decodeAccount, decodeCount, nativeKey, nativePageKey, slotCountKey, slotKey } from './flatCodec.ts'
import { walkKeys } from './nativeDirectory.ts'
import type { Account, StateReader } from './reader.ts'
import { StateReadError } from './stateReadError.ts'

/** How a `FlatReader` gets at entries. */
export interface FlatSource {
  /** value of a flat entry at the height in question; undefined or no bytes when absent */
  value(key: Uint8Array): Uint8Array | undefined
  /** an account, where there is a faster way to it than its entry */
  account?(address: Address): Account | undefined
  code(hash: Hash): Uint8Array
}

/** The state as flat entries, at the head or at a height of the history. What its source throws becomes a `StateReadError`. */
export class FlatReader implements StateReader {
  readonly #source: FlatSource

  constructor(source: FlatSource) {
    this.#source = source
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
