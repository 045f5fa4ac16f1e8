import type { Address } from '../primitives/address.ts'
import type { Config } from './config.ts'
import { ConfigError } from './configError.ts'

/** What a fresh genesis needs of the configuration. */
export interface FreshGenesisConfig {
  readonly wallet: Address
  readonly selfDelegationAcoin: bigint
}

/**
 * Refuses what this version cannot do: joining a network, restoring a snapshot.
 * @throws ConfigError
 */
export function checkSupported(config: Pick<Config, 'joining'>): void {
  if (config.joining.isJoining) {
    throw new ConfigError('JOIN_NETWORK is true: this version cannot join a network yet, it may hold false')
  }
  const snapshot = snapshotVariable(config)
  if (snapshot !== undefined) {
    throw new ConfigError(`${snapshot} is set: this version cannot restore snapshots yet, it must be unset`)
  }
}

/**
 * The rules for a start that would create a genesis.
 * @throws ConfigError where the genesis must not be created with this configuration
 */
export function checkFreshGenesis(config: Pick<Config, 'joining' | 'genesis'>): FreshGenesisConfig {
  const snapshot = snapshotVariable(config)
  if (snapshot !== undefined) {
    throw new ConfigError(`${snapshot} is set: it must be unset where a fresh genesis is created`)
  }
  checkSupported(config)
  if (config.genesis.hash !== undefined) {
    throw new ConfigError(
      'GENESIS_HASH is set: there is no genesis.json to compare with; put it in place, or unset GENESIS_HASH to create one',
    )
  }
  if (config.genesis.wallet === undefined) {
    throw new ConfigError(
      'GENESIS_WALLET is not set: a fresh genesis needs the address that receives the initial supply, 0x and 40 hex digits or coin1…',
    )
  }
  if (config.genesis.wallet.every((byte) => byte === 0)) {
    throw new ConfigError('GENESIS_WALLET is the zero address: nobody could ever spend the initial supply')
  }
  return { wallet: config.genesis.wallet, selfDelegationAcoin: config.genesis.selfDelegationAcoin }
}

function snapshotVariable(config: Pick<Config, 'joining'>): string | undefined {
  if (config.joining.forceSnapshotRestore) return 'FORCE_SNAPSHOT_RESTORE'
  return config.joining.snapshotManifestUrl === undefined ? undefined : 'SNAPSHOT_MANIFEST_URL'
}
