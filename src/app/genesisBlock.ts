import { type ChainConfig, forkAt } from '../chain/chainConfig.ts'
import type { EthereumHeader } from '../chain/ethereumBlock.ts'
import { type GenesisAccount, type GenesisValidator, genesisAllocations, genesisValidators } from '../chain/genesis.ts'
import type { Genesis } from '../chain/genesisSchema.ts'
import { includesFork } from '../chain/hardfork.ts'
import { logsBloom } from '../chain/receipt.ts'
import { AUTH_PARAMS, initAuth } from '../modules/auth/params.ts'
import { mint } from '../modules/bank/ledger.ts'
import { BANK_PARAMS, initBank, Metadata } from '../modules/bank/params.ts'
import { initConsensus } from '../modules/consensus/params.ts'
import { DISTRIBUTION_PARAMS } from '../modules/distribution/params.ts'
import { initErc20 } from '../modules/erc20/tokenPairs.ts'
import { initFeemarket } from '../modules/feemarket/params.ts'
import { initGov } from '../modules/gov/state.ts'
import { initMint } from '../modules/mint/minter.ts'
import { MINT_PARAMS } from '../modules/mint/params.ts'
import { SLASHING_PARAMS } from '../modules/slashing/params.ts'
import { initStaking, stakingGenesisOf } from '../modules/staking/initStaking.ts'
import { initModuleVersions } from '../modules/upgrade/moduleVersions.ts'
import { initVesting } from '../modules/vesting/initVesting.ts'
import { ZERO_ADDRESS } from '../primitives/address.ts'
import { parseDecimal } from '../primitives/decimal.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, type Hash, ZERO_HASH } from '../primitives/hash.ts'
import { NATIVE_ACCOUNT } from '../state/prepareChanges.ts'
import type { WorldState } from '../state/world.ts'
import { nextMixHash } from './blockContext.ts'
import { EMPTY_REQUESTS_HASH, EXTRA_DATA, ZERO_NONCE } from './blockExecution.ts'

/** What the genesis puts into the state of block 0. */
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
 * Writes the state of block 0 into an empty world: balances and total supply, contracts, validators, and the account under which
 * native modules keep their entries (nonce 1, so that EIP-161 never deletes it).
 */
export function applyGenesis(world: WorldState, { accounts, timeMs, modules, consensus }: GenesisState): void {
  const context = { world, block: { height: 0, timeMs } }
  for (const { address, nonce, balanceAcoin, code } of accounts) {
    mint(world, address, balanceAcoin)
    if (nonce > 0n) world.setNonce(address, nonce)
    if (code.length > 0) world.setCode(address, code)
  }
  initAuth(world.native, AUTH_PARAMS.type.fromJson(modules.auth.params, NO_TYPES))
  initVesting(
    world.native,
    modules.auth.accounts.filter((entry) => 'base_vesting_account' in entry),
  )
  initBank(world.native, {
    params: BANK_PARAMS.type.fromJson(modules.bank.params, NO_TYPES),
    sendEnabled: [],
    metadata: modules.bank.denom_metadata.map((metadata) => Metadata.fromJson(metadata, NO_TYPES)),
  })
  DISTRIBUTION_PARAMS.set(world.native, DISTRIBUTION_PARAMS.type.fromJson(modules.distribution.params, NO_TYPES))
  SLASHING_PARAMS.set(world.native, SLASHING_PARAMS.type.fromJson(modules.slashing.params, NO_TYPES))
  initMint(world.native, {
    params: MINT_PARAMS.type.fromJson(modules.mint.params, NO_TYPES),
    inflation: parseDecimal(modules.mint.minter.inflation)!,
  })
  initGov(context, modules.gov)
  initFeemarket(context, modules.feemarket)
  initErc20(context, modules.erc20)
  initConsensus(context, consensus)
  initStaking(context, stakingGenesisOf(modules.staking))
  initModuleVersions(world.native)
  world.setNonce(NATIVE_ACCOUNT, 1n)
}

/** Header of block 0, whose state is what the genesis writes. It commits to the genesis hash. */
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
