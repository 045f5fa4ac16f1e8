import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { ValidatorSet } from '../../chain/comet/types.ts'
import { createValidatorSet } from '../../chain/comet/validatorSet.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { chainConfigOf, genesisValidators } from '../../chain/genesis/genesis.ts'
import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import { type HeaderRules, headerRules } from '../../chain/retention/headerRetention.ts'
import { readHeadRecord } from '../../chain/store/writeBlock.ts'
import type { StartOptions } from '../../cli/ports.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/configError.ts'
import { checkJoining } from '../../config/startRules.ts'
import { trustPeriodOf } from '../../config/syncDecision.ts'
import { type ConsensusKey, localKey } from '../../consensus/consensusKey.ts'
import { setLogAside } from '../../consensus/setLogAside.ts'
import { createValidatorKey, loadPublicKey, loadValidatorKey, type ValidatorKey } from '../../consensus/validatorKey.ts'
import { ValidatorKeys } from '../../consensus/validatorKeys.ts'
import { removeCopyMark } from '../../datadir/copyMark.ts'
import { currentDatabase, finishSwitch } from '../../datadir/currentDatabase.ts'
import { type DataPaths, dataPaths, type HomeLock, lockHome } from '../../datadir/dataDirectory.ts'
import {
  type ConsensusKeyFile,
  checkInit,
  type InitResult,
  needsGenesis,
  initNode as prepareGenesis,
} from '../../datadir/initNode.ts'
import { type GenesisState, genesisStateOf } from '../../execution/genesisBlock.ts'
import { loadOrCreateNodeKey, type NodeKey } from '../../p2p/nodeKey.ts'
import { ED25519_KEY_LENGTH, ed25519Address } from '../../primitives/ed25519.ts'
import { damagedContents } from '../../storage/damage.ts'
import { Database } from '../../storage/database.ts'
import { refuseOtherFormat } from '../../storage/storedFormat.ts'
import { START_BYTES, scrubTables, tableBytes, verifyFiles } from '../../storage/verifyFiles.ts'
import { fetchGenesis } from '../../sync/blocks/fetchGenesis.ts'
import { genesisTimes } from '../../sync/light/openLightClient.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { startProgress } from '../../telemetry/progress.ts'
import { openSignerPort, type SignerPort } from './openSigner.ts'

/** A genesis for as long as the start needs it: it may have a million accounts. */
class HeldGenesis {
  #document: Genesis | undefined

  constructor(document: Genesis) {
    this.#document = document
  }

