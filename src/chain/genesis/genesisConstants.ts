/** Base denomination; 10^18 acoin are one COIN. */
export const BASE_DENOM = 'acoin'
export const DISPLAY_DENOM = 'COIN'
export const COIN_DECIMALS = 18
export const ACOIN_PER_COIN = 10n ** 18n

/** Balance of GENESIS_WALLET at block 0: 1 billion COIN. */
export const INITIAL_SUPPLY_ACOIN = 10n ** 27n

/**
 * Bonded acoin for one unit of voting power. The SDK's default of 10^6 is for 6 decimals; with 18 it would exceed CometBFT's bound on
 * the total power.
 */
export const POWER_REDUCTION_ACOIN = 10n ** 18n

/** Name of the module account that holds bonded tokens. */
export const BONDED_POOL = 'bonded_tokens_pool'

/**
 * Accounts that belong to a module and have no key. The names are the Cosmos SDK's (x/auth/types, x/staking/types), so
 * the addresses are those that explorers and wallets derive.
 */
export const MODULE_ACCOUNT_NAMES = [
  'fee_collector',
  'bonded_tokens_pool',
  'not_bonded_tokens_pool',
  'distribution',
  'gov',
  'mint',
  'key_rotation_fee_pool',
  'gov_deposits',
] as const

/** The native token's ERC-20 contract. */
export const NATIVE_TOKEN_ADDRESS = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'

/** Precompiles of native modules that a new chain registers: bech32, staking, distribution, bank, governance, slashing. */
export const STATIC_PRECOMPILES: readonly string[] = [0x400, 0x800, 0x801, 0x804, 0x805, 0x806].map(
  (number) => `0x${number.toString(16).padStart(40, '0')}`,
)

/**
 * Gas limit of a block's EVM transactions; native transactions have an additional lane of a quarter
 * of this limit.
 */
export const DEFAULT_BLOCK_GAS_LIMIT = 100_000_000n

/** Gas of a block for precompiles that take much time for their gas: at 37 Mgas a second, the slowest, it takes less than 200 ms. */
export const DEFAULT_PRECOMPILE_GAS_LIMIT = 5_000_000n
