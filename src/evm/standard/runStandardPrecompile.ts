import type { Hardfork } from '../../chain/genesis/hardfork.ts'
import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { PrecompileResult } from '../precompile.ts'
import { type PrecompileGas, takePrecompileGas, takesPrecompileGas } from '../precompileGas.ts'
import { blake2fPrecompile } from './blake2f.ts'
import {
  bls12G1Add,
  bls12G1Msm,
  bls12G2Add,
  bls12G2Msm,
  bls12MapFp2ToG2,
  bls12MapFpToG1,
  bls12Pairing,
} from './bls12381.ts'
import { bn254Add, bn254Mul, bn254Pairing } from './bn254.ts'
import { ecrecover } from './ecrecover.ts'
import { identity, ripemd160, sha256 } from './hashes.ts'
import { modexp } from './modexp.ts'
import { p256Verify } from './p256.ts'
import { pointEvaluation } from './pointEvaluation.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

/** Ethereum's precompiles by the number that their address is. */
const BY_NUMBER: Readonly<Record<number, StandardPrecompile>> = {
  1: ecrecover,
  2: sha256,
  3: ripemd160,
  4: identity,
  5: modexp,
  6: bn254Add,
  7: bn254Mul,
  8: bn254Pairing,
  9: blake2fPrecompile,
  10: pointEvaluation,
  11: bls12G1Add,
  12: bls12G1Msm,
  13: bls12G2Add,
  14: bls12G2Msm,
  15: bls12Pairing,
  16: bls12MapFpToG1,
  17: bls12MapFp2ToG2,
  256: p256Verify,
}

/**
 * Runs one of Ethereum's precompiles, with the gas of Berlin to Osaka. A failure takes all gas. The output is the caller's to
 * keep; `input` is only read during the call, so it may be a view of memory that changes afterwards.
 *
 * `isStandardPrecompile(address, fork)` must hold. `precompileGas` is what the block has left.
 * @throws Error when `address` has no precompile at all
 */
export function runStandardPrecompile(
  address: Address,
  input: Uint8Array,
  gasLimit: bigint,
  fork: Hardfork,
  precompileGas?: PrecompileGas,
): PrecompileResult {
  const precompile = precompileAt(address)
  const gasUsed = precompile.gas(input, fork)
  if (gasUsed > gasLimit) return failed('out of gas', gasLimit)
  if (precompileGas !== undefined && takesPrecompileGas(address)) {
    if (!takePrecompileGas(precompileGas, gasUsed, gasLimit)) return failed('out of gas', gasLimit)
  }
  const output = precompile.run(input, fork)
  if (typeof output === 'string') return failed(output, gasLimit)
  return { status: 'success', output, gasUsed }
}

/** Returns the gas of a call to one of Ethereum's precompiles. @throws Error when `address` is not a precompile */
export function standardPrecompileGas(address: Address, input: Uint8Array, fork: Hardfork): bigint {
  return precompileAt(address).gas(input, fork)
}

function precompileAt(address: Address): StandardPrecompile {
  const number = address[18]! * 256 + address[19]!
  const precompile = BY_NUMBER[number]
  if (precompile === undefined) throw new Error(`no precompile has the number ${number}`)
  return precompile
}

function failed(failure: string, gasLimit: bigint): PrecompileResult {
  return { status: 'failure', output: EMPTY_BYTES, gasUsed: gasLimit, failure }
}
