import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { NO_BLOCK_EVENTS } from '../chain/block/entries.ts'
import { decodeEthereumHeader } from '../chain/block/ethereumBlock.ts'
import { type ConsensusBlock, decodeBlock, headerHash } from '../chain/comet/block.ts'
import type { LightBlock } from '../chain/comet/lightBlock.ts'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import { RESTORED_KEY, readBase, writeOldestBlocks } from '../chain/store/chainReader.ts'
import {
  type BlockLink,
  type EncodedBlock,
  LinkError,
  linkBefore,
  readWholeBlock,
} from '../chain/store/linkedBlocks.ts'
import { writeUnrankedSet, writeValidators } from '../chain/store/validatorRecords.ts'
import { writeBlock, writeHeadRecord } from '../chain/store/writeBlock.ts'
import type { GenesisState } from '../execution/genesisBlock.ts'
import { openChain } from '../execution/openChain.ts'
import { ranksAfter } from '../modules/consensus/validatorRanks.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'
import { type BlocksChunk, ChunkError } from '../snapshot/chunk.ts'
import { type ChunkOf, readListedChunk } from '../snapshot/listedChunk.ts'
import { describeChunk, type Manifest, type ManifestChunk } from '../snapshot/manifest.ts'
import { IncompleteStateError, StateRestore } from '../snapshot/restoreState.ts'
import { nativeKey } from '../state/flatState.ts'
import { StateStore } from '../state/stateStore.ts'
import { WriteBatch } from '../storage/batch.ts'
import { BufferedDatabase } from '../storage/bufferedDatabase.ts'
import { Column, columnKey, heightBytes, readHeight } from '../storage/columns.ts'
import { Database, DatabaseError } from '../storage/database.ts'
import { directoryBytes, freeBytesIn } from '../storage/diskBytes.ts'
import { encodeFormat, FORMAT_KEY, GENESIS_HASH_KEY } from '../storage/format.ts'
import { syncDirectory } from '../storage/writeFileDurably.ts'

/** Where the files of a snapshot come from. Nothing of them is trusted but that they have the hash that the manifest says. */
export interface ChunkSource {
  /** May be called several times at once. @throws what ends the restore: no source that is left has the file; the signal's reason */
  fetch(file: { readonly sha256: Uint8Array; readonly bytes: number }, signal: AbortSignal): Promise<Uint8Array>
}

/** Headers, commits and validators of the snapshot's block and of the two after it, which a light client has verified. */
interface VerifiedHeaders {
  readonly at: LightBlock
  readonly next: LightBlock
  readonly afterNext: LightBlock
}

export interface RestoreRequest {
  /** directory of the database to make; what an earlier restore has left there is continued */
  readonly location: string
  readonly manifest: Manifest
  readonly headers: VerifiedHeaders
  readonly chain: ChainConfig
  readonly genesis: GenesisState
  readonly files: ChunkSource
  /** bytes of chunks */
  readonly onProgress: (done: number, total: number) => void
  readonly signal: AbortSignal
  /** bytes that can be written to the file system of a directory */
  readonly freeBytes?: (directory: string) => Promise<number>
}

/** The snapshot is not one of this chain, or not what its manifest says: another one is needed. The message is one line. */
export class FalseSnapshotError extends Error {
  override readonly name = 'FalseSnapshotError'
}

/**
 * Makes a database from a snapshot, which no source of files can falsify:
 *
 * 1. The manifest is compared with the verified headers. H+1's `app_hash` is the hash of the Ethereum header, which has the state root.
 * 2. A directory of an unfinished restore is continued if it has the same state and can be read; otherwise it is made anew.
 * 3. The chunks of the state: several are fetched at the same time, in any order, those with bytecode last; each is verified
 *    against the state root and written.
 * 4. The state is completed and checked as a whole (`StateRestore.finish`).
 * 5. The newest blocks, from H downwards: each is the one that the block above it names.
 * 6. The header of block 0, which follows from the genesis: clients know a chain by its hash.
 * 7. Validators of the next two blocks with their priorities, which are in the state, and the chain's head. The number of the format, last,
 *    makes it a database that a node opens.
 *
 * Each step is on stable storage before the next, and an interrupted restore repeats only what it has to.
 * @throws FalseSnapshotError; DatabaseError, also when there is too little room; what `files` throws
 */
