import type { FeeMarket } from './chainConfig.ts'

/**
 * Base fee of the block after `parent`, in wei per gas: EIP-1559 with the chain's elasticity and change denominator, never
 * below the chain's minimum.
 */
export function nextBaseFee(
  parent: { readonly baseFeePerGas: bigint; readonly gasUsed: bigint; readonly gasLimit: bigint },
  market: Pick<FeeMarket, 'elasticity' | 'changeDenominator' | 'minimumBaseFee'>,
): bigint {
  const fee = unboundedNextBaseFee(parent, market)
  return fee < market.minimumBaseFee ? market.minimumBaseFee : fee
}

function unboundedNextBaseFee(
  { baseFeePerGas, gasUsed, gasLimit }: Parameters<typeof nextBaseFee>[0],
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
