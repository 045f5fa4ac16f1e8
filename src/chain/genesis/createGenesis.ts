import { evmChainIdOf } from '../../config/chainIds.ts'
import { type Address, BECH32_OPERATOR, moduleAddress, toBech32 } from '../../primitives/address.ts'
import { bytesToUpperHex, compareBytes, equalBytes } from '../../primitives/bytes.ts'
import { ed25519Address } from '../../primitives/ed25519.ts'
import {
  BASE_DENOM,
  BONDED_POOL,
  COIN_DECIMALS,
  DEFAULT_BLOCK_GAS_LIMIT,
  DEFAULT_PRECOMPILE_GAS_LIMIT,
  DISPLAY_DENOM,
  INITIAL_SUPPLY_ACOIN,
  NATIVE_TOKEN_ADDRESS,
  POWER_REDUCTION_ACOIN,
  STATIC_PRECOMPILES,
} from './genesisConstants.ts'
import { checkGenesis } from './genesisRules.ts'
import { type Genesis, GenesisError } from './genesisSchema.ts'
import type { Hardfork } from './hardfork.ts'
import list from './preinstalls.json' with { type: 'json' }

export interface FundedAccount {
  readonly address: Address
  readonly balanceAcoin: bigint
}

/** A validator of the first block. */
export interface GenesisValidatorInput {
  /** its operator, who also makes the self-delegation */
  readonly operator: Address
  /** minted on top of the initial supply, into the bonded pool */
  readonly selfDelegationAcoin: bigint
  /** ed25519, 32 bytes */
  readonly consensusPublicKey: Uint8Array
  readonly moniker: string
}

export interface GenesisInput {
  /** milliseconds since the epoch; cut to whole seconds */
  readonly genesisTimeMs: number
  readonly chainId: string
  /** receives the initial supply; operator and delegator of the first validator */
  readonly wallet: Address
  /** self-delegation, name and key of the first validator */
  readonly selfDelegationAcoin: bigint
  /** ed25519, 32 bytes */
  readonly consensusPublicKey: Uint8Array
  readonly moniker: string
  /** further validators; none by default */
  readonly otherValidators?: readonly GenesisValidatorInput[]
  /** further accounts, minted on top of the initial supply (development networks) */
  readonly fundedAccounts?: readonly FundedAccount[]
  /** whether the native token has its ERC-20 contract; true by default */
  readonly hasNativeToken?: boolean
  /** whether contracts can call the native modules (staking, distribution, bank, governance, slashing, bech32); true by default */
  readonly hasStaticPrecompiles?: boolean
  /** whether transactions without a chain ID are valid, which create some contracts at the same address on all chains; true by default */
  readonly allowsUnprotected?: boolean
  readonly blockGasLimit?: bigint
  readonly precompileGasLimit?: bigint
  readonly forks?: readonly { readonly height: number; readonly fork: Hardfork }[]
}

/** Commission of each validator. */
const COMMISSION = {
  rate: '0.100000000000000000',
  max_rate: '0.200000000000000000',
  max_change_rate: '0.010000000000000000',
}
const NEVER = '1970-01-01T00:00:00Z'

/**
 * Creates the genesis of a new network. The same input yields the same genesis, byte for byte.
 * @throws GenesisError when the input does not make a valid genesis
 */
export function createGenesis(input: GenesisInput): Genesis {
  const funded = input.fundedAccounts ?? []
  if (funded.some(({ address }) => equalBytes(address, input.wallet))) {
    throw new GenesisError('app_state.bank.balances', 'the genesis wallet holds the initial supply and nothing more')
  }
  const holders = [{ address: input.wallet, balanceAcoin: INITIAL_SUPPLY_ACOIN }, ...funded]
  const validators = [{ ...input, operator: input.wallet }, ...(input.otherValidators ?? [])]
  const genesis = genesisOf(input, holders, validators)
  checkGenesis(genesis)
  return genesis
}

/**
 * Creates a genesis without accounts and validators: the operators of a new network add both
 * (`addGenesisAccount`, `collectGentxs`).
 * @throws GenesisError for an invalid chain ID
 */
export function createDraftGenesis(input: Pick<GenesisInput, 'chainId' | 'genesisTimeMs'>): Genesis {
  const genesis = genesisOf(input, [], [])
  checkGenesis(genesis, true)
  return genesis
}