export async function restoreSnapshot(request: RestoreRequest): Promise<void> {
  const { location, manifest, signal } = request
  const stateRoot = checkManifest(request) // 1.
  const database = await openTarget(location, manifest.height, stateRoot) // 2.
  let isDamaged = false
  try {
    if (database.get(FORMAT_KEY) === undefined) {
      await checkRoom(request)
      const progress = countChunks(request)
      await restoreState(database, stateRoot, request, progress) // 3. and 4.
      await restoreBlocks(database, request, progress) // 5.
      signal.throwIfAborted()
      await writeGenesisHeader(database, request) // 6.
      await complete(database, request) // 7.
    }
  } catch (error) {
    if (error instanceof ChunkError || error instanceof IncompleteStateError) throw falseSnapshot(error.message, error)
    isDamaged = error instanceof DatabaseError && error.code === 'corrupt'
    throw isDamaged ? damagedRestore(location, error) : error
  } finally {
    await database.close()
    // The next start would continue it, with the same result.
    if (isDamaged) rmSync(location, { recursive: true })
  }
  syncDirectory(location)
  syncDirectory(dirname(location))
}

function falseSnapshot(reason: string, cause?: unknown): FalseSnapshotError {
  return new FalseSnapshotError(`the snapshot cannot be used: ${reason}`, { cause })
}

/**
 * The disk is too small for what the manifest says. That size is not proved: another snapshot may be smaller.
 */
export class TooLittleRoomError extends DatabaseError {
  constructor(message: string) {
    super('io', message, undefined)
  }
}

/** Makes the error of a damaged restore: the usual advice is about the node's own database, which is unchanged. */
function damagedRestore(location: string, cause: unknown): DatabaseError {
  const problem = `${location} was damaged during the restore of a snapshot and has been removed`
  return new DatabaseError(
    'corrupt',
    `${problem}: check the disk, then start again to restore from the beginning`,
    cause,
  )
}

/** @throws TooLittleRoomError when the disk could not even hold what the chunks bring; nodes of tries come on top of that */
async function checkRoom({ location, manifest, freeBytes = freeBytesIn }: RestoreRequest): Promise<void> {
  const all = manifest.chunks.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0)
  const needed = all - (await directoryBytes(location))
  const free = await freeBytes(location)
  if (free >= needed) return
  throw new TooLittleRoomError(
    `restoring the snapshot needs at least ${megabytes(needed)} MB in ${dirname(location)}, but ${megabytes(free)} MB are free: ` +
      'free some space and start again; the current database is unchanged',
  )
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6)

/** @returns the verified state root @throws FalseSnapshotError */
function checkManifest({ manifest, headers, chain }: RestoreRequest): Hash {
  if (manifest.chainId !== chain.chainId || BigInt(manifest.evmChainId) !== chain.evmChainId) {
    throw falseSnapshot(`it belongs to the chain ${manifest.chainId}, this node to ${chain.chainId}`)
  }
  if (!equalBytes(manifest.genesisHash, chain.genesisHash)) {
    throw falseSnapshot(
      `its genesis is ${bytesToHex(manifest.genesisHash)}, this node's ${bytesToHex(chain.genesisHash)}`,
    )
  }
  const { validatorRanksHeight: ranks } = chain
  if (ranks === 0 || manifest.height < ranks) {
    throw falseSnapshot(
      'the genesis of this chain does not put proposer priorities into the state ' +
        '(consensus.params.validator_ranks.enable_height), so a node can only start at block 1',
    )
  }
  const { height } = manifest
  const hash = headerHash(headers.at.header)
  if (headers.at.header.height !== height) throw new Error('the verified headers have another height')
  if (!equalBytes(manifest.consensusHash, hash)) {
    throw falseSnapshot(`its block ${height} differs from the one that the validators decided`)
  }
  if (!equalBytes(keccak256(manifest.ethereumHeader), headers.next.header.appHash)) {
    throw falseSnapshot(`its Ethereum header of block ${height} differs from the one that the validators decided`)
  }
  return decodeEthereumHeader(manifest.ethereumHeader).stateRoot
}

/** Chunks that are fetched at the same time. Each may take some ten megabytes of memory. */
const FETCHED_AT_ONCE = 4
/** Large, for few tables: nothing reads the database meanwhile. */
const WRITE_BUFFER_BYTES = 64 << 20

