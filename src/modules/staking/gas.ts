/**
 * Gas of the module's messages: half of what EVM storage would ask for the records that they write at most. A delegation pays
 * rewards (see distribution/gas.ts) and writes the validator, its place among powers, the delegation with its index and two
 * balances; undelegating adds an entry, its index and its place in the queue; redelegating is both, at two validators.
 */
export const STAKING_GAS = {
  createValidator: 100_000n,
  editValidator: 25_000n,
  delegate: 60_000n,
  undelegate: 70_000n,
  beginRedelegate: 120_000n,
  cancelUnbonding: 60_000n,
  updateParams: 12_000n,
} as const
