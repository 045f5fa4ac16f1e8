import type { Hardfork } from '../../chain/hardfork.ts'
import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { PrecompileResult } from '../precompile.ts'
import { type PrecompileGas, takePrecompileGas, takesPrecompileGas } from '../precompileGas.ts'
import { blake2F } from './blake2F.ts'
import { bls12G1Add } from './bls12G1Add.ts'
import { bls12G1Msm } from './bls12G1Msm.ts'
import { bls12G2Add } from './bls12G2Add.ts'
import { bls12G2Msm } from './bls12G2Msm.ts'
import { bls12MapFp2ToG2 } from './bls12MapFp2ToG2.ts'
import { bls12MapFpToG1 } from './bls12MapFpToG1.ts'
import { bls12Pairing } from './bls12Pairing.ts'
import { bn254Add } from './bn254Add.ts'
import { bn254Mul } from './bn254Mul.ts'
import { bn254Pairing } from './bn254Pairing.ts'
import { ecrecover } from './ecrecover.ts'
import { identity } from './identity.ts'
import { modexp } from './modexp.ts'
import { p256Verify } from './p256Verify.ts'
import { pointEvaluation } from './pointEvaluation.ts'
import { ripemd160 } from './ripemd160.ts'
import { sha256 } from './sha256.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

/** By the last byte of the address, from 0x01 on. */
const BY_NUMBER: readonly StandardPrecompile[] = [
  ecrecover,
  sha256,
  ripemd160,
  identity,
  modexp,
  bn254Add,
  bn254Mul,
  bn254Pairing,
  blake2F,
  pointEvaluation,
  bls12G1Add,
  bls12G1Msm,
  bls12G2Add,
  bls12G2Msm,
  bls12Pairing,
  bls12MapFpToG1,
  bls12MapFp2ToG2,
]

/**
 * Runs one of Ethereum's precompiles, with the gas of Berlin to Osaka. A failure takes all gas. The output is the caller's to
 * keep; `input` is only read during the call, so it may be a view of memory that changes afterwards.
 *
 * `address` is one of which `isStandardPrecompile(address, fork)` holds. `precompileGas` is what the block has left.
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

/** Gas of a call of one of Ethereum's precompiles. @throws Error when `address` has none */
export function standardPrecompileGas(address: Address, input: Uint8Array, fork: Hardfork): bigint {
  return precompileAt(address).gas(input, fork)
}

function precompileAt(address: Address): StandardPrecompile {
  const number = address[18]! * 256 + address[19]!
  const precompile = number === 0x100 ? p256Verify : BY_NUMBER[number - 1]
  if (precompile === undefined) throw new Error(`no precompile has the number ${number}`)
  return precompile
}

function failed(failure: string, gasLimit: bigint): PrecompileResult {
  return { status: 'failure', output: EMPTY_BYTES, gasUsed: gasLimit, failure }
}
