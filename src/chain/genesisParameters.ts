import { BASE_DENOM, COIN_DECIMALS, DEFAULT_BLOCK_GAS_LIMIT, DISPLAY_DENOM } from './genesisConstants.ts'
import type { Genesis } from './genesisSchema.ts'

type Modules = Genesis['app_state']

const ZERO = '0.000000000000000000'
const GWEI = '1000000000.000000000000000000'
const UNBONDING_SECONDS = 21 * 86_400

/**
 * Consensus parameters in CometBFT's form. Evidence lives as long as unbonding takes, in time and in blocks of 400 ms, so
 * that stake can be slashed until it leaves.
 */
export const CONSENSUS_PARAMETERS: Genesis['consensus']['params'] = {
  block: { max_bytes: '2000000', max_gas: DEFAULT_BLOCK_GAS_LIMIT.toString() },
  evidence: {
    max_age_num_blocks: ((UNBONDING_SECONDS * 1000) / 400).toString(),
    max_age_duration: `${UNBONDING_SECONDS}000000000`,
    max_bytes: '1048576',
  },
  validator: { pub_key_types: ['ed25519'] },
  version: { app: '0' },
  abci: { vote_extensions_enable_height: '0' },
}

/**
 * Module states of a new chain: the SDK's default parameters, rescaled for blocks of 0.4 s and a token of 18 decimals.
 * `createGenesis` adds accounts, balances and the validator.
 */
export const MODULE_DEFAULTS: Omit<Modules, 'evm'> = {
  auth: {
    params: {
      max_memo_characters: '256',
      tx_sig_limit: '7',
      tx_size_cost_per_byte: '10',
      sig_verify_cost_ed25519: '590',
      sig_verify_cost_secp256k1: '1000',
    },
    accounts: [],
  },
  bank: {
    params: { send_enabled: [], default_send_enabled: true },
    balances: [],
    supply: [],
    denom_metadata: [
      {
        description: 'The native token of the chain',
        denom_units: [
          { denom: BASE_DENOM, exponent: 0, aliases: [] },
          { denom: DISPLAY_DENOM, exponent: COIN_DECIMALS, aliases: [] },
        ],
        base: BASE_DENOM,
        display: DISPLAY_DENOM,
        name: DISPLAY_DENOM,
        symbol: DISPLAY_DENOM,
        uri: '',
        uri_hash: '',
      },
    ],
    send_enabled: [],
  },
  staking: {
    params: {
      unbonding_time: `${UNBONDING_SECONDS}s`,
      max_validators: 50,
      max_entries: 7,
      historical_entries: 10_000,
      bond_denom: BASE_DENOM,
      min_commission_rate: ZERO,
    },
    last_total_power: '0',
    last_validator_powers: [],
    validators: [],
    delegations: [],
    unbonding_delegations: [],
    redelegations: [],
    exported: false,
  },
  distribution: {
    params: {
      community_tax: '0.020000000000000000',
      base_proposer_reward: ZERO,
      bonus_proposer_reward: ZERO,
      withdraw_addr_enabled: true,
    },
    fee_pool: { community_pool: [] },
    delegator_withdraw_infos: [],
    previous_proposer: '',
    outstanding_rewards: [],
    validator_accumulated_commissions: [],
    validator_historical_rewards: [],
    validator_current_rewards: [],
    delegator_starting_infos: [],
    validator_slash_events: [],
  },
  slashing: {
    params: {
      // 67 minutes; the SDK's 100 blocks would be 40 seconds.
      signed_blocks_window: '10000',
      min_signed_per_window: '0.500000000000000000',
      downtime_jail_duration: '600s',
      slash_fraction_double_sign: '0.050000000000000000',
      slash_fraction_downtime: '0.010000000000000000',
    },
    signing_infos: [],
    missed_blocks: [],
  },
  gov: {
    starting_proposal_id: '1',
    deposits: [],
    votes: [],
    proposals: [],
    params: {
      // 10 and 50 COIN: the SDK's numbers, in units of 18 decimals.
      min_deposit: [{ denom: BASE_DENOM, amount: '10000000000000000000' }],
      max_deposit_period: '172800s',
      voting_period: '172800s',
      quorum: '0.334000000000000000',
      threshold: '0.500000000000000000',
      veto_threshold: '0.334000000000000000',
      min_initial_deposit_ratio: ZERO,
      proposal_cancel_ratio: '0.500000000000000000',
      proposal_cancel_dest: '',
      expedited_voting_period: '86400s',
      expedited_threshold: '0.667000000000000000',
      expedited_min_deposit: [{ denom: BASE_DENOM, amount: '50000000000000000000' }],
      burn_vote_quorum: false,
      burn_proposal_deposit_prevote: false,
      burn_vote_veto: true,
      min_deposit_ratio: '0.010000000000000000',
    },
    constitution: '',
  },
  mint: {
    minter: { inflation: ZERO, annual_provisions: ZERO },
    params: {
      mint_denom: BASE_DENOM,
      inflation_rate_change: ZERO,
      inflation_max: ZERO,
      inflation_min: ZERO,
      goal_bonded: '0.670000000000000000',
      // a year of 365.25 days in blocks of 400 ms
      blocks_per_year: '78894000',
    },
  },
  feemarket: {
    params: {
      no_base_fee: false,
      // Ethereum's 8 per 12 s is 240 per 0.4 s: (1 + 1/240)^30 is about 1 + 1/8.
      base_fee_change_denominator: 240,
      elasticity_multiplier: 2,
      enable_height: '0',
      base_fee: GWEI,
      min_gas_price: GWEI,
      // Transactions pay for the gas they used, not for a share of their limit.
      min_gas_multiplier: ZERO,
    },
    block_gas: '0',
  },
  erc20: {
    params: { enable_erc20: true, permissionless_registration: false },
    token_pairs: [],
    allowances: [],
    native_precompiles: [],
    dynamic_precompiles: [],
  },
  timing: {
    params: {
      block_interval_ms: '400',
      propose_timeout_ms: '700',
      propose_timeout_delta_ms: '200',
      vote_timeout_ms: '200',
      vote_timeout_delta_ms: '100',
      pbts_precision_ms: '500',
      pbts_message_delay_ms: '3000',
    },
  },
}
