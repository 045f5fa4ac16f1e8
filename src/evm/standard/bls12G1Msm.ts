import { G1_LENGTH, mcl, readG1OfOrder, writeG1 } from './curves/bls12381.ts'
import { MultiScalar } from './curves/multiScalar.ts'
import { G1_DISCOUNTS, msmGas } from './msmGas.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const PAIR_LENGTH = G1_LENGTH + 32

const multiScalar = new MultiScalar(mcl, 'G1')

/** 0x0c: the sum of points of BLS12-381's G1 times scalars (EIP-2537). */
export const bls12G1Msm: StandardPrecompile = {
  gas: (input) => msmGas(Math.floor(input.length / PAIR_LENGTH), 12_000, G1_DISCOUNTS),
  run(input) {
    if (input.length === 0 || input.length % PAIR_LENGTH !== 0) return 'invalid input length'
    multiScalar.begin()
    for (let start = 0; start < input.length; start += PAIR_LENGTH) {
      const bad = readG1OfOrder(input, start, multiScalar.nextPoint)
      if (bad !== undefined) return bad
      multiScalar.push(input, start + G1_LENGTH)
    }
    multiScalar.end()
    return writeG1(multiScalar.sum)
  },
}
