import type { FeeMarket } from './chainConfig.ts'

/**
 * Base fee of the block after `parent`, in wei per gas: EIP-1559 with the chain's elasticity and change denominator, never
 * below the chain's minimum; the initial one after a block without.
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
