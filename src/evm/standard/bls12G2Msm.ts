import { G2_LENGTH, mcl, readG2OfOrder, writeG2 } from './curves/bls12381.ts'
import { MultiScalar } from './curves/multiScalar.ts'
import { G2_DISCOUNTS, msmGas } from './msmGas.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const PAIR_LENGTH = G2_LENGTH + 32

const multiScalar = new MultiScalar(mcl, 'G2')

/** 0x0e: the sum of points of BLS12-381's G2 times scalars (EIP-2537). */
export const bls12G2Msm: StandardPrecompile = {
  gas: (input) => msmGas(Math.floor(input.length / PAIR_LENGTH), 22_500, G2_DISCOUNTS),
  run(input) {
    if (input.length === 0 || input.length % PAIR_LENGTH !== 0) return 'invalid input length'
    multiScalar.begin()
    for (let start = 0; start < input.length; start += PAIR_LENGTH) {
      const bad = readG2OfOrder(input, start, multiScalar.nextPoint)
      if (bad !== undefined) return bad
      multiScalar.push(input, start + G2_LENGTH)
    }
    multiScalar.end()
    return writeG2(multiScalar.sum)
  },
}
