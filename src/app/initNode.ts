import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createGenesis, type FundedAccount } from '../chain/createGenesis.ts'
import { formatGenesis, genesisHash, genesisValidators, parseGenesis } from '../chain/genesis.ts'
import { ACOIN_PER_COIN, INITIAL_SUPPLY_ACOIN } from '../chain/genesisConstants.ts'
import { GenesisError } from '../chain/genesisError.ts'
import type { Genesis } from '../chain/genesisSchema.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/configError.ts'
import { checkFreshGenesis, checkSupported } from '../config/startRules.ts'
import { BECH32_OPERATOR, toBech32, toChecksumAddress } from '../primitives/address.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'
import type { DataPaths } from './dataDirectory.ts'

/** The consensus key file, as far as a genesis needs it. Public keys: ed25519, 32 bytes. */
export interface ConsensusKeyFile {
  /** undefined when there is no file */
  load(): Uint8Array | undefined
  /** Makes a key and its file. */
  create(): Uint8Array
}

export interface InitOptions {
  /** milliseconds since the epoch: the genesis time of a fresh genesis */
  readonly nowMs: number
  /** minted on top of the initial supply of a fresh genesis (development networks) */
  readonly fundedAccounts?: readonly FundedAccount[]
  /** gas limit of a block's EVM transactions in a fresh genesis */
  readonly blockGasLimit?: bigint
}

export interface InitResult {
  /** whether the genesis was created now */
  readonly isFresh: boolean
  readonly genesis: Genesis
  readonly genesisHash: Hash
  /** lines for the operator */
  readonly warnings: readonly string[]
}

/**
 * The rules that need no look into the files, for before the directory is locked: a start that they refuse leaves
 * nothing behind.
 * @throws ConfigError
 */
export function checkInit(config: InitConfig, paths: Pick<DataPaths, 'genesis'>): void {
  if (existsSync(paths.genesis)) checkSupported(config)
  else checkFreshGenesis(config)
}

type InitConfig = Pick<Config, 'chainId' | 'moniker' | 'genesis' | 'joining'>

/**
 * Makes the data directory ready for a start: reads genesis.json, or creates it with this node as the sole validator. An existing
 * consensus key is used. Doing it again changes nothing. Call it with the directory locked.
 * @throws ConfigError with one line for the operator: what is wrong and what to do
 */
export function initNode(
  config: InitConfig,
  paths: DataPaths,
  key: ConsensusKeyFile,
  options: InitOptions,
): InitResult {
  if (existsSync(paths.genesis)) return existingGenesis(config, paths, key)
  const { wallet, selfDelegationAcoin } = checkFreshGenesis(config)
  for (const directory of [paths.db, paths.wal]) {
    if (existsSync(directory) && readdirSync(directory).length > 0) {
      throw new ConfigError(
        `${paths.genesis} is missing, but ${directory} holds a chain: put the file back, or move db and wal away to begin a new chain`,
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
  writeFileDurably(paths.genesis, formatGenesis(genesis), 0o644)
  // The directory itself may be new.
  syncDirectory(paths.homedir)
  return { isFresh: true, genesis, genesisHash: genesisHash(genesis), warnings: delegationWarnings(genesis) }
}

function existingGenesis(config: InitConfig, paths: DataPaths, key: ConsensusKeyFile): InitResult {
  checkSupported(config)
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
  checkValidatorKey(genesis, paths, key)
  return {
    isFresh: false,
    genesis,
    genesisHash: hash,
    warnings: [...walletWarnings(config, genesis), ...delegationWarnings(genesis)],
  }
}

/** @throws ConfigError when the file cannot be read or is not a genesis */
export function readGenesisFile(path: string): Genesis {
  try {
    return parseGenesis(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof GenesisError) throw new ConfigError(`${path}: ${error.message}`)
    throw new ConfigError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`)
  }
}

/** Without peers a node can only follow a chain whose blocks it decides itself. */
function checkValidatorKey(genesis: Genesis, paths: DataPaths, key: ConsensusKeyFile): void {
  const publicKey = key.load()
  if (publicKey === undefined) {
    throw new ConfigError(`${paths.validatorKey} is missing: put back the key of the validator in genesis.json`)
  }
  if (!genesisValidators(genesis).some((validator) => equalBytes(validator.publicKey, publicKey))) {
    throw new ConfigError(
      `${paths.validatorKey} is not the key of a validator in genesis.json: put back the one that is`,
    )
  }
}

function walletWarnings(config: InitConfig, genesis: Genesis): readonly string[] {
  const { wallet } = config.genesis
  const [validator] = genesis.app_state.staking.validators
  if (wallet === undefined || validator?.operator_address === toBech32(wallet, BECH32_OPERATOR)) return []
  return [`GENESIS_WALLET ${toChecksumAddress(wallet)} is not the one of the existing genesis and has no effect`]
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
