import type { Address } from '../primitives/address.ts'
import type { Config } from './config.ts'
import { ConfigError } from './configError.ts'

/** The part of the configuration that a fresh genesis needs. */
interface FreshGenesisConfig {
  readonly wallet: Address
  readonly selfDelegationAcoin: bigint
}

/**
 * Refuses a configuration that asks this version to restore a snapshot, which it cannot do.
 * @throws ConfigError
 */
export function checkSupported(config: Pick<Config, 'joining'>): void {
  const snapshot = snapshotVariable(config)
  if (snapshot !== undefined) {
    throw new ConfigError(`${snapshot} is set: this version cannot restore snapshots yet, it must be unset`)
  }
}

/**
 * The rules for a start that would create a genesis.
 * @throws ConfigError when no genesis may be created with this configuration
 */
export function checkFreshGenesis(config: Pick<Config, 'joining' | 'genesis'>): FreshGenesisConfig {
  const snapshot = snapshotVariable(config)
  if (snapshot !== undefined) {
    throw new ConfigError(`${snapshot} is set: it must be unset where a fresh genesis is created`)
  }
  if (config.genesis.hash !== undefined) {
    throw new ConfigError(
      'GENESIS_HASH is set: there is no genesis.json to compare with; put it in place, set JOIN_NETWORK to take it from a seed node, or unset GENESIS_HASH to create one',
    )
  }
  if (config.genesis.wallet === undefined) {
    throw new ConfigError(
      'GENESIS_WALLET is not set: a fresh genesis needs the address that receives the initial supply, 0x and 40 hex digits or coin1…; set JOIN_NETWORK=true to join a network instead',
    )
  }
  if (config.genesis.wallet.every((byte) => byte === 0)) {
    throw new ConfigError('GENESIS_WALLET is the zero address: nobody could ever spend the initial supply')
  }
  return { wallet: config.genesis.wallet, selfDelegationAcoin: config.genesis.selfDelegationAcoin }
}

/**
 * The rules for a start that takes the genesis from a seed node.
 * @returns SEED_NODE_URL
 * @throws ConfigError when the seed node, or a peer to get blocks from, is not configured
 */
export function checkJoining(config: Pick<Config, 'joining' | 'p2p'>): string {
  checkSupported(config)
  const { seedNodeUrl, seedNodeId } = config.joining
  if (seedNodeUrl === undefined) {
    throw new ConfigError(
      'SEED_NODE_URL is not set: JOIN_NETWORK=true needs the RPC address of a node to take the genesis from',
    )
  }
  const { username, password } = new URL(seedNodeUrl)
  if (username !== '' || password !== '') {
    throw new ConfigError('SEED_NODE_URL has a user name or password in it: it must be a public address')
  }
  if (seedNodeId === undefined && config.p2p.persistentPeers.length === 0) {
    throw new ConfigError(
      'SEED_NODE_ID and SEED_PEER_HOST are not set: JOIN_NETWORK=true needs a peer to take the blocks from',
    )
  }
  return seedNodeUrl
}

function snapshotVariable(config: Pick<Config, 'joining'>): string | undefined {
  if (config.joining.forceSnapshotRestore) return 'FORCE_SNAPSHOT_RESTORE'
  return config.joining.snapshotManifestUrl === undefined ? undefined : 'SNAPSHOT_MANIFEST_URL'
}