async function openTarget(location: string, height: number, stateRoot: Hash): Promise<Database> {
  const target = Buffer.concat([heightBytes(height), stateRoot])
  const begun = await openBegun(location)
  if (begun !== undefined && equalBytes(begun.target, target)) return begun.database
  await begun?.database.close()
  rmSync(location, { recursive: true, force: true })
  const database = await Database.open(location, { writeBufferBytes: WRITE_BUFFER_BYTES })
  const batch = new WriteBatch()
  batch.put(RESTORED_KEY, target)
  await database.write(batch, { sync: true })
  return database
}

/** Returns undefined when there is no such directory, or it was damaged, or completed by a version with another format. */
async function openBegun(
  location: string,
): Promise<{ readonly database: Database; readonly target: Uint8Array } | undefined> {
  if (!existsSync(location)) return undefined
  let database: Database | undefined
  try {
    database = await Database.open(location, { writeBufferBytes: WRITE_BUFFER_BYTES })
    const target = database.get(RESTORED_KEY)
    if (target !== undefined) return { database, target }
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code === 'io' || error.code === 'locked') throw error
  }
  await database?.close()
  return undefined
}

/** Returns the height of the snapshot that a restore into this directory has started with; undefined where there is nothing to continue. */
export async function begunHeight(location: string): Promise<number | undefined> {
  const begun = await openBegun(location)
  await begun?.database.close()
  return begun && readHeight(begun.target, 0)
}

/** Adds up the bytes of the chunks that are done. */
function countChunks({ manifest, onProgress }: RestoreRequest): (chunk: ManifestChunk) => void {
  const total = manifest.chunks.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  return ({ bytes }) => {
    done += bytes
    onProgress(done, total)
  }
}

/** A chunk of the state in a manifest. */
type StateFile = Exclude<ManifestChunk, { readonly kind: 'blocks' }>

async function restoreState(
  database: Database,
  stateRoot: Hash,
  { manifest, files, signal }: RestoreRequest,
  isDone: (chunk: ManifestChunk) => void,
): Promise<void> {
  const state = await StateRestore.open(database, manifest.height, stateRoot)
  const waiting: StateFile[] = []
  const codeFiles: StateFile[] = []
  for (const chunk of manifest.chunks) {
    if (chunk.kind === 'blocks') continue
    if (state.has(chunk.sha256)) isDone(chunk)
    else (chunk.kind === 'codes' ? codeFiles : waiting).push(chunk)
  }
  // One failure ends the work of all.
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const work = async (chunks: StateFile[]): Promise<void> => {
    try {
      for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
        const content = readChunk(await files.fetch(chunk, either), chunk)
        either.throwIfAborted()
        await state.write(chunk.sha256, content)
        isDone(chunk)
      }
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }
  for (const chunks of [waiting, codeFiles]) await settled(Array.from({ length: FETCHED_AT_ONCE }, () => work(chunks)))
  await state.finish()
}

/** Waits for all, also when one fails: no work may continue to write. @throws the first failure */
async function settled(works: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(works)
  const failure = results.find((result) => result.status === 'rejected')
  if (failure !== undefined) throw failure.reason
}

/** @throws FalseSnapshotError when the file has the hash in the manifest, but not the contents that the manifest describes */
function readChunk<Listed extends ManifestChunk>(packed: Uint8Array, chunk: Listed): ChunkOf<Listed> {
  try {
    return readListedChunk(packed, chunk)
  } catch (error) {
    if (!(error instanceof ChunkError)) throw error
    throw falseSnapshot(`a chunk (${describeChunk(chunk)}) is bad: ${error.message}`, error)
  }
}

async function restoreBlocks(
  database: Database,
  { manifest, headers, files, signal }: RestoreRequest,
  isDone: (chunk: ManifestChunk) => void,
): Promise<void> {
  const { at, next } = headers
  let expected = belowBase(database) ?? {
    height: manifest.height,
    blockId: at.commit.blockId,
    ethereumHash: next.header.appHash,
  }
  for (const chunk of manifest.chunks.toReversed()) {
    if (chunk.kind !== 'blocks') continue
    if (chunk.from > expected.height) {
      isDone(chunk)
      continue
    }
    signal.throwIfAborted()
    const content = readChunk(await files.fetch(chunk, signal), chunk)
    const batch = new WriteBatch()
    expected = addBlocks(batch, content, expected)
    writeOldestBlocks(batch, { base: expected.height + 1, oldestBlock: manifest.height + 1 })
    await database.write(batch, { sync: true })
    isDone(chunk)
  }
  if (expected.height === manifest.height) throw falseSnapshot('it contains no blocks')
}

