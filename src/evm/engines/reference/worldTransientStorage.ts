import type { EVM } from '@ethereumjs/evm'
import type { Address } from '@ethereumjs/util'
import type { WorldState } from '../../../state/world.ts'

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

  /** Cleared with the transaction. */
  clear(): void {}

  toJSON(): { [address: string]: { [key: string]: string } } {
    return {}
  }
}
