import { type Address, moduleAddress } from '../primitives/address.ts'

/**
 * Accounts that belong to a module and have no key. The names are the Cosmos SDK's (x/auth/types, x/staking/types), so
 * the addresses are those that explorers and wallets derive.
 */
export type ModuleAccountName = 'fee_collector' | 'bonded_tokens_pool' | 'not_bonded_tokens_pool'

/** Collects base fees and tips of a block until the distribution module takes them. */
export const FEE_COLLECTOR: Address = moduleAddress('fee_collector')
/** Holds the coins delegated to bonded validators. */
export const BONDED_POOL: Address = moduleAddress('bonded_tokens_pool')
/** Holds the coins of unbonding delegations and of validators that are not bonded. */
export const NOT_BONDED_POOL: Address = moduleAddress('not_bonded_tokens_pool')
