import { type Hardfork, includesFork } from '../../chain/hardfork.ts'

/** What the header of MODEXP's input says, and the exponent's first 32 bytes (fewer when it is shorter). */
export interface ModexpSizes {
  readonly baseLength: bigint
  readonly exponentLength: bigint
  readonly modulusLength: bigint
  readonly exponentHead: bigint
}

/** Gas of MODEXP: EIP-2565, from Osaka on EIP-7883. Exact for every size, most of which no gas limit reaches. */
export function modexpGas(sizes: ModexpSizes, fork: Hardfork): bigint {
  const { baseLength, exponentLength, modulusLength, exponentHead } = sizes
  const isOsaka = includesFork(fork, 'osaka')
  const longest = baseLength > modulusLength ? baseLength : modulusLength
  const words = (longest + 7n) / 8n
  const excess = exponentLength > 32n ? exponentLength - 32n : 0n
  let iterations = excess * (isOsaka ? 16n : 8n) + BigInt(Math.max(bitLength(exponentHead) - 1, 0))
  if (iterations < 1n) iterations = 1n
  if (isOsaka) {
    const gas = (longest > 32n ? 2n * words * words : 16n) * iterations
    return gas > 500n ? gas : 500n
  }
  const gas = (words * words * iterations) / 3n
  return gas > 200n ? gas : 200n
}

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length
}
