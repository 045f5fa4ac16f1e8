import { mcl, readG1, writeG1 } from './curves/bls12381.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const a = mcl.allocateG1()
const b = mcl.allocateG1()

/** 0x0b: the sum of two points of BLS12-381's G1 (EIP-2537), which need not be in the subgroup. */
export const bls12G1Add: StandardPrecompile = {
  gas: () => 375n,
  run(input) {
    if (input.length !== 256) return 'invalid input length'
    const bad = readG1(input, 0, a) ?? readG1(input, 128, b)
    if (bad !== undefined) return bad
    mcl.f._mclBnG1_add(a, a, b)
    return writeG1(a)
  },
}