function genesisOf(
  input: Omit<GenesisInput, 'wallet' | 'selfDelegationAcoin' | 'consensusPublicKey' | 'moniker'>,
  holders: readonly FundedAccount[],
  validators: readonly GenesisValidatorInput[],
): Genesis {
  const evmChainId = evmChainIdOf(input.chainId)
  if (evmChainId === undefined) throw new GenesisError('chain_id', 'expected <name>_<EVM chain ID>-<revision>')
  const bonded = validators.reduce((sum, { selfDelegationAcoin }) => sum + selfDelegationAcoin, 0n)
  const genesisTime = new Date(input.genesisTimeMs).toISOString().replace(/\.\d+Z$/, 'Z')
  return {
    app_name: 'coind',
    genesis_time: genesisTime,
    chain_id: input.chainId,
    initial_height: '1',
    app_hash: '',
    consensus: consensusSection(input, validators),
    app_state: {
      ...MODULE_DEFAULTS,
      auth: { ...MODULE_DEFAULTS.auth, accounts: authAccounts(holders) },
      bank: bankSection([...holders, { address: moduleAddress(BONDED_POOL), balanceAcoin: bonded }]),
      staking: stakingSection(validators, genesisTime),
      evm: {
        accounts: [],
        params: {
          evm_denom: BASE_DENOM,
          chain_config: {
            chain_id: evmChainId.toString(),
            fork_schedule: (input.forks ?? [{ height: 0, fork: 'osaka' }]).map(({ height, fork }) => ({
              height: height.toString(),
              fork,
            })),
          },
          precompile_gas_limit: (input.precompileGasLimit ?? DEFAULT_PRECOMPILE_GAS_LIMIT).toString(),
          allow_unprotected_txs: input.allowsUnprotected ?? true,
          active_static_precompiles: (input.hasStaticPrecompiles ?? true) ? [...STATIC_PRECOMPILES] : [],
        },
        preinstalls: PREINSTALLS.map((preinstall) => ({ ...preinstall })),
      },
      erc20: erc20Section(input.hasNativeToken ?? true),
    },
  }
}

function consensusSection(
  input: Pick<GenesisInput, 'blockGasLimit'>,
  validators: readonly GenesisValidatorInput[],
): Genesis['consensus'] {
  return {
    validators: validators.map(consensusRecord),
    params: {
      ...CONSENSUS_PARAMETERS,
      block: { ...CONSENSUS_PARAMETERS.block, max_gas: (input.blockGasLimit ?? DEFAULT_BLOCK_GAS_LIMIT).toString() },
    },
  }
}

/** Returns a validator in `consensus.validators`. */
export function consensusRecord({
  consensusPublicKey,
  selfDelegationAcoin,
  moniker,
}: Omit<GenesisValidatorInput, 'operator'>): Genesis['consensus']['validators'][number] {
  return {
    address: bytesToUpperHex(ed25519Address(consensusPublicKey)),
    pub_key: { type: 'tendermint/PubKeyEd25519', value: base64(consensusPublicKey) },
    power: (selfDelegationAcoin / POWER_REDUCTION_ACOIN).toString(),
    name: moniker,
  }
}

function authAccounts(holders: readonly FundedAccount[]): Genesis['app_state']['auth']['accounts'] {
  const base = (address: Address) =>
    ({ address: toBech32(address), pub_key: null, account_number: '0', sequence: '0' }) as const
  return [
    ...holders.map(({ address }) => ({ '@type': '/cosmos.auth.v1beta1.BaseAccount' as const, ...base(address) })),
    {
      '@type': '/cosmos.auth.v1beta1.ModuleAccount',
      base_account: base(moduleAddress(BONDED_POOL)),
      name: BONDED_POOL,
      permissions: ['burner', 'staking'],
    },
  ]
}

function bankSection(holders: readonly FundedAccount[]): Genesis['app_state']['bank'] {
  const sorted = [...holders].sort((a, b) => compareBytes(a.address, b.address))
  const supply = holders.reduce((sum, holder) => sum + holder.balanceAcoin, 0n)
  return {
    ...MODULE_DEFAULTS.bank,
    balances: sorted.map(({ address, balanceAcoin }) => ({
      address: toBech32(address),
      coins: genesisCoins(balanceAcoin),
    })),
    supply: genesisCoins(supply),
  }
}

function stakingSection(validators: readonly GenesisValidatorInput[], genesisTime: string): StakingSection {
  return {
    ...MODULE_DEFAULTS.staking,
    validators: validators.map((validator) => stakingRecord(validator, genesisTime)),
    delegations: validators.map(selfDelegation),
  }
}

