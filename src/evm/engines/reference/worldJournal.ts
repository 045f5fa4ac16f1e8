import type { EVM } from '@ethereumjs/evm'
import type { Account, Address } from '@ethereumjs/util'
import type { Hardfork } from '../../../chain/hardfork.ts'
import { hexToBytes } from '../../../primitives/bytes.ts'
import type { WorldState } from '../../../state/world.ts'
import { isStandardPrecompile } from '../../precompileAddresses.ts'

/** What `@ethereumjs/evm` asks of its journal. */
type EVMJournal = Pick<EVM['journal'], keyof EVM['journal']>

/**
 * Warmth, touched accounts and checkpoints of `@ethereumjs/evm`, all kept by the world. It counts the checkpoints that are
 * open, so that a run that breaks off can be unwound.
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

  /** The transition begins and ends transactions. */
  cleanJournal(): void {}

  async cleanup(): Promise<void> {}
}
