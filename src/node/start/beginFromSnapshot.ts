import { existsSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeLightBlock } from '../../chain/comet/lightBlock.ts'
import { ConsensusDecodingError } from '../../chain/comet/wire.ts'
import { readHeadRecord } from '../../chain/store/writeBlock.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/configError.ts'
import { decideSync } from '../../config/syncDecision.ts'
import { beginSwitch, currentDatabase, wasRestoredFrom } from '../../datadir/currentDatabase.ts'
import {
  begunHeight,
  type ChunkSource,
  FalseSnapshotError,
  leftovers,
  restoreSnapshot,
  TooLittleRoomError,
} from '../../datadir/restoreSnapshot.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import { shownUrl } from '../../primitives/httpProblems.ts'
import {
  MAX_MANIFEST_BYTES,
  type Manifest,
  ManifestError,
  readManifest,
  SnapshotUnavailableError,
} from '../../snapshot/manifest.ts'
import { publicFiles, SNAPSHOT_FILES } from '../../snapshot/publicFiles.ts'
import { Database, DatabaseError, type DatabaseErrorCode } from '../../storage/database.ts'
import {
  type FoundSnapshot,
  findSnapshots,
  NoPeerServes,
  PeerFiles,
  TriedSnapshots,
  waitForPeers,
} from '../../sync/blocks/peerSnapshots.ts'
import { type LightBlockSource, LightClientError } from '../../sync/light/lightBlockSource.ts'
import { genesisTimes, openLightClient } from '../../sync/light/openLightClient.ts'
import { PeerSource } from '../../sync/light/peerSource.ts'
import { RpcSource } from '../../sync/light/rpcSource.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { startProgress } from '../../telemetry/progress.ts'
import { type JoinNetwork, openJoinNetwork } from './joinNetwork.ts'
import { type Home, waitForDatabase } from './openHome.ts'

export interface SnapshotStart {
  readonly config: Config
  readonly home: Home
  readonly logger: Logger
  /** whether the database may be replaced by one of a lower height */
  readonly allowsOlder: boolean
  readonly signal: AbortSignal
}

/** The next blocks are fetched as such: a snapshot would not be faster. */
const NEAR_BLOCKS = 50
/** Snapshots of peers that are tried before blocks are taken: two of each liar (see `TriedSnapshots`) leave some for the others. */
const ATTEMPTS = 20

/**
 * Puts the database of a snapshot into place, where the settings ask for one, before anything opens the database:
 *
 * 1. FORCE_SNAPSHOT_RESTORE replaces whatever database there is, once for each value of SNAPSHOT_MANIFEST_URL. A node without a database
 *    begins from a snapshot, if it joins a network or SNAPSHOT_MANIFEST_URL names one.
 * 2. TRUST_PERIOD and the trust point decide whether a snapshot can be verified at all.
 * 3. The snapshot comes from SNAPSHOT_MANIFEST_URL or, without it, from peers: the newest that verifies, or one that an interrupted start
 *    has begun to restore.
 * 4. It is verified and restored next to the current database, and then replaces it by one synced file.
 *
 * @throws ConfigError, SnapshotUnavailableError, FalseSnapshotError with one line for the operator; the signal's reason
 */
export async function beginFromSnapshot(start: SnapshotStart): Promise<void> {
  const { config, home, logger } = start
  const { paths } = home
  const source = sourceOf(config)
  // 1.
  if (!isWanted(config, paths, source)) {
    removeLeftovers(paths)
    return
  }
  // 2.
  const decision = decideSync(config, genesisTimes(home.genesis.document()), Date.now())
  if (decision.kind === 'blocks') {
    if (decision.warning !== undefined) logger.warn(decision.warning)
    else if (source !== null) logger.warn('SNAPSHOT_MANIFEST_URL is ignored: SYNC_MODE or PRUNING asks for all blocks')
    return
  }
  // 3.
  const height = await restoreFromSource(start, decision.isRequired)
  if (height === undefined) return
  // 4.
  beginSwitch(paths, source)
  await waitForDatabase(home, logger)
  logger.info({ height }, 'the node starts from the state of a snapshot')
}