/** Returns an amount of acoin as balances and the supply of a genesis have it, 0 too. */
export function genesisCoins(acoin: bigint): Genesis['app_state']['bank']['supply'] {
  return [{ denom: BASE_DENOM, amount: acoin.toString() }]
}

type StakingSection = Genesis['app_state']['staking']

/** Returns a validator in `app_state.staking.validators`, with the usual commission. */
export function stakingRecord(
  { operator, selfDelegationAcoin, consensusPublicKey, moniker }: GenesisValidatorInput,
  genesisTime: string,
): StakingSection['validators'][number] {
  return {
    operator_address: toBech32(operator, BECH32_OPERATOR),
    consensus_pubkey: { '@type': '/cosmos.crypto.ed25519.PubKey', key: base64(consensusPublicKey) },
    jailed: false,
    status: 'BOND_STATUS_BONDED',
    tokens: selfDelegationAcoin.toString(),
    delegator_shares: sharesOf(selfDelegationAcoin),
    description: { moniker, identity: '', website: '', security_contact: '', details: '' },
    unbonding_height: '0',
    unbonding_time: NEVER,
    commission: { commission_rates: COMMISSION, update_time: genesisTime },
    min_self_delegation: '1',
    unbonding_on_hold_ref_count: '0',
    unbonding_ids: [],
  }
}

/** Its operator's delegation. */
export function selfDelegation({
  operator,
  selfDelegationAcoin,
}: Pick<GenesisValidatorInput, 'operator' | 'selfDelegationAcoin'>): StakingSection['delegations'][number] {
  return {
    delegator_address: toBech32(operator),
    validator_address: toBech32(operator, BECH32_OPERATOR),
    shares: sharesOf(selfDelegationAcoin),
  }
}

/** One share per token, as a LegacyDec. */
function sharesOf(tokens: bigint): string {
  return `${tokens}.${'0'.repeat(18)}`
}

function erc20Section(hasNativeToken: boolean): Genesis['app_state']['erc20'] {
  return {
    ...MODULE_DEFAULTS.erc20,
    token_pairs: hasNativeToken
      ? [{ erc20_address: NATIVE_TOKEN_ADDRESS, denom: BASE_DENOM, enabled: true, contract_owner: 'OWNER_MODULE' }]
      : [],
    native_precompiles: hasNativeToken ? [NATIVE_TOKEN_ADDRESS] : [],
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

type Modules = Genesis['app_state']

const ZERO = '0.000000000000000000'
const GWEI = '1000000000.000000000000000000'
const UNBONDING_SECONDS = 21 * 86_400

/**
 * Consensus parameters in CometBFT's form. Evidence is valid as long as unbonding takes, in time and in blocks of 400 ms, so that
 * stake can be slashed until it is unbonded.
 */
const CONSENSUS_PARAMETERS: Genesis['consensus']['params'] = {
  block: { max_bytes: '2000000', max_gas: DEFAULT_BLOCK_GAS_LIMIT.toString() },
  evidence: {
    max_age_num_blocks: ((UNBONDING_SECONDS * 1000) / 400).toString(),
    max_age_duration: `${UNBONDING_SECONDS}000000000`,
    max_bytes: '1048576',
  },
  validator: { pub_key_types: ['ed25519'] },
  version: { app: '0' },
  abci: { vote_extensions_enable_height: '0' },
  validator_ranks: { enable_height: '1' },
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

/** A contract that exists from block 0 on, in the genesis file's form. */
interface Preinstall {
  readonly name: string
  /** checksummed */
  readonly address: string
  /** runtime code, 0x and hex */
  readonly code: string
}

/**
 * Contracts that tools expect at well-known addresses: the system contracts of EIP-4788 and
 * EIP-2935, the CREATE2 deployment proxy, Multicall3 (MIT), Permit2 (MIT), CreateX (AGPL 3.0), the
 * ERC-1820 registry (CC0), Safe's singleton factory (MIT), and the EntryPoints of ERC-4337 with
 * their account creators (GPL 3.0). The code is that of Ethereum mainnet; the domain separators in
 * Permit2 and EntryPoint 0.8 are for chain 1, so on this chain they compute their own at each call.
 * Storage that constructors have written is left out: it is only the lock of EntryPoints 0.6 and
 * 0.7, which is open at 0 as well.
 */
export const PREINSTALLS: readonly Preinstall[] = list
