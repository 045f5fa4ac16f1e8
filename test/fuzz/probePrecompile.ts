import type { PrecompileResult, StatefulPrecompile } from '../../src/evm/precompile.ts'
import { concatBytes, EMPTY_BYTES, hexToBytes, padLeft } from '../../src/primitives/bytes.ts'

export const PROBE_ADDRESS = hexToBytes('0x0000000000000000000000000000000000000900')
const GAS = 1_000n
const SLOTS = 4

/**
 * A stateful precompile that does what the first byte of its input says and shows what an engine must have written to the world
 * before it calls one: storage, balance, nonce and code of the caller.
 */
export const probePrecompile: StatefulPrecompile = {
  address: PROBE_ADDRESS,
  leastGas: GAS,
  announcesWrites: true,
  run({ caller, value, data, isStatic, isDelegated, world, beforeWrite }): PrecompileResult {
    if (isDelegated) return { status: 'revert', output: Uint8Array.of(0xde), gasUsed: GAS }
    const slot = new Uint8Array(32).with(31, (data[1] ?? 0) % SLOTS)
    switch ((data[0] ?? 0) % 8) {
      case 0:
        return success(padLeft(world.getStorage(caller, slot), 32))
      case 1: {
        const facts = [world.getBalance(caller), world.getNonce(caller), BigInt(world.getCode(caller).length), value]
        return success(new TextEncoder().encode(facts.join()))
      }
      case 2:
      case 3:
        if (isStatic) return { status: 'failure', output: EMPTY_BYTES, gasUsed: GAS, failure: 'write protection' }
        beforeWrite()
        world.setStorage(PROBE_ADDRESS, slot, data.subarray(0, 32))
        world.emitLog({ address: PROBE_ADDRESS, topics: [padLeft(caller, 32)], data: data.slice(0, 64) })
        return success(concatBytes(world.getStorage(PROBE_ADDRESS, slot), caller))
      case 4:
        // gives back what it got, and a unit more if it has one
        if (isStatic) return { status: 'revert', output: caller, gasUsed: GAS }
        if (world.getBalance(PROBE_ADDRESS) > 0n) {
          beforeWrite()
          const amount = world.getBalance(PROBE_ADDRESS)
          world.subBalance(PROBE_ADDRESS, amount)
          world.addBalance(caller, amount)
        }
        return success(EMPTY_BYTES)
      case 5:
        beforeWrite()
        if (!isStatic) world.emitLog({ address: PROBE_ADDRESS, topics: [], data: EMPTY_BYTES })
        return { status: 'revert', output: data.slice(0, 70), gasUsed: GAS }
      case 6:
        beforeWrite()
        if (!isStatic) world.setStorage(PROBE_ADDRESS, slot, caller)
        return { status: 'failure', output: EMPTY_BYTES, gasUsed: GAS, failure: 'probe failed' }
      default:
        return success(data.slice(0, 200), GAS + BigInt(data.length) * 300n)
    }
  },
}

function success(output: Uint8Array, gasUsed = GAS): PrecompileResult {
  return { status: 'success', output, gasUsed }
}
