import { STAKING_ADDRESS } from '../addresses.ts'
import { createPrecompile, type TabledPrecompile } from '../dispatch.ts'
import { STAKING_QUERIES } from './queries.ts'
import { STAKING_TRANSACTIONS } from './transactions.ts'

/** Validators and delegations: contracts/IStaking.sol. */
export const staking: TabledPrecompile = createPrecompile(STAKING_ADDRESS, [
  ...STAKING_TRANSACTIONS,
  ...STAKING_QUERIES,
])
