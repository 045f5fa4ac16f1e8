/**
 * Gas of the module's messages, by the records that they write at most (balances included) and the arithmetic between. A
 * withdrawal writes the validator's rewards, share and two historical ratios, the starting info, the fee pool and two balances.
 */
export const DISTRIBUTION_GAS = {
  setWithdrawAddress: 12_000n,
  withdrawRewards: 50_000n,
  withdrawCommission: 30_000n,
  fundCommunityPool: 20_000n,
  depositRewards: 30_000n,
  communityPoolSpend: 20_000n,
  updateParams: 12_000n,
} as const
