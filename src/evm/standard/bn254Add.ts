import { mcl, readG1, writeG1 } from './curves/bn254.ts'
import { padRight } from './padRight.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

const a = mcl.allocateG1()
const b = mcl.allocateG1()

/** 0x06: the sum of two points of bn254 (EIP-196, gas of EIP-1108). */
export const bn254Add: StandardPrecompile = {
  gas: () => 150n,
  run(input) {
    const data = padRight(input, 128)
    const bad = readG1(data, 0, a) ?? readG1(data, 64, b)
    if (bad !== undefined) return bad
    mcl.f._mclBnG1_add(a, a, b)
    return writeG1(a)
  },
}
