import { createRIPEMD160 } from 'hash-wasm'
import type { StandardPrecompile } from './standardPrecompile.ts'
import { wordGas } from './wordGas.ts'

const hasher = await createRIPEMD160()

/** 0x03: RIPEMD-160, padded to a word (yellow paper, appendix E.1). */
export const ripemd160: StandardPrecompile = {
  gas: (input) => wordGas(input.length, 600, 120),
  run(input) {
    const output = new Uint8Array(32)
    output.set(hasher.init().update(input).digest('binary'), 12)
    return output
  },
}
