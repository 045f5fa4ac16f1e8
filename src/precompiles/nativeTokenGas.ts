/**
 * Gas of each function of the native token, charged whatever the state is, so that an estimate is exact. Each is at least
 * what the same call costs on an OpenZeppelin 5 ERC20 with nothing warm: a price below it would make this contract a
 * cheap way to grow the state. `transfer` may create an account, so it pays for a new holder.
 *
 * | function     | OpenZeppelin ERC20, cold (execution gas)                           | here   |
 * |--------------|--------------------------------------------------------------------|--------|
 * | name, symbol | 3,086 (two storage reads; constants here)                          | 500    |
 * | decimals     | 176                                                                | 200    |
 * | totalSupply  | 2,325                                                              | 2,400  |
 * | balanceOf    | 2,559 (a cold account, as BALANCE reads it, is 2,600)              | 2,800  |
 * | allowance    | 2,810                                                              | 2,900  |
 * | transfer     | 29,181 to a new holder, 12,081 to an old one                       | 30,000 |
 * | approve      | 24,734 for a new allowance, 7,634 for a change                     | 25,000 |
 * | transferFrom | 34,157 to a new holder, and 1,756 for the Approval event           | 37,000 |
 * | deposit      | 6,700 (a call with value, beyond its stipend), 1,381 for the event | 10,000 |
 * | withdraw     | 2,600 for the balance, 1,381 for the event                         | 5,000  |
 */
export const NATIVE_TOKEN_GAS = {
  name: 500n,
  symbol: 500n,
  decimals: 200n,
  totalSupply: 2_400n,
  balanceOf: 2_800n,
  allowance: 2_900n,
  transfer: 30_000n,
  approve: 25_000n,
  transferFrom: 37_000n,
  deposit: 10_000n,
  withdraw: 5_000n,
} as const
