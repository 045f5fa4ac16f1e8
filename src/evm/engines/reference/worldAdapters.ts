import type { AccountFields, StateManagerInterface } from '@ethereumjs/common'
import type { EVM } from '@ethereumjs/evm'
import { Account, type Address } from '@ethereumjs/util'
import type { Hardfork } from '../../../chain/genesis/hardfork.ts'
import { hexToBytes } from '../../../primitives/bytes.ts'
import { EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256 } from '../../../primitives/hash.ts'
import type { WorldState } from '../../../state/world.ts'
import { isStandardPrecompile } from '../../precompileAddresses.ts'

/** The part of its journal that `@ethereumjs/evm` calls. */
type EVMJournal = Pick<EVM['journal'], keyof EVM['journal']>

/**
 * Warmth, touched accounts and checkpoints of `@ethereumjs/evm`, all stored in the world. It counts
 * the open checkpoints, so that a run that breaks off can be unwound.
 */
export class WorldJournal implements EVMJournal {
  readonly #world: WorldState
  readonly #fork: Hardfork
  #open = 0

  constructor(world: WorldState, fork: Hardfork) {
    this.#world = world
    this.#fork = fork
  }

  /** Reverts every checkpoint that is still open. */
  unwind(): void {
    for (; this.#open > 0; this.#open--) this.#world.revert()
  }

  async checkpoint(): Promise<void> {
    this.#world.checkpoint()
    this.#open++
  }

  async commit(): Promise<void> {
    this.#open--
    this.#world.commit()
  }

  async revert(): Promise<void> {
    this.#open--
    this.#world.revert()
  }

  async putAccount(address: Address, account: Account | undefined): Promise<void> {
    const { bytes } = address
    if (account === undefined) {
      this.#world.deleteAccount(bytes)
      return
    }
    this.#world.setBalance(bytes, account.balance)
    if (account.nonce !== this.#world.getNonce(bytes)) this.#world.setNonce(bytes, account.nonce)
  }

  async deleteAccount(address: Address): Promise<void> {
    this.#world.deleteAccount(address.bytes)
  }

  isWarmedAddress(address: Uint8Array): boolean {
    return this.#world.isWarmAddress(address) || isStandardPrecompile(address, this.#fork)
  }

  addWarmedAddress(address: Uint8Array): void {
    this.#world.warmAddress(address)
  }

  isWarmedStorage(address: Uint8Array, slot: Uint8Array): boolean {
    return this.#world.isWarmSlot(address, slot)
  }

  addWarmedStorage(address: Uint8Array, slot: Uint8Array): void {
    this.#world.warmSlot(address, slot)
  }

  addAlwaysWarmAddress(address: string): void {
    this.#world.warmAddress(hexToBytes(address))
  }

  addAlwaysWarmSlot(address: string, slot: string): void {
    this.#world.warmSlot(hexToBytes(address), hexToBytes(slot))
  }

  startReportingAccessList(): void {}

  startReportingPreimages(): void {}

  /** Does nothing: the transition begins and ends transactions. */
  cleanJournal(): void {}

  async cleanup(): Promise<void> {}
}

/** The root of every storage that is not empty: the EVM only compares roots with the empty one (EIP-7610). */
const SOME_STORAGE_ROOT = keccak256(new Uint8Array(32))

/** An account as read from the world; whether it has storage is only looked up when asked. */
class WorldAccount extends Account {
  #world: WorldState | undefined
  #address: Uint8Array

  constructor(world: WorldState, address: Uint8Array) {
    super(
      world.getNonce(address),
      world.getBalance(address),
      EMPTY_TRIE_ROOT,
      world.getCodeHash(address) ?? EMPTY_CODE_HASH,
    )
    this.#world = world
    this.#address = address
  }

  override get storageRoot(): Uint8Array {
    return this.#world?.hasStorage(this.#address) === true ? SOME_STORAGE_ROOT : EMPTY_TRIE_ROOT
  }

  override set storageRoot(_root: Uint8Array) {
    throw new Error('the storage root belongs to the state')
  }
}

/** `@ethereumjs/evm`'s view of the world state. Nothing is cached here: the world is the only source of truth. */
export class WorldStateManager implements StateManagerInterface {
  readonly originalStorageCache = {
    get: async (address: Address, key: Uint8Array): Promise<Uint8Array> =>
      this.#world.getOriginalStorage(address.bytes, key),
    clear: (): void => {},
  }
  readonly #world: WorldState

  constructor(world: WorldState) {
    this.#world = world
  }

  async getAccount(address: Address): Promise<Account | undefined> {
    const { bytes } = address
    return this.#world.exists(bytes) ? new WorldAccount(this.#world, bytes) : undefined
  }

  async putAccount(address: Address, account?: Account): Promise<void> {
    if (account === undefined) this.#world.deleteAccount(address.bytes)
    else await this.modifyAccountFields(address, { nonce: account.nonce, balance: account.balance })
  }

  async deleteAccount(address: Address): Promise<void> {
    this.#world.deleteAccount(address.bytes)
  }

  async modifyAccountFields(address: Address, fields: AccountFields): Promise<void> {
    const { bytes } = address
    const { nonce, balance } = fields
    if (balance !== undefined) this.#world.setBalance(bytes, balance)
    if (nonce !== undefined && nonce !== this.#world.getNonce(bytes)) this.#world.setNonce(bytes, nonce)
  }

  async putCode(address: Address, code: Uint8Array): Promise<void> {
    this.#world.setCode(address.bytes, code)
  }

  async getCode(address: Address): Promise<Uint8Array> {
    return this.#world.getCode(address.bytes)
  }

  async getCodeSize(address: Address): Promise<number> {
    return this.#world.getCode(address.bytes).length
  }

  async getStorage(address: Address, key: Uint8Array): Promise<Uint8Array> {
    return this.#world.getStorage(address.bytes, key)
  }

  async putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    this.#world.setStorage(address.bytes, key, value)
  }

  /** Clears the storage of an account. The EVM does so only at the start of a creation. */
  async clearStorage(address: Address): Promise<void> {
    this.#world.clearStorage(address.bytes)
    this.#world.markCreated(address.bytes)
  }

  async checkpoint(): Promise<void> {
    this.#world.checkpoint()
  }

  async commit(): Promise<void> {
    this.#world.commit()
  }

  async revert(): Promise<void> {
    this.#world.revert()
  }

  getStateRoot(): Promise<Uint8Array> {
    return notForTheEVM()
  }

  setStateRoot(): Promise<void> {
    return notForTheEVM()
  }

  hasStateRoot(): Promise<boolean> {
    return notForTheEVM()
  }

  clearCaches(): void {}

  shallowCopy(): StateManagerInterface {
    return new WorldStateManager(this.#world)
  }
}

async function notForTheEVM(): Promise<never> {
  throw new Error('state roots are computed by the block executor')
}

type EVMTransientStorage = Pick<EVM['transientStorage'], keyof EVM['transientStorage']>

/** EIP-1153 storage of `@ethereumjs/evm` in the world, whose checkpoints cover it. */
export class WorldTransientStorage implements EVMTransientStorage {
  readonly #world: WorldState

  constructor(world: WorldState) {
    this.#world = world
  }

  get(address: Address, key: Uint8Array): Uint8Array {
    return this.#world.getTransient(address.bytes, key)
  }

  put(address: Address, key: Uint8Array, value: Uint8Array): void {
    this.#world.setTransient(address.bytes, key, value)
  }

  checkpoint(): void {}

  commit(): void {}

  revert(): void {}

  /** Does nothing: transient storage is cleared with the transaction. */
  clear(): void {}

  toJSON(): { [address: string]: { [key: string]: string } } {
    return {}
  }
}
