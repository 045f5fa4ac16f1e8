import { GOVERNANCE_ADDRESS } from '../addresses.ts'
import { createPrecompile, type TabledPrecompile } from '../dispatch.ts'
import { GOV_QUERIES } from './queries.ts'
import { GOV_TRANSACTIONS } from './transactions.ts'

/** Proposals, deposits and votes: contracts/IGov.sol. */
export const governance: TabledPrecompile = createPrecompile(GOVERNANCE_ADDRESS, [...GOV_TRANSACTIONS, ...GOV_QUERIES])
