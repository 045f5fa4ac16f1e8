import { z } from 'zod'
import { HARDFORKS } from './hardfork.ts'

/** An invalid genesis. The message begins with the path inside the file. */
export class GenesisError extends Error {
  override readonly name = 'GenesisError'

  constructor(path: string, problem: string) {
    super(path === '' ? `genesis: ${problem}` : `genesis: ${path}: ${problem}`)
  }
}

const text = z.string().max(10_000)
/** a whole number as Cosmos JSON writes 64-bit integers */
const integer = z.string().regex(/^(0|[1-9][0-9]{0,77})$/, 'expected a whole number in a string, without leading zeros')
const uint32 = z.int().min(0).max(0xffff_ffff)
/** the SDK's LegacyDec: 18 decimals */
const decimal = z.string().regex(/^(0|[1-9][0-9]{0,59})\.[0-9]{18}$/, 'expected a number with 18 decimals in a string')
const seconds = z.string().regex(/^(0|[1-9][0-9]{0,11})s$/, 'expected seconds, like 600s')
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/, 'expected a time in UTC, like 2026-01-01T00:00:00Z')
const hexAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'expected 0x and 40 hex digits')
const bech32 = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}1[a-z0-9]{38}$`), `expected a ${prefix}1… address`)
const account = bech32('coin')
const operator = bech32('coinvaloper')
const ed25519Key = z.base64().length(44)
const coin = z.strictObject({ denom: z.string().regex(/^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/), amount: integer })
/** state of modules that a new chain starts without */
const none = z.tuple([])

const baseAccount = z.strictObject({
  address: account,
  pub_key: z.null(),
  account_number: z.literal('0'),
  sequence: z.literal('0'),
})

const baseVestingAccount = z.strictObject({
  base_account: baseAccount,
  original_vesting: z.array(coin).length(1),
  delegated_free: z.array(coin).max(1),
  delegated_vesting: z.array(coin).max(1),
  end_time: integer,
})

const consensus = z.strictObject({
  /** empty in a draft alone, see `checkGenesis` */
  validators: z.array(
    z.strictObject({
      address: z.string().regex(/^[0-9A-F]{40}$/, 'expected 40 hex digits in capitals'),
      pub_key: z.strictObject({ type: z.literal('tendermint/PubKeyEd25519'), value: ed25519Key }),
      power: integer,
      name: text,
    }),
  ),
  params: z.strictObject({
    block: z.strictObject({ max_bytes: integer, max_gas: integer }),
    evidence: z.strictObject({ max_age_num_blocks: integer, max_age_duration: integer, max_bytes: integer }),
    validator: z.strictObject({ pub_key_types: z.tuple([z.literal('ed25519')]) }),
    version: z.strictObject({ app: integer }),
    abci: z.strictObject({ vote_extensions_enable_height: z.literal('0') }),
    /** from this block on the state holds the proposer priorities; '0', or no such section in older files: never */
    validator_ranks: z.strictObject({ enable_height: integer }).exactOptional(),
  }),
})

const auth = z.strictObject({
  params: z.strictObject({
    max_memo_characters: integer,
    tx_sig_limit: integer,
    tx_size_cost_per_byte: integer,
    sig_verify_cost_ed25519: integer,
    sig_verify_cost_secp256k1: integer,
  }),
  accounts: z.array(
    z.discriminatedUnion('@type', [
      baseAccount.extend({ '@type': z.literal('/cosmos.auth.v1beta1.BaseAccount') }),
      z.strictObject({
        '@type': z.literal('/cosmos.auth.v1beta1.ModuleAccount'),
        base_account: baseAccount,
        name: text,
        permissions: z.array(text),
      }),
      z.strictObject({
        '@type': z.literal('/cosmos.vesting.v1beta1.ContinuousVestingAccount'),
        base_vesting_account: baseVestingAccount,
        start_time: integer,
      }),
      z.strictObject({
        '@type': z.literal('/cosmos.vesting.v1beta1.DelayedVestingAccount'),
        base_vesting_account: baseVestingAccount,
      }),
      z.strictObject({
        '@type': z.literal('/cosmos.vesting.v1beta1.PeriodicVestingAccount'),
        base_vesting_account: baseVestingAccount,
        start_time: integer,
        vesting_periods: z.array(z.strictObject({ length: integer, amount: z.array(coin).length(1) })).min(1),
      }),
      z.strictObject({
        '@type': z.literal('/cosmos.vesting.v1beta1.PermanentLockedAccount'),
        base_vesting_account: baseVestingAccount,
      }),
    ]),
  ),
})

const bank = z.strictObject({
  params: z.strictObject({ send_enabled: none, default_send_enabled: z.literal(true) }),
  balances: z.array(z.strictObject({ address: account, coins: z.array(coin).length(1) })),
  supply: z.array(coin).length(1),
  denom_metadata: z.array(
    z.strictObject({
      description: text,
      denom_units: z.array(z.strictObject({ denom: text, exponent: uint32, aliases: z.array(text) })),
      base: text,
      display: text,
      name: text,
      symbol: text,
      uri: text,
      uri_hash: text,
    }),
  ),
  send_enabled: none,
})

const validator = z.strictObject({
  operator_address: operator,
  consensus_pubkey: z.strictObject({ '@type': z.literal('/cosmos.crypto.ed25519.PubKey'), key: ed25519Key }),
  jailed: z.literal(false),
  status: z.literal('BOND_STATUS_BONDED'),
  tokens: integer,
  delegator_shares: decimal,
  description: z.strictObject({ moniker: text, identity: text, website: text, security_contact: text, details: text }),
  unbonding_height: z.literal('0'),
  unbonding_time: time,
  commission: z.strictObject({
    commission_rates: z.strictObject({ rate: decimal, max_rate: decimal, max_change_rate: decimal }),
    update_time: time,
  }),
  min_self_delegation: integer,
  unbonding_on_hold_ref_count: z.literal('0'),
  unbonding_ids: none,
})

const staking = z.strictObject({
  params: z.strictObject({
    unbonding_time: seconds,
    /** sizes of consensus messages and numbers of peers are designed for this many */
    max_validators: uint32.min(1).max(50),
    max_entries: uint32,
    historical_entries: uint32,
    bond_denom: text,
    min_commission_rate: decimal,
    /** absent: the default */
    key_rotation_fee: coin.exactOptional(),
  }),
  last_total_power: z.literal('0'),
  last_validator_powers: none,
  validators: z.array(validator),
  delegations: z.array(z.strictObject({ delegator_address: account, validator_address: operator, shares: decimal })),
  unbonding_delegations: none,
  redelegations: none,
  exported: z.literal(false),
  /** SDK 0.55 has these two */
  consensus_key_rotation_history: none.exactOptional(),
  pending_consensus_key_rotations: none.exactOptional(),
})

const distribution = z.strictObject({
  params: z.strictObject({
    community_tax: decimal,
    base_proposer_reward: decimal,
    bonus_proposer_reward: decimal,
    withdraw_addr_enabled: z.boolean(),
  }),
  fee_pool: z.strictObject({ community_pool: none }),
  delegator_withdraw_infos: none,
  previous_proposer: z.literal(''),
  outstanding_rewards: none,
  validator_accumulated_commissions: none,
  validator_historical_rewards: none,
  validator_current_rewards: none,
  delegator_starting_infos: none,
  validator_slash_events: none,
})

const slashing = z.strictObject({
  params: z.strictObject({
    signed_blocks_window: integer,
    min_signed_per_window: decimal,
    downtime_jail_duration: seconds,
    slash_fraction_double_sign: decimal,
    slash_fraction_downtime: decimal,
  }),
  signing_infos: none,
  missed_blocks: none,
})

const gov = z.strictObject({
  starting_proposal_id: integer,
  deposits: none,
  votes: none,
  proposals: none,
  params: z.strictObject({
    min_deposit: z.array(coin),
    max_deposit_period: seconds,
    voting_period: seconds,
    quorum: decimal,
    threshold: decimal,
    veto_threshold: decimal,
    min_initial_deposit_ratio: decimal,
    proposal_cancel_ratio: decimal,
    proposal_cancel_dest: text,
    expedited_voting_period: seconds,
    expedited_threshold: decimal,
    expedited_min_deposit: z.array(coin),
    burn_vote_quorum: z.boolean(),
    burn_proposal_deposit_prevote: z.boolean(),
    burn_vote_veto: z.boolean(),
    min_deposit_ratio: decimal,
  }),
  constitution: text,
})

const mint = z.strictObject({
  minter: z.strictObject({ inflation: decimal, annual_provisions: decimal }),
  params: z.strictObject({
    mint_denom: text,
    inflation_rate_change: decimal,
    inflation_max: decimal,
    inflation_min: decimal,
    goal_bonded: decimal,
    blocks_per_year: integer,
  }),
})

const evm = z.strictObject({
  accounts: none,
  params: z.strictObject({
    evm_denom: text,
    chain_config: z.strictObject({
      chain_id: integer,
      fork_schedule: z.array(z.strictObject({ height: integer, fork: z.enum(HARDFORKS) })).min(1),
    }),
    /** see ChainConfig */
    precompile_gas_limit: integer,
    /** see ChainConfig; the genesis of older versions does not have it, and their chains have no such transactions */
    allow_unprotected_txs: z.boolean().exactOptional(),
    /** stateful precompiles other than the native token's */
    active_static_precompiles: z.array(hexAddress),
  }),
  preinstalls: z.array(
    z.strictObject({
      name: text,
      address: hexAddress,
      code: z.string().regex(/^0x([0-9a-f]{2})+$/, 'expected 0x and hex bytes'),
    }),
  ),
})

const feemarket = z.strictObject({
  params: z.strictObject({
    no_base_fee: z.literal(false),
    base_fee_change_denominator: uint32.min(1),
    elasticity_multiplier: uint32.min(1),
    enable_height: z.literal('0'),
    base_fee: decimal,
    min_gas_price: decimal,
    min_gas_multiplier: z.literal('0.000000000000000000'),
  }),
  block_gas: z.literal('0'),
})

const erc20 = z.strictObject({
  params: z.strictObject({ enable_erc20: z.boolean(), permissionless_registration: z.literal(false) }),
  token_pairs: z.array(
    z.strictObject({
      erc20_address: hexAddress,
      denom: text,
      enabled: z.literal(true),
      contract_owner: z.literal('OWNER_MODULE'),
    }),
  ),
  allowances: none,
  native_precompiles: z.array(hexAddress),
  dynamic_precompiles: none,
})

/** Consensus timing in milliseconds. These are parameters of the chain, so that no operator can speed up only its own blocks. */
const timing = z.strictObject({
  params: z.strictObject({
    block_interval_ms: integer,
    propose_timeout_ms: integer,
    propose_timeout_delta_ms: integer,
    vote_timeout_ms: integer,
    vote_timeout_delta_ms: integer,
    pbts_precision_ms: integer,
    pbts_message_delay_ms: integer,
  }),
})

/**
 * Transactions of operators (SDK's Tx in JSON) from which `coind genesis collect-gentxs` made the
 * validators, so that everyone can check them.
 */
const genutil = z.strictObject({ gen_txs: z.array(z.json()) })

/**
 * genesis.json in the shape of Cosmos SDK 0.50 (`AppGenesis`), with app_state by module. Unknown keys are refused, so that a misspelt
 * parameter is not silently replaced by its default.
 */
export const genesisSchema = z.strictObject({
  app_name: z.literal('coind'),
  genesis_time: time,
  chain_id: text,
  initial_height: z.literal('1'),
  app_hash: z.literal(''),
  consensus,
  app_state: z.strictObject({
    auth,
    bank,
    staking,
    distribution,
    slashing,
    gov,
    mint,
    evm,
    feemarket,
    erc20,
    timing,
    genutil: genutil.exactOptional(),
  }),
})

/** A genesis in the form of its file: Cosmos JSON, with 64-bit integers and amounts as decimal strings. */
export type Genesis = z.infer<typeof genesisSchema>

/** An entry of `app_state.auth.accounts` whose coins vest. */
export type GenesisVestingAccount = Extract<
  Genesis['app_state']['auth']['accounts'][number],
  { readonly base_vesting_account: unknown }
>
