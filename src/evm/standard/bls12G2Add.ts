import { mcl, readG2, writeG2 } from './curves/bls12381.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const a = mcl.allocateG2()
const b = mcl.allocateG2()

/** 0x0d: the sum of two points of BLS12-381's G2 (EIP-2537), which need not be in the subgroup. */
export const bls12G2Add: StandardPrecompile = {
  gas: () => 600n,
  run(input) {
    if (input.length !== 512) return 'invalid input length'
    const bad = readG2(input, 0, a) ?? readG2(input, 256, b)
    if (bad !== undefined) return bad
    mcl.f._mclBnG2_add(a, a, b)
    return writeG2(a)
  },
}
