import type { Address } from '../primitives/address.ts'
import type { Config } from './config.ts'
import { ConfigError } from './configError.ts'

/**
 * The one major version of Node.js whose V8, WebAssembly, zlib and ICU this version is tested with (docs/dependencies.md). Whatever
 * else names it says the same: bin/coind.js, scripts/prepare.js, Dockerfile, package.json, README.md.
 */
export const NODE_MAJOR = 26

/** This Node.js may not sign blocks. */
export class UnsupportedRuntimeError extends Error {
  override readonly name = 'UnsupportedRuntimeError'
}

/**
 * Checks the Node.js that runs a node: where the versions of validators differ, they may differ in
 * what a block does, and the chain stops or splits. A node that does not sign harms only itself.
 * @param version as in process.versions.node
 * @param isValidator whether the node's key is among the validators of the next blocks
 * @returns a warning for the operator of a node that does not sign
 * @throws UnsupportedRuntimeError for a validator
 */
export function checkRuntime(version: string, isValidator: boolean): string | undefined {
  if (Number(version.split('.')[0]) === NODE_MAJOR) return undefined
  const problem = `this is Node.js ${version}, and blocks are tested with Node.js ${NODE_MAJOR} only`
  const advice = `install Node.js ${NODE_MAJOR}, or run npm ci without --omit=optional, which installs it with coind`
  if (isValidator)
    throw new UnsupportedRuntimeError(`a validator does not sign with this Node.js: ${problem}; ${advice}`)
  return `${problem}: this node may stop at a block that others accept, and does not start as a validator; ${advice}`
}

/** The part of the configuration that a fresh genesis needs. */
interface FreshGenesisConfig {
  readonly wallet: Address
  readonly selfDelegationAcoin: bigint
}

/** @throws ConfigError when a restore is demanded, but not from where */
export function checkRestore({ joining }: Pick<Config, 'joining'>): void {
  if (!joining.forceSnapshotRestore || joining.snapshotManifestUrl !== undefined) return
  throw new ConfigError('FORCE_SNAPSHOT_RESTORE is set, but not SNAPSHOT_MANIFEST_URL: set both, or neither')
}

/**
 * Checks a start that would create a genesis.
 * @throws ConfigError when no genesis may be created with this configuration
 */
export function checkFreshGenesis(config: Pick<Config, 'joining' | 'genesis'>): FreshGenesisConfig {
  const snapshot = snapshotVariable(config)
  if (snapshot !== undefined) {
    throw new ConfigError(
      `${snapshot} is set: unset it to create a fresh genesis, or set JOIN_NETWORK=true to join a network`,
    )
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
    throw new ConfigError(
      'GENESIS_WALLET is the zero address, whose initial supply could never be spent: set an address that you have the key of',
    )
  }
  return { wallet: config.genesis.wallet, selfDelegationAcoin: config.genesis.selfDelegationAcoin }
}

/**
 * Checks a start that takes the genesis from a seed node.
 * @returns SEED_NODE_URL
 * @throws ConfigError when the seed node, or a peer to get blocks from, is not configured
 */
export function checkJoining(config: Pick<Config, 'joining' | 'p2p'>): string {
  checkRestore(config)
  const { seedNodeUrl, seedNodeId } = config.joining
  if (seedNodeUrl === undefined) {
    throw new ConfigError(
      'SEED_NODE_URL is not set: JOIN_NETWORK=true needs the RPC address of a node to take the genesis from',
    )
  }
  checkSeedUrl(seedNodeUrl)
  const { persistentPeers, seeds, isSeed } = config.p2p
  if (!isSeed && seedNodeId === undefined && persistentPeers.length === 0 && seeds.length === 0) {
    throw new ConfigError(
      'SEED_NODE_ID and SEED_PEER_HOST are not set: JOIN_NETWORK=true needs a peer to take the blocks from, or SEEDS to find one',
    )
  }
  return seedNodeUrl
}

/** @throws ConfigError when the address has a secret in it, which others could read */
export function checkSeedUrl(seedNodeUrl: string): void {
  const { username, password } = new URL(seedNodeUrl)
  if (username === '' && password === '') return
  throw new ConfigError('SEED_NODE_URL has a user name or password in it: it must be a public address')
}

/** Whether a node with this configuration may have to restore a snapshot, if it has no database or was told to replace it. */
export function asksForSnapshot(config: Pick<Config, 'joining'>): boolean {
  return config.joining.isJoining || snapshotVariable(config) !== undefined
}

function snapshotVariable(config: Pick<Config, 'joining'>): string | undefined {
  if (config.joining.forceSnapshotRestore) return 'FORCE_SNAPSHOT_RESTORE'
  if (config.joining.syncMode === 'snapshot') return 'SYNC_MODE=snapshot'
  return config.joining.snapshotManifestUrl === undefined ? undefined : 'SNAPSHOT_MANIFEST_URL'
}
