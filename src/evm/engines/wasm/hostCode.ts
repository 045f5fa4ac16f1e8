import { CODE_BYTES, RECORD_ADDRESS } from '../../../../assembly/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { bytesKey } from '../../../primitives/bytes.ts'
import type { RunState } from './runState.ts'

/** The engine's imports for code. An instance keeps the codes that it has run, by their hashes, until the engine frees them. */
export function codeImports(run: RunState) {
  const address: Address = new Uint8Array(20)
  const entries = new Map<string, number>()
  const keys = new Map<number, string>()

  return {
    loadCode(record: number): number {
      const { memory, world } = run
      memory.read(record + RECORD_ADDRESS, address)
      const key = bytesKey(world.getCodeHash(address)!)
      const known = entries.get(key)
      if (known !== undefined) return known
      const code = world.getCode(address)
      const entry = run.engine.newCode(code.length)
      memory.write(memory.view.getUint32(entry + CODE_BYTES, true), code)
      entries.set(key, entry)
      keys.set(entry, key)
      return entry
    },

    forgetCode(entry: number): void {
      const key = keys.get(entry)
      if (key === undefined) return
      keys.delete(entry)
      entries.delete(key)
    },

    setCode(addressAt: number, codeAt: number, length: number): void {
      const { memory, world } = run
      memory.read(addressAt, address)
      world.setCode(address, memory.bytes.subarray(codeAt, codeAt + length))
    },
  }
}
