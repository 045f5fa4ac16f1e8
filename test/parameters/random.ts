import { bigIntToBytes, bytesToBigInt, concatBytes } from '../../src/primitives/bytes.ts'
import { sha256 } from '../../src/primitives/hash.ts'

/** Numbers that follow from a seed. */
export interface Random {
  /** from 0 to `bound` - 1 */
  below(bound: number): number
  pick<T>(values: readonly T[]): T
}

/** The same numbers for the same seeds: blocks that are executed again choose the same. */
export function createRandom(...seeds: readonly number[]): Random {
  let state = sha256(concatBytes(...seeds.map((seed) => bigIntToBytes(BigInt(seed), 8))))
  let at = 0
  const below = (bound: number): number => {
    if (at === 32) {
      state = sha256(state)
      at = 0
    }
    const word = bytesToBigInt(state.subarray(at, at + 4))
    at += 4
    return Number(word % BigInt(bound))
  }
  return { below, pick: (values) => values[below(values.length)]! }
}
