import { mcl, readG1, writeG1 } from './curves/bn254.ts'
import { padRight } from './padRight.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const point = mcl.allocateG1()
const scalar = mcl.allocateFr()
const scalarBytes = mcl.allocate(32)

/** 0x07: a point of bn254 times a scalar (EIP-196, gas of EIP-1108). */
export const bn254Mul: StandardPrecompile = {
  gas: () => 6_000n,
  run(input) {
    const data = padRight(input, 96)
    const bad = readG1(data, 0, point)
    if (bad !== undefined) return bad
    mcl.bytes.set(data.subarray(64), scalarBytes)
    mcl.f._mclBnFr_setBigEndianMod(scalar, scalarBytes, 32)
    mcl.f._mclBnG1_mul(point, point, scalar)
    return writeG1(point)
  },
}
