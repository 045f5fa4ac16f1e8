import type { FeeMarket } from '../genesis/chainConfig.ts'
import { type Hardfork, includesFork } from '../genesis/hardfork.ts'

/**
 * Returns the base fee of the block after `parent`, in wei per gas: EIP-1559 with the chain's
 * elasticity and change denominator, never below the chain's minimum. After a block without a base
 * fee it is the initial one.
 */
export function nextBaseFee(
  {
    baseFeePerGas,
    gasUsed,
    gasLimit,
  }: {
    /** undefined before London */
    readonly baseFeePerGas: bigint | undefined
    readonly gasUsed: bigint
    readonly gasLimit: bigint
  },
  market: FeeMarket,
): bigint {
  if (baseFeePerGas === undefined) return market.initialBaseFee
  const fee = unboundedNextBaseFee({ baseFeePerGas, gasUsed, gasLimit }, market)
  return fee < market.minimumBaseFee ? market.minimumBaseFee : fee
}

function unboundedNextBaseFee(
  { baseFeePerGas, gasUsed, gasLimit }: { baseFeePerGas: bigint; gasUsed: bigint; gasLimit: bigint },
  { elasticity, changeDenominator }: Pick<FeeMarket, 'elasticity' | 'changeDenominator'>,
): bigint {
  const target = gasLimit / elasticity
  if (gasUsed === target || target === 0n) return baseFeePerGas
  if (gasUsed > target) {
    const rise = (baseFeePerGas * (gasUsed - target)) / target / changeDenominator
    return baseFeePerGas + (rise > 1n ? rise : 1n)
  }
  return baseFeePerGas - (baseFeePerGas * (target - gasUsed)) / target / changeDenominator
}

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
