import { bytesToHex } from '../../src/primitives/bytes.ts'
import { precompileInputs } from '../precompileInputs.ts'
import { helper, loop, type Program } from './program.ts'

/** Calls of Ethereum's precompiles with the inputs of bench/precompiles.ts, in memory once and for all. */
export function precompilePrograms(): Program[] {
  return precompileInputs().map(({ name, number, precompile, input }) => {
    const source = helper(1, input)
    return loop(`${precompile}: ${name}`, `0 0 ${input.length} 0 ${number} GAS STATICCALL POP`, {
      setup: `${input.length} 0 0 ${bytesToHex(source.address)} EXTCODECOPY`,
      helpers: [source],
      unroll: 8,
    })
  })
}
