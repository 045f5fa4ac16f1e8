import type { Address } from '../../../src/primitives/address.ts'
import { bytesKey, compareKeys, EMPTY_BYTES, keyBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash, keccak256 } from '../../../src/primitives/hash.ts'
import type { StateChanges } from '../../../src/state/changes.ts'
import type { Account, StateReader } from '../../../src/state/reader.ts'
import { ADDRESS_WORDS, keyBytesOf, writeValue } from '../../../src/state/slotWords.ts'
import { walkStart } from '../../../src/state/sortedKeys.ts'

/** A whole state in maps: for tests and harnesses that need no database. */
export class MemoryStateReader implements StateReader {
  readonly #accounts = new Map<string, Account>()
  readonly #storage = new Map<string, Map<string, Uint8Array>>()
  readonly #codes = new Map<string, Uint8Array>([[bytesKey(EMPTY_CODE_HASH), EMPTY_BYTES]])
  readonly #native = new Map<string, Uint8Array>()
  /** the native keys in order, once they were asked for */
  #sorted: readonly string[] | undefined

  getAccount(address: Address): Account | undefined {
    return this.#accounts.get(bytesKey(address))
  }

  getStorage(address: Address, slot: Uint8Array): Uint8Array {
    return this.#storage.get(bytesKey(address))?.get(bytesKey(slot)) ?? EMPTY_BYTES
  }

  /** For slots of odd keys, so that tests go both ways. */
  knownSlot(name: Int32Array, value: Int32Array): boolean {
    if ((name[ADDRESS_WORDS]! & 1) === 0) return false
    const words = name.subarray(0, ADDRESS_WORDS)
    const address = new Uint8Array(words.slice().buffer)
    writeValue(value, this.getStorage(address, keyBytesOf(name)))
    return true
  }

  storageCount(address: Address): number {
    return this.#storage.get(bytesKey(address))?.size ?? 0
  }

  /** @throws Error when no account ever had code with this hash */
  getCode(codeHash: Hash): Uint8Array {
    const code = this.#codes.get(bytesKey(codeHash))
    if (code === undefined) throw new Error('unknown code hash')
    return code
  }

  getNative(key: Uint8Array): Uint8Array | undefined {
    return this.#native.get(bytesKey(key))
  }

  *nativeRange(prefix: Uint8Array, start?: Uint8Array, reverse = false): Generator<Uint8Array, void, void> {
    this.#sorted ??= [...this.#native.keys()].sort(compareKeys)
    const sorted = this.#sorted
    const name = bytesKey(prefix)
    for (let i = walkStart(sorted, name, start && bytesKey(start), reverse); ; i += reverse ? -1 : 1) {
      const key = sorted[i]
      if (key === undefined || !key.startsWith(name)) return
      yield keyBytes(key)
    }
  }

  /** Sets an account and its code (none by default). */
  setAccount(address: Address, fields: { nonce?: bigint; balance?: bigint; code?: Uint8Array }): void {
    const { nonce = 0n, balance = 0n, code = EMPTY_BYTES } = fields
    const codeHash = keccak256(code)
    this.#codes.set(bytesKey(codeHash), code)
    this.#accounts.set(bytesKey(address), { nonce, balance, codeHash })
  }

  /** `value` in minimal big-endian bytes; none deletes the slot. */
  setStorage(address: Address, slot: Uint8Array, value: Uint8Array): void {
    const key = bytesKey(address)
    const slots = this.#storage.get(key) ?? new Map<string, Uint8Array>()
    if (value.length === 0) slots.delete(bytesKey(slot))
    else slots.set(bytesKey(slot), value)
    if (slots.size === 0) this.#storage.delete(key)
    else this.#storage.set(key, slots)
  }

  setNative(key: Uint8Array, value: Uint8Array | undefined): void {
    if ((value === undefined) === this.#native.has(bytesKey(key))) this.#sorted = undefined
    if (value === undefined) this.#native.delete(bytesKey(key))
    else this.#native.set(bytesKey(key), value)
  }

  /** Every account with its slots, sorted by address and slot. */
  *accounts(): IterableIterator<{
    address: Address
    account: Account
    slots: readonly (readonly [Uint8Array, Uint8Array])[]
  }> {
    for (const key of [...this.#accounts.keys()].sort(compareKeys)) {
      const slots = [...(this.#storage.get(key) ?? [])].sort((a, b) => compareKeys(a[0], b[0]))
      yield {
        address: keyBytes(key),
        account: this.#accounts.get(key)!,
        slots: slots.map(([slot, value]) => [keyBytes(slot), value] as const),
      }
    }
  }

  /** Another state that has `changes` too. */
  with(changes: StateChanges): MemoryStateReader {
    const copy = new MemoryStateReader()
    for (const [key, account] of this.#accounts) copy.#accounts.set(key, account)
    for (const [key, slots] of this.#storage) copy.#storage.set(key, new Map(slots))
    for (const [key, code] of this.#codes) copy.#codes.set(key, code)
    for (const [key, value] of this.#native) copy.#native.set(key, value)
    copy.apply(changes)
    return copy
  }

  /** Makes `changes` part of this state. A journal that stands on it must not be used any more. */
  apply(changes: StateChanges): void {
    for (const { hash, code } of changes.codes) this.#codes.set(bytesKey(hash), code)
    for (const { address, current, wiped, slots } of changes.accounts) {
      if (wiped) this.#storage.delete(bytesKey(address))
      for (const { slot, current: value } of slots) this.setStorage(address, slot, value)
      if (current === undefined) this.#accounts.delete(bytesKey(address))
      else this.#accounts.set(bytesKey(address), current)
    }
    for (const { key, current } of changes.native) this.setNative(key, current)
  }
}
