import { type Hardfork, includesFork } from './hardfork.ts'

/** EIP-4844's fake_exponential with its MIN_BLOB_BASE_FEE of 1 wei; EIP-7691 changed the update fraction in Prague. */
export function blobBaseFee(excessBlobGas: bigint, fork: Hardfork): bigint {
  const denominator = includesFork(fork, 'prague') ? 5_007_716n : 3_338_477n
  let output = 0n
  let term = denominator
  for (let i = 1n; term > 0n; i++) {
    output += term
    term = (term * excessBlobGas) / (denominator * i)
  }
  return output / denominator
}
