import { bytesKey, EMPTY_BYTES, keyBytes, stripZeros } from '../../../src/primitives/bytes.ts'
import type { MemoryStateReader } from './memoryReader.ts'

interface ModelState {
  accounts: Map<string, { nonce: bigint; balance: bigint; code: string }>
  storage: Map<string, string>
  native: Map<string, string>
  original: Map<string, string>
  transient: Map<string, string>
  warm: Set<string>
  touched: Set<string>
  created: Set<string>
  destroyed: Set<string>
  logs: string[]
  events: string[]
  transfers: bigint[]
}

/** The world state done the obvious way: a checkpoint copies every map. */
export class ModelWorld {
  state: ModelState
  readonly #stack: ModelState[] = []

  constructor(base: MemoryStateReader) {
    this.state = emptyState()
    for (const { address, account, slots } of base.accounts()) {
      const code = bytesKey(base.getCode(account.codeHash))
      this.state.accounts.set(bytesKey(address), { nonce: account.nonce, balance: account.balance, code })
      for (const [slot, value] of slots) this.state.storage.set(slotKey(address, slot), bytesKey(value))
    }
    for (const key of base.nativeRange(EMPTY_BYTES)) {
      this.state.native.set(bytesKey(key), bytesKey(base.getNative(key)!))
    }
    this.state.original = new Map(this.state.storage)
  }

  get depth(): number {
    return this.#stack.length
  }

  checkpoint(): void {
    this.#stack.push(structuredClone(this.state))
  }

  commit(): void {
    this.#stack.pop()
  }

  revert(): void {
    this.state = this.#stack.pop()!
  }

  setAccount(address: Uint8Array, change: { nonce?: bigint; balance?: bigint; code?: Uint8Array }): void {
    const { accounts, touched } = this.state
    const before = accounts.get(bytesKey(address)) ?? { nonce: 0n, balance: 0n, code: '' }
    accounts.set(bytesKey(address), {
      nonce: change.nonce ?? before.nonce,
      balance: change.balance ?? before.balance,
      code: change.code === undefined ? before.code : bytesKey(change.code),
    })
    touched.add(bytesKey(address))
  }

  setStorage(address: Uint8Array, slot: Uint8Array, value: Uint8Array): void {
    if (!this.state.accounts.has(bytesKey(address))) this.setAccount(address, {})
    const bytes = bytesKey(stripZeros(value))
    if (bytes === '') this.state.storage.delete(slotKey(address, slot))
    else this.state.storage.set(slotKey(address, slot), bytes)
  }

  hasStorage(address: Uint8Array): boolean {
    return [...this.state.storage.keys()].some((key) => key.startsWith(bytesKey(address)))
  }

  clearStorage(address: Uint8Array): void {
    const keys = [...this.state.storage.keys()].filter((key) => key.startsWith(bytesKey(address)))
    for (const key of keys) this.state.storage.delete(key)
  }

  deleteAccount(address: Uint8Array): void {
    this.clearStorage(address)
    this.state.accounts.delete(bytesKey(address))
    this.state.touched.add(bytesKey(address))
  }

  beginTransaction(): void {
    const { accounts, storage, native } = this.state
    this.state = { ...emptyState(), accounts, storage, native, original: new Map(storage) }
  }

  endTransaction(clearEmpty: boolean): bigint {
    const { accounts, touched, destroyed } = this.state
    let burnt = 0n
    for (const key of destroyed) {
      burnt += accounts.get(key)?.balance ?? 0n
      this.deleteAccount(keyBytes(key))
    }
    for (const key of clearEmpty ? [...touched] : []) {
      const account = accounts.get(key)
      if (account !== undefined && account.nonce === 0n && account.balance === 0n && account.code === '') {
        this.deleteAccount(keyBytes(key))
      }
    }
    return burnt
  }
}

export function slotKey(address: Uint8Array, slot: Uint8Array): string {
  return bytesKey(address) + bytesKey(slot)
}

function emptyState(): ModelState {
  return {
    accounts: new Map(),
    storage: new Map(),
    native: new Map(),
    original: new Map(),
    transient: new Map(),
    warm: new Set(),
    touched: new Set(),
    created: new Set(),
    destroyed: new Set(),
    logs: [],
    events: [],
    transfers: [],
  }
}