/** Identifies the place from which a database is restored; null: the settings name no place. */
function sourceOf({ joining }: Pick<Config, 'joining'>): string | null {
  const url = joining.snapshotManifestUrl
  return url === undefined ? null : bytesToHex(sha256(Buffer.from(url)))
}

/** A snapshot that can be restored next to a damaged database. */
interface AvailableSnapshot {
  /** for messages */
  readonly place: string
  /** see `beginSwitch` */
  readonly source: string | null
  /** @returns the height of its block; undefined when it turns out that there is no snapshot */
  readonly restore: () => Promise<number | undefined>
}

/** Returns the snapshot that the settings allow to restore instead of a damaged database, if any. @throws ConfigError */
export function snapshotFor(start: SnapshotStart): AvailableSnapshot | undefined {
  const { config, home } = start
  const { snapshotManifestUrl, isJoining } = config.joining
  const { persistentPeers, seeds } = config.p2p
  const hasPeers = isJoining || persistentPeers.length > 0 || seeds.length > 0
  const { kind } = decideSync(config, genesisTimes(home.genesis.document()), Date.now())
  if (kind === 'blocks' || (snapshotManifestUrl === undefined && !hasPeers)) return undefined
  return {
    place: snapshotManifestUrl === undefined ? 'the peers' : shownUrl(new URL(snapshotManifestUrl)),
    source: sourceOf(config),
    restore: () => restoreFromSource(start, false),
  }
}

/**
 * Makes the database of a snapshot next to the current one: from SNAPSHOT_MANIFEST_URL or, without it, from the newest
 * snapshot of peers that verifies.
 * @returns the height of its block; undefined when no peer has one, unless it is required
 * @throws ConfigError, SnapshotUnavailableError, FalseSnapshotError with one line for the operator; the signal's reason
 */
async function restoreFromSource(start: SnapshotStart, isRequired: boolean): Promise<number | undefined> {
  const url = start.config.joining.snapshotManifestUrl
  if (url === undefined) return restoreFromPeers(start, isRequired)
  return restoreFromWeb(start, snapshotAt(url, start.signal))
}

function removeLeftovers(paths: Home['paths']): void {
  for (const path of leftovers(paths.restoringDb)) rmSync(path, { recursive: true, force: true })
}

function isWanted({ joining }: Config, paths: Home['paths'], source: string | null): boolean {
  if (existsSync(currentDatabase(paths)))
    return joining.forceSnapshotRestore && source !== null && !wasRestoredFrom(paths, source)
  return joining.isJoining || source !== null || joining.syncMode === 'snapshot'
}

function snapshotAt(address: string, signal: AbortSignal) {
  return publicFiles(new URL(address), SNAPSHOT_FILES, signal)
}

async function restoreFromWeb(start: SnapshotStart, snapshot: ReturnType<typeof snapshotAt>): Promise<number> {
  const manifest = await snapshot.manifest()
  await checkHead(start, manifest)
  try {
    await restore(start, manifest, snapshot, [manifestSource(snapshot.name, manifest)])
  } catch (error) {
    throw isUnproved(error, start.config) ? falseOrFar(error) : translated(error)
  }
  return manifest.height
}

/** Whether only the manifest itself could prove its header, so that waiting would not help. */
function isUnproved(error: unknown, { joining }: Config): error is LightClientError {
  return error instanceof LightClientError && error.kind === 'missing' && joining.seedNodeUrl === undefined
}

function falseOrFar(cause: LightClientError): FalseSnapshotError {
  return new FalseSnapshotError(
    `the manifest alone does not prove its header: it is false, or the validators have changed too much since: set SEED_NODE_URL to a node of this network, or TRUST_HEIGHT and TRUST_HASH (${cause.message})`,
    { cause },
  )
}

