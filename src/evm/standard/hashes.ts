import { hash } from 'node:crypto'
import { createRIPEMD160 } from 'hash-wasm'
import { sha256 as hashShort } from '../../primitives/hash.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

/** From this length on OpenSSL is worth the cost of a call to it; at 64 KB it is five times as fast as WebAssembly. */
const LONG = 128

/** 0x02: SHA2-256 (yellow paper, appendix E.1). */
export const sha256: StandardPrecompile = {
  gas: (input) => wordGas(input.length, 60, 12),
  run(input) {
    if (input.length < LONG) return hashShort(input)
    const digest = hash('sha256', input, 'buffer')
    return new Uint8Array(digest.buffer, digest.byteOffset, digest.length)
  },
}

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

/** 0x04: the input (yellow paper, appendix E.1). */
export const identity: StandardPrecompile = {
  gas: (input) => wordGas(input.length, 15, 3),
  // not slice(), which of a Buffer is a view
  run: (input) => new Uint8Array(input),
}

/** Returns the gas of a precompile whose price is `base` and `perWord` for each 32 bytes begun. */
function wordGas(length: number, base: number, perWord: number): bigint {
  return BigInt(base + perWord * Math.ceil(length / 32))
}