  readonly document = (): Genesis => {
    if (this.#document === undefined) throw new Error('the genesis has been released')
    return this.#document
  }

  readonly state = (): GenesisState => genesisStateOf(this.document())

  /** Frees its memory, when nothing needs it any more. */
  readonly release = (): void => {
    this.#document = undefined
  }
}

/** A locked data directory with everything in it that a start needs. */
export interface Home {
  readonly paths: DataPaths
  readonly lock: HomeLock
  readonly init: Omit<InitResult, 'genesis'>
  readonly chain: ChainConfig
  readonly genesis: HeldGenesis
  readonly validators: ValidatorSet
  /** consensus parameter block.max_gas */
  readonly maxGas: number
  /** how long headers are retained, by the settings and the genesis */
  readonly headers: HeaderRules
  /** of this node's validator */
  readonly validatorKey: Pick<ValidatorKey, 'address' | 'publicKey'>
  /** that key in this process; undefined: remote signers have it */
  readonly ownKey: ValidatorKey | undefined
  /** undefined: there are no remote signers, or the home was not opened for a start */
  readonly signerPort: SignerPort | undefined
  /** that key, and another one while the validator rotates its key */
  readonly validatorKeys: ValidatorKeys
  readonly nodeKey: NodeKey
}

/**
 * Opens a data directory that has its genesis, for commands on an existing chain.
 * @throws ConfigError with one line for the operator; DatabaseError when the database is in another format
 */
export async function openExistingHome(config: Config): Promise<Home> {
  const { genesis } = dataPaths(config.homedir)
  if (!existsSync(genesis)) {
    throw new ConfigError(`${genesis} does not exist: HOMEDIR must be the data directory of a chain`)
  }
  return open(config, {})
}

/**
 * Locks the data directory and reads genesis and keys. A missing genesis is fetched from the seed node or created, as the
 * configuration says; missing keys are created where that is allowed.
 * @param logger reports when the seed node has to be waited for
 * @param onLocked is waited for once the directory is locked, before anything else
 * @throws what `onLocked` throws; ListenError for the address of remote signers; ConfigError, SeedUnavailableError or
 * SeedRefusedError with one line for the operator; DatabaseError when the database is in another format; the reason of the
 * options' signal when that is aborted
 */
export async function openHome(
  config: Config,
  options: StartOptions,
  logger: Logger,
  onLocked?: () => Promise<void>,
): Promise<Home> {
  return open(config, options, logger, onLocked)
}

/** Opens the home. Without a logger the caller signs nothing, so the port for remote signers is not opened. */
async function open(
  config: Config,
  { fundedAccounts, signal, signerMoved = false }: StartOptions,
  logger?: Logger,
  onLocked?: () => Promise<void>,
): Promise<Home> {
  const paths = dataPaths(config.homedir)
  checkInit(config, paths)
  const lock = await lockHome(paths, process.pid)
  let signerPort: SignerPort | undefined
  try {
    signal?.throwIfAborted()
    await onLocked?.()
    // Before anything is changed.
    refuseOtherFormat(currentDatabase(paths))
    if (signerMoved && existsSync(paths.copyMark)) {
      removeCopyMark(paths.copyMark)
      logger?.warn(
        { mark: paths.copyMark },
        '--signer-moved: this directory no longer counts as a copy, its validator signs',
      )
    }
    if (config.signer !== undefined && logger !== undefined) {
      mkdirSync(paths.config, { recursive: true, mode: 0o700 })
      const log = logger.child({ part: 'signer' })
      signerPort = await openSignerPort(config.signer, config, paths, loadOrCreateNodeKey(paths.nodeKey), log, signal)
    }
    const keyFile = keyFileOf(config, paths)
    const joined = needsGenesis(config, paths) ? await genesisToJoin(config, signal, logger) : undefined
    const { genesis, ...init } = prepareGenesis(config, paths, keyFile, {
      nowMs: Date.now(),
      ...(fundedAccounts === undefined ? {} : { fundedAccounts }),
      ...(joined === undefined ? {} : { joined }),
    })
    const ownKey = config.signer === undefined ? loadValidatorKey(paths.validatorKey) : undefined
    const publicKey = keyFile.load()
    if (publicKey === undefined) throw new Error(`${paths.validatorKey} has disappeared during the start`)
    const identity = { publicKey, address: ed25519Address(publicKey) }
    const nextKey = loadValidatorKey(paths.nextValidatorKey)
    const chain = chainConfigOf(genesis)
    const { pruning, blockHistory, snapshots, joining } = config
    const trustPeriodMs = trustPeriodOf(joining, genesisTimes(genesis))
    const headers = headerRules({ pruning, blockHistory, snapshots, evidence: chain.evidence, trustPeriodMs })
    await waitForDatabase({ paths, chain }, logger)
    return {
      paths,
      lock,
      init,
      chain,
      genesis: new HeldGenesis(genesis),
      validators: createValidatorSet(genesisValidators(genesis)),
      maxGas: Number(genesis.consensus.params.block.max_gas),
      headers,
      validatorKey: identity,
      validatorKeys: new ValidatorKeys([
        signerPort?.key ?? (ownKey === undefined ? withoutSigner(identity) : localKey(ownKey)),
        ...(nextKey === undefined ? [] : [localKey(nextKey)]),
      ]),
      ownKey,
      signerPort,
      nodeKey: loadOrCreateNodeKey(paths.nodeKey),
    }
  } catch (error) {
    signerPort?.close()
    await lock.release()
    throw error
  }
}

/** Returns the key of a remote signer where its port is not opened: commands that sign nothing open the home, too. */
function withoutSigner(identity: Pick<ValidatorKey, 'address' | 'publicKey'>): ConsensusKey {
  return { ...identity, sign: () => undefined }
}

/** Returns where the public key of this node's validator is stored: no key is made where remote signers have it. */
function keyFileOf(config: Config, paths: DataPaths): ConsensusKeyFile {
  if (config.signer === undefined) {
    return {
      load: () => loadValidatorKey(paths.validatorKey)?.publicKey,
      create: () => createValidatorKey(paths.validatorKey, randomBytes(ED25519_KEY_LENGTH)).publicKey,
    }
  }
  const known = (): Uint8Array => {
    const publicKey = loadPublicKey(paths.signerPublicKey) ?? loadValidatorKey(paths.validatorKey)?.publicKey
    if (publicKey !== undefined) return publicKey
    throw new ConfigError(
      `${paths.signerPublicKey} does not exist yet: start the node once with its remote signer (PRIV_VALIDATOR_LADDR)`,
    )
  }
  return { load: known, create: known }
}

async function genesisToJoin(
  config: Config,
  signal: AbortSignal | undefined,
  logger: Pick<Logger, 'info' | 'warn'> | undefined,
): Promise<Genesis> {
  const url = checkJoining(config)
  return fetchGenesis({
    url,
    expected: { chainId: config.chainId, evmChainId: config.evmChainId, hash: config.genesis.hash },
    sleep: (ms, stop) => setTimeout(ms, undefined, { signal: stop }),
    signal: signal ?? new AbortController().signal,
    onRetry: (reason, delayMs) => {
      logger?.warn({ reason, retryInSeconds: delayMs / 1000 }, 'waiting for the genesis from the seed node')
    },
  })
}

/**
 * Ends a switch to a restored database, if one is under way, with a write-ahead log that fits it. The directory must be locked.
 * @throws ConfigError, DatabaseError, WalError
 */
export async function waitForDatabase(
  { paths, chain }: Pick<Home, 'paths' | 'chain'>,
  logger: Pick<Logger, 'info' | 'warn'> | undefined,
): Promise<void> {
  await finishSwitch(paths, async () => {
    const database = await Database.open(paths.db, { readOnly: true })
    const head = readHeadRecord(database)
    await database.close()
    if (head?.decided === undefined) throw damagedContents('it was restored, and has no head')
    const aside = await setLogAside(
      {
        wal: {
          directory: paths.wal,
          genesisHash: chain.genesisHash,
          randomBytes,
          warn: (message, fields) => logger?.warn(fields, message),
        },
        evidenceDirectory: join(paths.wal, 'evidence'),
        chainId: chain.chainId,
        maxBlockBytes: chain.maxBlockBytes,
      },
      { height: head.height, blockId: head.decided.blockId },
    )
    if (aside !== undefined) {
      logger?.warn(
        { height: head.height, movedTo: aside },
        'the write-ahead log has blocks that do not continue the restored state: it was moved away; the signer still remembers its votes',
      )
    }
  })
}

/**
 * Opens the database of a locked data directory, after a check of its files, which reports its progress where it takes long.
 * @param signal ends the check
 * @throws DatabaseError; `signal.reason`
 */
export async function openDatabase(
  { paths, lock }: Pick<Home, 'paths' | 'lock'>,
  logger: Pick<Logger, 'info'>,
  signal: AbortSignal | undefined,
): Promise<Database> {
  if (lock.wasLeft) {
    const isLong = tableBytes(paths.db) > START_BYTES
    if (isLong) logger.info({ database: paths.db }, 'the last process did not stop cleanly: checking the database')
    await checkTables(paths.db, logger, signal)
  }
  verifyFiles(paths.db, START_BYTES)
  return Database.open(paths.db)
}

/** More than this is not read before a start: half a minute or so. */
const AFTER_CRASH_BYTES = 16 * 2 ** 30

/**
 * Checks more tables than a usual start does. When LevelDB itself hits damage, because it merges tables or reads one that
 * the disk cannot read, the process ends before it can say where (SIGABRT, SIGBUS), and would do so again.
 */
async function checkTables(
  location: string,
  logger: Pick<Logger, 'info'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const total = Math.min(tableBytes(location), AFTER_CRASH_BYTES)
  const progress = startProgress({ title: 'checking the database', unit: 'bytes', total, logger })
  let checked = 0
  try {
    for (const bytes of scrubTables(location)) {
      checked += bytes
      if (checked >= AFTER_CRASH_BYTES) return
      progress.update(checked)
      await setImmediate()
      signal?.throwIfAborted()
    }
  } finally {
    progress.end()
  }
}