/** @throws ConfigError when the node has a newer block than the snapshot */
async function checkHead({ home, allowsOlder }: SnapshotStart, { height }: Manifest): Promise<void> {
  const location = currentDatabase(home.paths)
  if (allowsOlder || !existsSync(location)) return
  const head = await readHeight(location)
  if (head <= height) return
  throw new ConfigError(
    `the snapshot is of block ${height}, and this node has block ${head}: unset FORCE_SNAPSHOT_RESTORE, take a newer snapshot, or start once with --allow-older`,
  )
}

/** @throws ConfigError when the database that is to be replaced cannot tell its height */
async function readHeight(location: string): Promise<number> {
  let database: Database | undefined
  try {
    database = await Database.open(location, { readOnly: true })
    return readHeadRecord(database)?.height ?? 0
  } catch (error) {
    const problem = error instanceof DatabaseError ? READ_PROBLEMS.get(error.code) : undefined
    if (problem === undefined) throw error
    throw new ConfigError(
      `${location} is to be replaced by a snapshot, but cannot be read (${problem}), so its newest block is unknown: start once with --allow-older to replace it in any case, or unset FORCE_SNAPSHOT_RESTORE`,
      { cause: error },
    )
  } finally {
    await database?.close()
  }
}

/** Problems that neither time nor a working disk would solve. */
const READ_PROBLEMS: ReadonlyMap<DatabaseErrorCode, string> = new Map([
  ['corrupt', 'it is damaged'],
  ['absent', 'it is not complete'],
])

/** @returns undefined when blocks are to be taken instead */
async function restoreFromPeers(start: SnapshotStart, isRequired: boolean): Promise<number | undefined> {
  const { config, home, logger, signal } = start
  const network = await openJoinNetwork(config, home)
  try {
    const hasPeers = await waitForPeers({
      network,
      configured: config.p2p.persistentPeers.map(({ id }) => id),
      nowMs: () => performance.now(),
      sleep: (ms) => wait(ms, signal),
      onWaiting: (seconds) =>
        logger.warn(
          { seconds },
          'waiting for a first peer, to ask it for a snapshot: check SEED_PEER_HOST, PERSISTENT_PEERS and SEEDS, or set SYNC_MODE=blocks',
        ),
    })
    if (!hasPeers) {
      throw new SnapshotUnavailableError(
        'no peer could be reached, so there is neither a snapshot nor a block to start from: check SEED_PEER_HOST, SEED_NODE_ID, PERSISTENT_PEERS and SEEDS, and start again',
      )
    }
    const tried = new TriedSnapshots()
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await network.refresh()
      const offered = await findSnapshots(network, await begunHeight(home.paths.restoringDb))
      const found = offered.find((snapshot) => snapshot.height > NEAR_BLOCKS && !tried.has(snapshot))
      if (found === undefined) break
      logger.info({ height: found.height, peers: found.peers.length }, 'restoring a snapshot that peers offer')
      const height = await tryPeers(start, network, found)
      if (height !== undefined) return height
      tried.add(found)
    }
  } finally {
    await network.close()
  }
  signal.throwIfAborted()
  if (isRequired) {
    throw new SnapshotUnavailableError(
      'SYNC_MODE=snapshot is set, but no peer gave a snapshot that could be restored: set SNAPSHOT_MANIFEST_URL, name other peers, or set SYNC_MODE=blocks to execute all blocks',
    )
  }
  logger.info('no peer offers a snapshot that would save time: all blocks are fetched and executed')
  // Left by a snapshot that could not be restored completely; the next start will not need it.
  removeLeftovers(home.paths)
  return undefined
}

