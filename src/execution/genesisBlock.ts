import type { EthereumHeader } from '../chain/block/ethereumBlock.ts'
import { logsBloom } from '../chain/block/receipt.ts'
import { type ChainConfig, forkAt } from '../chain/genesis/chainConfig.ts'
import {
  type GenesisAccount,
  type GenesisValidator,
  genesisAllocations,
  genesisValidators,
} from '../chain/genesis/genesis.ts'
import type { Genesis } from '../chain/genesis/genesisSchema.ts'
import { includesFork } from '../chain/genesis/hardfork.ts'
import { AUTH_PARAMS, initAuth, validateAuthParams } from '../modules/auth/params.ts'
import { mint } from '../modules/bank/ledger.ts'
import { BANK_PARAMS, initBank, Metadata } from '../modules/bank/params.ts'
import { initConsensus } from '../modules/consensus/params.ts'
import { DISTRIBUTION_PARAMS, validateDistributionParams } from '../modules/distribution/params.ts'
import { initErc20 } from '../modules/erc20/tokenPairs.ts'
import { initFeemarket } from '../modules/feemarket/params.ts'
import { initGov } from '../modules/gov/state.ts'
import { initMint } from '../modules/mint/minter.ts'
import { MINT_PARAMS, validateMintParams } from '../modules/mint/params.ts'
import type { ParamsStore } from '../modules/params.ts'
import type { SdkError } from '../modules/sdkError.ts'
import { SLASHING_PARAMS, validateSlashingParams } from '../modules/slashing/params.ts'
import { initStaking, stakingGenesisOf } from '../modules/staking/initStaking.ts'
import { validateStakingParams } from '../modules/staking/params.ts'
import { initModuleVersions } from '../modules/upgrade/moduleVersions.ts'
import { initVesting } from '../modules/vesting/initVesting.ts'
import { ZERO_ADDRESS } from '../primitives/address.ts'
import { parseDecimal } from '../primitives/decimal.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, type Hash, ZERO_HASH } from '../primitives/hash.ts'
import type { Json } from '../primitives/protoScalars.ts'
import { NATIVE_ACCOUNT } from '../state/prepareChanges.ts'
import type { WorldState } from '../state/world.ts'
import { nextMixHash } from './blockContext.ts'
import { EMPTY_REQUESTS_HASH, EXTRA_DATA, ZERO_NONCE } from './blockExecution.ts'

/** Contents of the state of block 0, from the genesis. */
export interface GenesisState {
  /** balances, preinstalled contracts and registered precompiles */
  readonly accounts: readonly GenesisAccount[]
  /** of the first block */
  readonly validators: readonly GenesisValidator[]
  /** milliseconds since the epoch */
  readonly timeMs: number
  /** initial state of the native modules */
  readonly modules: Genesis['app_state']
  readonly consensus: Genesis['consensus']['params']
}

export function genesisStateOf(genesis: Genesis): GenesisState {
  return {
    accounts: genesisAllocations(genesis),
    validators: genesisValidators(genesis),
    timeMs: Date.parse(genesis.genesis_time),
    modules: genesis.app_state,
    consensus: genesis.consensus.params,
  }
}

const NO_TYPES = { typeOf: () => undefined }

/**
 * Writes the state of block 0 into an empty world: balances and total supply, contracts,
 * validators, and the account under which native modules store their entries (nonce 1, so that
 * EIP-161 never deletes it).
 */
export function applyGenesis(world: WorldState, { accounts, timeMs, modules, consensus }: GenesisState): void {
  const context = { world, block: { height: 0, timeMs } }
  for (const { address, nonce, balanceAcoin, code } of accounts) {
    mint(world, address, balanceAcoin)
    if (nonce > 0n) world.setNonce(address, nonce)
    if (code.length > 0) world.setCode(address, code)
  }
  initAuth(world.native, readParams('auth', AUTH_PARAMS, modules.auth.params, validateAuthParams))
  initVesting(
    world.native,
    modules.auth.accounts.filter((entry) => 'base_vesting_account' in entry),
  )
  initBank(world.native, {
    params: BANK_PARAMS.type.fromJson(modules.bank.params, NO_TYPES),
    sendEnabled: [],
    metadata: modules.bank.denom_metadata.map((metadata) => Metadata.fromJson(metadata, NO_TYPES)),
  })
  const { distribution, slashing } = modules
  const distributionParams = readParams(
    'distribution',
    DISTRIBUTION_PARAMS,
    distribution.params,
    validateDistributionParams,
  )
  DISTRIBUTION_PARAMS.set(world.native, distributionParams)
  SLASHING_PARAMS.set(world.native, readParams('slashing', SLASHING_PARAMS, slashing.params, validateSlashingParams))
  initMint(world.native, {
    params: readParams('mint', MINT_PARAMS, modules.mint.params, validateMintParams),
    inflation: parseDecimal(modules.mint.minter.inflation)!,
  })
  initGov(context, modules.gov)
  initFeemarket(context, modules.feemarket)
  initErc20(context, modules.erc20)
  initConsensus(context, consensus)
  const staking = stakingGenesisOf(modules.staking)
  requireValid('staking', validateStakingParams(staking.params))
  initStaking(context, staking)
  initModuleVersions(world.native)
  world.setNonce(NATIVE_ACCOUNT, 1n)
}

/** Parameters of a genesis, with the bounds that governance has. @throws Error when they are invalid */
function readParams<T>(
  module: string,
  { type }: ParamsStore<T>,
  json: Json,
  validate: (params: T) => SdkError | undefined,
): T {
  const params = type.fromJson(json, NO_TYPES)
  requireValid(module, validate(params))
  return params
}

function requireValid(module: string, problem: SdkError | undefined): void {
  if (problem !== undefined) throw new Error(`app_state.${module}.params: ${problem.message}`)
}

/**
 * Returns the header of block 0, whose state the genesis determines. It commits to the genesis
 * hash.
 */
export function genesisHeader(
  chain: Pick<ChainConfig, 'genesisHash' | 'genesisTimeMs' | 'blockGasLimit' | 'feeMarket' | 'forks'>,
  stateRoot: Hash,
): EthereumHeader {
  const { genesisHash } = chain
  return {
    parentHash: ZERO_HASH,
    sha3Uncles: EMPTY_UNCLES_HASH,
    miner: ZERO_ADDRESS,
    stateRoot,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: logsBloom([]),
    difficulty: 0n,
    number: 0,
    gasLimit: chain.blockGasLimit,
    gasUsed: 0n,
    timestamp: Math.floor(chain.genesisTimeMs / 1000),
    extraData: EXTRA_DATA,
    mixHash: nextMixHash(ZERO_HASH, genesisHash),
    nonce: ZERO_NONCE,
    baseFeePerGas: chain.feeMarket.initialBaseFee,
    withdrawalsRoot: EMPTY_TRIE_ROOT,
    blobGasUsed: 0n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot: genesisHash,
    requestsHash: includesFork(forkAt(chain, 0), 'prague') ? EMPTY_REQUESTS_HASH : undefined,
  }
}
