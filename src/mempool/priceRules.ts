import type { Prices } from './poolEntry.ts'

/*
 * How prices are compared: the effective tip orders transactions for blocks (selection.ts) and decides which one a full pool
 * evicts (evictionOrder.ts); a replacement has to outbid the transaction with its nonce (validateAdmission.ts).
 */

/** Returns the proposer's earnings per gas at this base fee, in wei (EIP-1559); negative when the fee cap is below the base fee. */
export function effectiveTip({ maxFeePerGas, maxPriorityFeePerGas }: Prices, baseFeePerGas: bigint): bigint {
  const room = maxFeePerGas - baseFeePerGas
  return room < maxPriorityFeePerGas ? room : maxPriorityFeePerGas
}

/** A new fee must exceed the replaced one's by this many percent. */
const PRICE_BUMP = 10n

/** Whether `next` may replace `old`, of the same nonce: both fees are higher, by at least 10 % (geth: legacypool `list.Add`). */
export function outbids(next: Prices, old: Prices): boolean {
  return isBumped(next.maxFeePerGas, old.maxFeePerGas) && isBumped(next.maxPriorityFeePerGas, old.maxPriorityFeePerGas)
}

function isBumped(next: bigint, old: bigint): boolean {
  return next > old && next >= (old * (100n + PRICE_BUMP)) / 100n
}
