import type { Address } from '../primitives/address.ts'

/** Coins that moved from one account to another. */
export interface ValueTransfer {
  readonly from: Address
  readonly to: Address
  /** more than 0 */
  readonly amountAcoin: bigint
}
