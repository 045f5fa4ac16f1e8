import { DISTRIBUTION_ADDRESS } from '../addresses.ts'
import { createPrecompile, type TabledPrecompile } from '../dispatch.ts'
import { DISTRIBUTION_QUERIES } from './queries.ts'
import { DISTRIBUTION_TRANSACTIONS } from './transactions.ts'

/** Rewards, commissions and the community pool: contracts/IDistribution.sol. */
export const distribution: TabledPrecompile = createPrecompile(DISTRIBUTION_ADDRESS, [
  ...DISTRIBUTION_TRANSACTIONS,
  ...DISTRIBUTION_QUERIES,
])