/** @returns undefined when this snapshot cannot be restored: another one is tried */
async function tryPeers(start: SnapshotStart, network: JoinNetwork, found: FoundSnapshot): Promise<number | undefined> {
  const { logger, signal } = start
  const files = new PeerFiles({
    network,
    peers: found.peers,
    nowMs: () => performance.now(),
    sleep: async (ms) => {
      await wait(ms, signal)
      await network.refresh()
    },
  })
  try {
    if (found.manifestBytes > MAX_MANIFEST_BYTES) throw new ManifestError(`it has ${found.manifestBytes} bytes`)
    const manifest = readManifest(await files.fetch({ sha256: found.manifest, bytes: found.manifestBytes }, signal))
    const peers = network.peers().map((peer) => new PeerSource(peer, (height) => network.fetchLightBlock(peer, height)))
    await restore(start, manifest, files, [...peers, manifestSource('the manifest', manifest)])
    return manifest.height
  } catch (error) {
    const isFalse = error instanceof FalseSnapshotError || error instanceof ManifestError
    if (isFalse) files.punishAll((error as Error).message)
    else if (error instanceof LightClientError && isConclusive(error)) throw translated(error)
    else if (!OF_ONE_SNAPSHOT.some((kind) => error instanceof kind)) throw error
    logger.warn(
      { height: found.height, reason: (error as Error).message },
      'a snapshot that peers offer cannot be restored',
    )
    return undefined
  }
}

/** Errors after which another snapshot may be restored. The needed room is only what the offering peers claim. */
const OF_ONE_SNAPSHOT = [NoPeerServes, LightClientError, TooLittleRoomError] as const

async function restore(
  { config, home, logger, signal }: SnapshotStart,
  manifest: Manifest,
  files: ChunkSource,
  others: readonly LightBlockSource[],
): Promise<void> {
  const { seedNodeUrl } = config.joining
  const seed = seedNodeUrl === undefined ? [] : [new RpcSource({ url: seedNodeUrl, sleep: wait })]
  const client = openLightClient({
    joining: config.joining,
    genesis: home.genesis.document(),
    sources: [...seed, ...others],
    nowMs: () => Date.now(),
    onWarning: (message) => logger.warn(message),
  })
  const { height } = manifest
  const headers = {
    at: await client.verify(height, signal),
    next: await client.verify(height + 1, signal),
    afterNext: await client.verify(height + 2, signal),
  }
  logger.info({ height }, 'the header of the snapshot is verified')
  const progress = startProgress({ title: 'restoring the snapshot', unit: 'bytes', logger })
  try {
    await restoreSnapshot({
      location: home.paths.restoringDb,
      manifest,
      headers,
      chain: home.chain,
      genesis: home.genesis.state(),
      files,
      onProgress: progress.update,
      signal,
    })
  } finally {
    progress.end()
  }
}

/** @throws the signal's reason */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}

/** Offers the light blocks in a manifest as one more source, which is not trusted either. */
function manifestSource(name: string, { height, lightBlocks }: Manifest): LightBlockSource {
  return {
    name: `${name} (light blocks of the manifest)`,
    isStranger: true,
    fetch: async (asked) => {
      const bytes = lightBlocks[asked - height]
      if (bytes === undefined) return undefined
      try {
        return decodeLightBlock(bytes)
      } catch (error) {
        if (!(error instanceof ConsensusDecodingError)) throw error
        throw new LightClientError('invalid', `the manifest has a wrong light block: ${error.message}`)
      }
    },
    nearest: async (asked, { from, to }) => {
      const heights = [height, height + 1, height + 2].filter((known) => known > from && known < to)
      return heights.sort((a, b) => Math.abs(a - asked) - Math.abs(b - asked))[0]
    },
  }
}

/** Whether another snapshot would not help. */
function isConclusive({ kind }: LightClientError): boolean {
  return kind === 'trustExpired' || kind === 'conflictingHeaders' || kind === 'wrongTrust'
}

/** Translates an error into one whose class says what the operator can do. */
function translated(error: unknown): unknown {
  if (!(error instanceof LightClientError)) return error
  const { kind, message } = error
  if (kind === 'trustExpired' || kind === 'wrongTrust') return new ConfigError(message, { cause: error })
  if (kind === 'unavailable' || kind === 'missing') {
    return new SnapshotUnavailableError(`the header of the snapshot cannot be verified: ${message}`, { cause: error })
  }
  return new FalseSnapshotError(`the header of the snapshot cannot be verified: ${message}`, { cause: error })
}
