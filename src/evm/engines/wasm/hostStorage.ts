import { STORE_ENTRY } from '../../../../assembly/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import type { RunState } from './runState.ts'

const KEY = 32
const VALUE = 64

/** The engine's imports for storage. The world copies what it keeps. */
export function storageImports(run: RunState) {
  const address: Address = new Uint8Array(20)
  const key = new Uint8Array(32)
  const stored = new Uint8Array(32)

  return {
    loadSlot(addressAt: number, keyAt: number, out: number): number {
      const { memory, world } = run
      memory.read(addressAt, address)
      memory.read(keyAt, key)
      const { value, original, isWarm } = world.readSlot(address, key)
      memory.writeBytesAsWord(out, value)
      memory.writeBytesAsWord(out + KEY, original)
      return isWarm ? 1 : 0
    },

    isWarmSlot(addressAt: number, keyAt: number): number {
      const { memory, world } = run
      return world.isWarmSlot(memory.read(addressAt, address), memory.read(keyAt, key)) ? 1 : 0
    },

    storeSlots(list: number, count: number): void {
      const { memory, world } = run
      for (let entry = list; entry < list + count * STORE_ENTRY; entry += STORE_ENTRY) {
        memory.read(entry, address)
        memory.read(entry + KEY, key)
        world.setStorage(address, key, memory.read(entry + VALUE, stored))
      }
    },
  }
}
