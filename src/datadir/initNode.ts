import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createGenesis, type FundedAccount } from '../chain/genesis/createGenesis.ts'
import { formatGenesis, genesisHash, genesisValidators, parseGenesis } from '../chain/genesis/genesis.ts'
import { ACOIN_PER_COIN, INITIAL_SUPPLY_ACOIN } from '../chain/genesis/genesisConstants.ts'
import { type Genesis, GenesisError } from '../chain/genesis/genesisSchema.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/configError.ts'
import { checkFreshGenesis, checkJoining, checkRestore } from '../config/startRules.ts'
import { BECH32_OPERATOR, toBech32, toChecksumAddress } from '../primitives/address.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'
import type { DataPaths } from './dataDirectory.ts'

/** The consensus key file. Public keys are ed25519, 32 bytes. */
export interface ConsensusKeyFile {
  /** undefined when there is no file */
  load(): Uint8Array | undefined
  /** Makes a key and its file. */
  create(): Uint8Array
}

interface InitOptions {
  /** milliseconds since the epoch: the genesis time of a fresh genesis */
  readonly nowMs: number
  /** minted on top of the initial supply of a fresh genesis (development networks) */
  readonly fundedAccounts?: readonly FundedAccount[]
  /** gas limit of a block's EVM transactions in a fresh genesis */
  readonly blockGasLimit?: bigint
  /** genesis of the network that this node joins, checked; required where `needsGenesis` says so */
  readonly joined?: Genesis
}

export interface InitResult {
  /** whether the genesis was created, or taken from a seed node, in this call */
  readonly isFresh: boolean
  readonly genesis: Genesis
  readonly genesisHash: Hash
  /** lines for the operator */
  readonly warnings: readonly string[]
}

/**
 * Makes the checks that read no files, before the directory is locked: a start that they refuse
 * leaves no files.
 * @throws ConfigError
 */
export function checkInit(config: InitConfig, paths: Pick<DataPaths, 'genesis'>): void {
  if (existsSync(paths.genesis)) checkRestore(config)
  else if (config.joining.isJoining) checkJoining(config)
  else checkFreshGenesis(config)
}

/** Whether the genesis has to be fetched from the network that this node joins. */
export function needsGenesis(config: InitConfig, paths: Pick<DataPaths, 'genesis'>): boolean {
  return config.joining.isJoining && !existsSync(paths.genesis)
}

type InitConfig = Pick<Config, 'chainId' | 'moniker' | 'genesis' | 'joining' | 'p2p'>

/**
 * Prepares the data directory for a start: reads genesis.json, takes it from the network that the node joins, or creates it with this
 * node as the only validator. Existing keys are used. A second call changes nothing. Call it with the directory locked.
 * @throws ConfigError with one line for the operator: what is wrong and what to do
 */
export function initNode(
  config: InitConfig,
  paths: DataPaths,
  key: ConsensusKeyFile,
  options: InitOptions,
): InitResult {
  if (existsSync(paths.resetMarker)) {
    throw new ConfigError(`a reset of ${paths.homedir} was interrupted: run coind reset again`)
  }
  if (existsSync(paths.genesis)) return existingGenesis(config, paths, key)
  if (config.joining.isJoining) return joinedGenesis(config, paths, key, options)
  const { wallet, selfDelegationAcoin } = checkFreshGenesis(config)
  for (const directory of [paths.db, paths.wal]) {
    if (existsSync(directory) && readdirSync(directory).length > 0) {
      throw new ConfigError(
        `${paths.genesis} is missing, but ${directory} holds a chain: put the file back, or run coind reset to start a new chain`,
      )
    }
  }
  mkdirSync(paths.config, { recursive: true, mode: 0o700 })
  const consensusPublicKey = key.load() ?? key.create()
  const genesis = createGenesis({
    genesisTimeMs: options.nowMs,
    chainId: config.chainId,
    wallet,
    selfDelegationAcoin,
    consensusPublicKey,
    moniker: config.moniker,
    ...(options.fundedAccounts === undefined ? {} : { fundedAccounts: options.fundedAccounts }),
    ...(options.blockGasLimit === undefined ? {} : { blockGasLimit: options.blockGasLimit }),
  })
  writeGenesis(paths, genesis)
  const { seedNodeUrl, seedNodeId } = config.joining
  const seedWarnings =
    seedNodeUrl === undefined && seedNodeId === undefined
      ? []
      : ['created a genesis: SEED_NODE_URL has no effect without JOIN_NETWORK=true']
  return {
    isFresh: true,
    genesis,
    genesisHash: genesisHash(genesis),
    warnings: [...seedWarnings, ...delegationWarnings(genesis)],
  }
}

/**
 * Writes the fetched genesis. An existing database may belong to that network: the start compares
 * it with the genesis.
 */
