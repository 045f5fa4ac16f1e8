import { mcl, readElement, writeG2 } from './curves/bls12381.ts'
import { FP_SIZE } from './curves/mcl.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const element = mcl.allocateFp(2)
const point = mcl.allocateG2()

/** 0x11: maps an element of Fp2 to BLS12-381's G2 (EIP-2537, RFC 9380 with the cofactor cleared). */
export const bls12MapFp2ToG2: StandardPrecompile = {
  gas: () => 23_800n,
  run(input) {
    if (input.length !== 128) return 'invalid input length'
    const bad = readElement(input, 0, element) ?? readElement(input, 64, element + FP_SIZE)
    if (bad !== undefined) return bad
    mcl.f._mclBnFp2_mapToG2(point, element)
    return writeG2(point)
  },
}