/** Returns the block below the restored ones; undefined when no block is restored yet. */
function belowBase(database: Database): BlockLink | undefined {
  const base = readBase(database)
  const bytes = base === 0 ? undefined : database.get(columnKey(Column.consensusBlock, heightBytes(base)))
  return bytes && linkBefore(decodeBlock(bytes))
}

/** Adds blocks from the highest down. @returns the block below the lowest */
function addBlocks(batch: WriteBatch, { from, blocks }: BlocksChunk, above: BlockLink): BlockLink {
  let link = above
  for (const [index, encoded] of [...blocks.entries()].toReversed()) {
    if (from + index !== link.height) throw falseSnapshot(`it lacks block ${link.height}`)
    const block = readBlock(encoded, link)
    writeBlock(batch, {
      header: decodeEthereumHeader(encoded.header),
      hash: link.ethereumHash,
      consensus: { block: encoded.block, hash: link.blockId.hash },
      entries: [],
      events: NO_BLOCK_EVENTS,
      isIndexed: false,
    })
    link = linkBefore(block)
  }
  return link
}

function readBlock(encoded: EncodedBlock, link: BlockLink): ConsensusBlock {
  try {
    return readWholeBlock(encoded, link)
  } catch (error) {
    if (error instanceof LinkError)
      throw falseSnapshot(`its blocks differ from those that the validators decided: ${error.message}`)
    throw error
  }
}

const genesisLocation = (location: string): string => `${location}.genesis`

/** Returns the paths that an abandoned restore into this directory may have left. */
export function leftovers(location: string): readonly string[] {
  return [location, genesisLocation(location)]
}

/** Computes block 0 in a second database, since the state of a genesis may be large. */
async function writeGenesisHeader(database: Database, { location, chain, genesis }: RestoreRequest): Promise<void> {
  const directory = genesisLocation(location)
  rmSync(directory, { recursive: true, force: true })
  const scratch = await Database.open(directory)
  try {
    const buffered = new BufferedDatabase(scratch)
    const state = new StateStore(buffered)
    const { header, hash } = await openChain(buffered, state, chain, () => genesis)
    const batch = new WriteBatch()
    writeBlock(batch, { header, hash, consensus: undefined, entries: [], events: NO_BLOCK_EVENTS, isIndexed: false })
    await database.write(batch, { sync: true })
    await state.close()
  } finally {
    await scratch.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function complete(database: Database, { manifest, headers, chain }: RestoreRequest): Promise<void> {
  const { height } = manifest
  const { at, next, afterNext } = headers
  const native = { get: (key: Uint8Array) => database.get(nativeKey(key)) }
  const ranks = ranksAfter(native, height, { next: next.validators, afterNext: afterNext.validators })
  const isChanged = !equalBytes(next.header.validatorsHash, afterNext.header.validatorsHash)
  // Written together, at the end: the index of one record is read when the next is added.
  const buffered = new BufferedDatabase(database)
  buffered.startBuffering()
  const write = async (add: (batch: WriteBatch) => void): Promise<void> => {
    const batch = new WriteBatch()
    add(batch)
    await buffered.write(batch, { sync: true })
  }
  await write((batch) => writeUnrankedSet(batch, buffered, height, at.validators))
  await write((batch) => writeValidators(batch, buffered, { height: height + 1, set: ranks.next, isChanged: true }))
  await write((batch) => writeValidators(batch, buffered, { height: height + 2, set: ranks.afterNext, isChanged }))
  await write((batch) => {
    writeHeadRecord(batch, {
      height,
      decided: { blockId: at.commit.blockId, seenCommit: at.commit },
      resultsHash: next.header.lastResultsHash,
    })
    batch.put(GENESIS_HASH_KEY, chain.genesisHash)
    batch.put(FORMAT_KEY, encodeFormat())
  })
  await buffered.stopBuffering()
}