function joinedGenesis(
  config: InitConfig,
  paths: DataPaths,
  key: ConsensusKeyFile,
  { joined }: InitOptions,
): InitResult {
  if (joined === undefined) throw new Error('could not fetch the genesis of the network to join')
  mkdirSync(paths.config, { recursive: true, mode: 0o700 })
  writeGenesis(paths, joined)
  const existing = existingGenesis(config, paths, key)
  const pinned =
    config.genesis.hash === undefined
      ? [
          `the genesis of ${joined.chain_id} was accepted without a check: set GENESIS_HASH=${digits(existing.genesisHash)} to pin it`,
        ]
      : []
  return { ...existing, isFresh: true, warnings: [...pinned, ...existing.warnings] }
}

function writeGenesis(paths: DataPaths, genesis: Genesis): void {
  writeFileDurably(paths.genesis, formatGenesis(genesis), 0o644)
  // The directory itself may be new.
  syncDirectory(paths.homedir)
}

function existingGenesis(config: InitConfig, paths: DataPaths, key: ConsensusKeyFile): InitResult {
  const genesis = readGenesisFile(paths.genesis)
  const hash = genesisHash(genesis)
  if (genesis.chain_id !== config.chainId) {
    throw new ConfigError(
      `CHAIN_ID is ${config.chainId}, but ${paths.genesis} is for ${genesis.chain_id}: set NETWORK or CHAIN_ID to match, or use another HOMEDIR`,
    )
  }
  if (config.genesis.hash !== undefined && !equalBytes(config.genesis.hash, hash)) {
    throw new ConfigError(
      `GENESIS_HASH is ${digits(config.genesis.hash)}, but ${paths.genesis} has the hash ${digits(hash)}`,
    )
  }
  const keyWarnings = checkValidatorKey(config, genesis, paths, key)
  return {
    isFresh: false,
    genesis,
    genesisHash: hash,
    warnings: [...keyWarnings, ...walletWarnings(config, genesis), ...delegationWarnings(genesis)],
  }
}

/**
 * @param isDraft whether it may still be without validators
 * @throws ConfigError when the file cannot be read or is not a genesis
 */
export function readGenesisFile(path: string, isDraft = false): Genesis {
  try {
    return parseGenesis(readFileSync(path, 'utf8'), isDraft)
  } catch (error) {
    if (error instanceof GenesisError) throw new ConfigError(`${path}: ${error.message}`)
    throw new ConfigError(`cannot read ${path} (${(error as NodeJS.ErrnoException).code ?? String(error)})`)
  }
}

/**
 * A node whose key is in the genesis is a validator from the first block on. Any other node follows the network; its key may become a
 * validator's later. If there is no network to follow, the only validator's key has been lost, or it was rotated: then there are blocks.
 * @returns warnings
 */
function checkValidatorKey(
  config: InitConfig,
  genesis: Genesis,
  paths: DataPaths,
  key: ConsensusKeyFile,
): readonly string[] {
  const validators = genesisValidators(genesis)
  const { isJoining } = config.joining
  const { persistentPeers, seeds, isSeed } = config.p2p
  const isAlone = validators.length === 1 && !isJoining && !isSeed && persistentPeers.length + seeds.length === 0
  const publicKey = key.load()
  if (publicKey === undefined) {
    if (isAlone) {
      throw new ConfigError(`${paths.validatorKey} is missing: put back the key of the validator in genesis.json`)
    }
    key.create()
    return isJoining
      ? []
      : [`${paths.validatorKey} was missing and has been created: no validator in genesis.json has this key`]
  }
  if (validators.some((validator) => equalBytes(validator.publicKey, publicKey)) || !isAlone) return []
  if (existsSync(paths.db)) {
    const why = 'without a rotation of the validator to this key, the chain makes no blocks'
    return [`${paths.validatorKey} is not the key of the validator in genesis.json: ${why}`]
  }
  throw new ConfigError(
    `${paths.validatorKey} is not the key of a validator in genesis.json: put back the validator's key, or name peers in PERSISTENT_PEERS or SEEDS`,
  )
}

function walletWarnings(config: InitConfig, genesis: Genesis): readonly string[] {
  const { wallet } = config.genesis
  // A joining node may be started with the same environment variables as the node that created the network.
  if (wallet === undefined || config.joining.isJoining) return []
  const operator = toBech32(wallet, BECH32_OPERATOR)
  if (genesis.app_state.staking.validators.some(({ operator_address }) => operator_address === operator)) return []
  return [
    `GENESIS_WALLET ${toChecksumAddress(wallet)} differs from the wallet in the existing genesis and has no effect`,
  ]
}

function delegationWarnings(genesis: Genesis): readonly string[] {
  const bonded = genesis.app_state.staking.validators.reduce((sum, validator) => sum + BigInt(validator.tokens), 0n)
  if (bonded * 1000n >= INITIAL_SUPPLY_ACOIN) return []
  return [
    `only ${bonded / ACOIN_PER_COIN} COIN are bonded, under 0.1 % of the initial supply: a few small holders could outvote the validator (GENESIS_SELF_DELEGATION)`,
  ]
}

function digits(hash: Uint8Array): string {
  return bytesToHex(hash).slice(2)
}
