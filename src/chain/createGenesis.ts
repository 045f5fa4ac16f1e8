import { evmChainIdOf } from '../config/chainIds.ts'
import { type Address, BECH32_OPERATOR, moduleAddress, toBech32 } from '../primitives/address.ts'
import { bytesToHex, compareBytes, equalBytes } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'
import {
  BASE_DENOM,
  BONDED_POOL,
  DEFAULT_BLOCK_GAS_LIMIT,
  DEFAULT_PRECOMPILE_GAS_LIMIT,
  INITIAL_SUPPLY_ACOIN,
  NATIVE_TOKEN_ADDRESS,
  POWER_REDUCTION_ACOIN,
  STATIC_PRECOMPILES,
} from './genesisConstants.ts'
import { GenesisError } from './genesisError.ts'
import { CONSENSUS_PARAMETERS, MODULE_DEFAULTS } from './genesisParameters.ts'
import { checkGenesis } from './genesisRules.ts'
import type { Genesis } from './genesisSchema.ts'
import type { Hardfork } from './hardfork.ts'
import { PREINSTALLS } from './preinstalls.ts'

export interface FundedAccount {
  readonly address: Address
  readonly balanceAcoin: bigint
}

/** A validator of the first block. */
export interface GenesisValidatorInput {
  /** operator, and delegator of its self-delegation */
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
  /** of the first validator, like the two after it */
  readonly selfDelegationAcoin: bigint
  /** ed25519, 32 bytes */
  readonly consensusPublicKey: Uint8Array
  readonly moniker: string
  /** validators besides the first; none by default */
  readonly otherValidators?: readonly GenesisValidatorInput[]
  /** further accounts, minted on top of the initial supply (development networks) */
  readonly fundedAccounts?: readonly FundedAccount[]
  /** whether the native token has its ERC-20 contract; true by default */
  readonly hasNativeToken?: boolean
  /** whether contracts reach the native layer (staking, distribution, bank, governance, slashing, bech32); true by default */
  readonly hasStaticPrecompiles?: boolean
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
 * The genesis of a new network. The same input gives the same genesis, byte for byte.
 * @throws GenesisError when the input cannot make a valid one
 */
export function createGenesis(input: GenesisInput): Genesis {
  const evmChainId = evmChainIdOf(input.chainId)
  if (evmChainId === undefined) throw new GenesisError('chain_id', 'expected <name>_<EVM chain ID>-<revision>')
  const funded = input.fundedAccounts ?? []
  if (funded.some(({ address }) => equalBytes(address, input.wallet))) {
    throw new GenesisError('app_state.bank.balances', 'the genesis wallet holds the initial supply and nothing more')
  }
  const holders = [{ address: input.wallet, balanceAcoin: INITIAL_SUPPLY_ACOIN }, ...funded]
  const validators = [{ ...input, operator: input.wallet }, ...(input.otherValidators ?? [])]
  const bonded = validators.reduce((sum, { selfDelegationAcoin }) => sum + selfDelegationAcoin, 0n)
  const genesisTime = new Date(input.genesisTimeMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const genesis: Genesis = {
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
          active_static_precompiles: (input.hasStaticPrecompiles ?? true) ? [...STATIC_PRECOMPILES] : [],
        },
        preinstalls: PREINSTALLS.map((preinstall) => ({ ...preinstall })),
      },
      erc20: erc20Section(input.hasNativeToken ?? true),
    },
  }
  checkGenesis(genesis)
  return genesis
}

function consensusSection(
  input: Pick<GenesisInput, 'blockGasLimit'>,
  validators: readonly GenesisValidatorInput[],
): Genesis['consensus'] {
  return {
    validators: validators.map(({ consensusPublicKey, selfDelegationAcoin, moniker }) => ({
      address: bytesToHex(sha256(consensusPublicKey).slice(0, 20)).slice(2).toUpperCase(),
      pub_key: { type: 'tendermint/PubKeyEd25519', value: base64(consensusPublicKey) },
      power: (selfDelegationAcoin / POWER_REDUCTION_ACOIN).toString(),
      name: moniker,
    })),
    params: {
      ...CONSENSUS_PARAMETERS,
      block: { ...CONSENSUS_PARAMETERS.block, max_gas: (input.blockGasLimit ?? DEFAULT_BLOCK_GAS_LIMIT).toString() },
    },
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
      coins: [{ denom: BASE_DENOM, amount: balanceAcoin.toString() }],
    })),
    supply: [{ denom: BASE_DENOM, amount: supply.toString() }],
  }
}

function stakingSection(
  validators: readonly GenesisValidatorInput[],
  genesisTime: string,
): Genesis['app_state']['staking'] {
  return {
    ...MODULE_DEFAULTS.staking,
    validators: validators.map(({ operator, selfDelegationAcoin, consensusPublicKey, moniker }) => ({
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
    })),
    delegations: validators.map(({ operator, selfDelegationAcoin }) => ({
      delegator_address: toBech32(operator),
      validator_address: toBech32(operator, BECH32_OPERATOR),
      shares: sharesOf(selfDelegationAcoin),
    })),
  }
}

/** One share a token, as a LegacyDec. */
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
