import { blake2f } from '../blake2f.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const LENGTH = 213

/** 0x09: the compression function of BLAKE2b (EIP-152), 1 gas a round. */
export const blake2F: StandardPrecompile = {
  gas(input) {
    if (input.length !== LENGTH) return 0n
    return BigInt(((input[0]! << 24) | (input[1]! << 16) | (input[2]! << 8) | input[3]!) >>> 0)
  },
  run(input) {
    if (input.length !== LENGTH) return 'invalid input length'
    if (input[LENGTH - 1]! > 1) return 'invalid final flag'
    return blake2f(input)
  },
}
