import { mcl, readElement, writeG1 } from './curves/bls12381.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const element = mcl.allocateFp()
const point = mcl.allocateG1()

/** 0x10: maps a field element to BLS12-381's G1 (EIP-2537, RFC 9380 with the cofactor cleared). */
export const bls12MapFpToG1: StandardPrecompile = {
  gas: () => 5_500n,
  run(input) {
    if (input.length !== 64) return 'invalid input length'
    const bad = readElement(input, 0, element)
    if (bad !== undefined) return bad
    mcl.f._mclBnFp_mapToG1(point, element)
    return writeG1(point)
  },
}
