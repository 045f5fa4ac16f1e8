import { type Address, moduleAddress } from '../primitives/address.ts'

/** Collects base fees and tips of a block until the distribution module takes them. */
export const FEE_COLLECTOR: Address = moduleAddress('fee_collector')
/** Holds the coins delegated to bonded validators. */
export const BONDED_POOL: Address = moduleAddress('bonded_tokens_pool')
/** Holds the coins of unbonding delegations and of validators that are not bonded. */
export const NOT_BONDED_POOL: Address = moduleAddress('not_bonded_tokens_pool')
/** Holds rewards, commissions and the community pool. */
export const DISTRIBUTION: Address = moduleAddress('distribution')
/** The authority that parameter changes need. Proposals may spend its coins, and so may those to whom they grant it. */
export const GOVERNANCE: Address = moduleAddress('gov')
/**
 * Holds deposits of proposals. No message has it as its signer, so that no proposal and no grant
 * can spend its coins.
 */
export const GOV_DEPOSITS: Address = moduleAddress('gov_deposits')
/** Receives minted coins before they go to the fee collector. */
export const MINT: Address = moduleAddress('mint')
/** Receives the fees of key rotations, which are burnt there. */
export const KEY_ROTATION_FEE_POOL: Address = moduleAddress('key_rotation_fee_pool')
