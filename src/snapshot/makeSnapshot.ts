import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { encodeEthereumHeader, ethereumHeaderHash } from '../chain/block/ethereumBlock.ts'
import { dataHash } from '../chain/comet/block.ts'
import { checkLightBlock, encodeLightBlock } from '../chain/comet/lightBlock.ts'
import { equalBlockId } from '../chain/comet/types.ts'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import { type ChainReader, openChainReader } from '../chain/store/chainReader.ts'
import type { BlockLink } from '../chain/store/linkedBlocks.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'
import { readStateHead } from '../state/head.ts'
import { openOlderState, type StateColumns } from '../state/olderState.ts'
import { damagedIn } from '../storage/damage.ts'
import type { DatabaseReader } from '../storage/database.ts'
import { freeBytesIn } from '../storage/diskBytes.ts'
import { syncDirectory } from '../storage/writeFileDurably.ts'
import {
  type BlockEntry,
  type Chunk,
  ChunkError,
  decodeChunk,
  encodeChunk,
  MAX_PACKED_BYTES,
  MAX_UNPACKED_BYTES,
  packChunk,
} from './chunk.ts'
import { type CutOptions, cutChunks } from './cutChunks.ts'
import {
  checkMirrors,
  chunkName,
  encodeManifest,
  MANIFEST_NAME,
  MAX_CHUNKS,
  type Manifest,
  type ManifestChunk,
  oldestSnapshotBlock,
  SnapshotError,
} from './manifest.ts'
import { verifyBlocks } from './verifyBlocks.ts'
import { verifyChunk } from './verifyChunk.ts'

/**
 * Blocks that have to follow the one of a snapshot: a light client verifies the state by the two next headers, and the commit of the
 * second is in the third. (Each node has seen another commit of its own newest block; the one in a block is the same for all.)
 */
export const BLOCKS_AFTER_SNAPSHOT = 3

/** The chain's parameters that a snapshot names. */
export type SnapshotChain = Pick<ChainConfig, 'chainId' | 'evmChainId' | 'genesisHash' | 'validatorRanksHeight'>

export interface MakeOptions {
  /** of the block after which the state is taken: at least {@link BLOCKS_AFTER_SNAPSHOT} below the head */
  readonly height: number
  /** of the snapshot, which must not exist; it appears when the snapshot is complete */
  readonly directory: string
  /** approximate memory of a sort; two sorts run at the same time */
  readonly sortBytes?: number
  /** sizes of chunks; all nodes have to use the same ones */
  readonly sizes?: Pick<CutOptions, 'chunkBytes' | 'inlineSlots'>
  /** URLs of other directories that will have the same files; nodes that make the same snapshot for peers have to name the same ones */
  readonly mirrors?: readonly string[]
  /** awaited after each small part of the work, with the result so far; an error that it throws ends the work */
  readonly pause?: (made: MadeSnapshot) => Promise<void> | void
  /** bytes that can be written to the file system of a directory */
  readonly freeBytes?: (directory: string) => Promise<number>
}

export interface MadeSnapshot {
  /** of the files of chunks */
  readonly bytes: number
  readonly chunks: number
}

/** Changes of the blocks above the snapshot's are undone in memory, some hundred bytes each. */
const MAX_UNDONE_ENTRIES = 1_000_000
/**
 * Disk space that stays free: a node on the same disk stops when it cannot write its blocks, and a
 * snapshot can wait.
 */
const ROOM_LEFT_BYTES = 512 << 20
/** Entries that are read without a pause. */
const ENTRIES_PER_PAUSE = 2_000
/** Size of chunks, as for those of the state: see `cutChunks`. */
const CHUNK_BYTES = 8 << 20

/**
 * Makes a snapshot of the state after one block. Two nodes of a chain make the same files at the same height. Each chunk is proved
 * against the state root of the block before it is written, so that a damaged database makes no snapshot. Steps:
 *
 * 1. The files are written and synced in `.<name>.making` next to `directory`: chunks, then the
 *    manifest.
 * 2. The directory of files is synced, so that a complete name means complete files.
 * 3. It gets its name, durably.
 *
 * Nothing is left when it fails. A killed process leaves a directory with a name that
 * {@link isUnfinished} recognizes.
 * @param snapshot of the database, which stays open until this returns
 * @throws ManifestError for mirrors that cannot be named; SnapshotError when there cannot be one,
 * or the disk is full; DatabaseError when the database is damaged
 */
export async function makeSnapshot(
  snapshot: DatabaseReader,
  chain: SnapshotChain,
  options: MakeOptions,
): Promise<MadeSnapshot> {
  const { directory, height, mirrors = [] } = options
  checkMirrors(mirrors)
  if (readStateHead(snapshot) === undefined) throw new SnapshotError('there is no block yet')
  const reader = openChainReader(snapshot)
  checkHeight(reader, chain, height)
  if (existsSync(directory)) throw new SnapshotError(`${directory} exists already: name another directory`)
  const unfinished = join(dirname(directory), `.${basename(directory)}${UNFINISHED}`)
  try {
    // 1.
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished, { recursive: true })
    const chunks = await writeChunks(snapshot, reader, unfinished, options)
    const manifest = { ...describe(snapshot, reader, chain, height), mirrors, chunks }
    writeSynced(join(unfinished, MANIFEST_NAME), encodeManifest(manifest))
    // 2.
    syncDirectory(unfinished)
    // 3.
    renameSync(unfinished, directory)
    syncDirectory(dirname(directory))
    return madeOf(chunks)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    throw isSystemError(error) ? new SnapshotError(`${directory} cannot be made: ${error.message}`) : error
  }
}

const UNFINISHED = '.making'

/** Returns whether the name is that of a directory in which a snapshot is made, or was when its maker was killed. */
export function isUnfinished(name: string): boolean {
  return name.startsWith('.') && name.endsWith(UNFINISHED)
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}

/** @throws SnapshotError when the database has not all blocks that a snapshot of this height needs */
function checkHeight(reader: ChainReader, { validatorRanksHeight }: SnapshotChain, height: number): void {
  const { headHeight, base, oldestBlock } = reader
  if (validatorRanksHeight === 0) {
    throw new SnapshotError(
      'this chain has no snapshots: its state does not hold the proposer priorities (consensus.params.validator_ranks of the genesis)',
    )
  }
  const lowest = Math.max(1, validatorRanksHeight)
  if (height < lowest || height > headHeight - BLOCKS_AFTER_SNAPSHOT) {
    throw new SnapshotError(
      `a snapshot of block ${height} cannot be made: it can be of block ${lowest} or a later one that has ${BLOCKS_AFTER_SNAPSHOT} blocks after it, and the newest block is ${headHeight}`,
    )
  }
  const oldest = oldestSnapshotBlock(height)
  const fail = (first: number): never => {
    throw new SnapshotError(
      `a snapshot of block ${height} has the blocks from ${oldest} on, and the oldest whole one here is ${first}: set BLOCK_HISTORY to 2000 or more, or to 0, and wait until there are enough`,
    )
  }
  if (base > oldest) fail(base)
  // Below it there are no receipts. A node that began with a snapshot has the transactions nevertheless.
  for (let at = oldest; at < Math.min(oldestBlock, height + 1); at++) {
    const { txs, header } = reader.consensusBlock(at)!
    if (!equalBytes(dataHash(txs), header.dataHash)) fail(oldestBlock)
  }
}

/** Writes the files of all chunks in the order that a manifest has. */
async function writeChunks(
  snapshot: DatabaseReader,
  reader: ChainReader,
  directory: string,
  { height, sortBytes, sizes, pause = () => undefined, freeBytes = freeBytesIn }: MakeOptions,
): Promise<readonly ManifestChunk[]> {
  const chunks: ManifestChunk[] = []
  const rest = async (): Promise<void> => {
    if ((await freeBytes(directory)) < ROOM_LEFT_BYTES) throw tooLittleRoom(height, directory)
    await pause(madeOf(chunks))
  }
  const add = async (chunk: Chunk, check: (chunk: Chunk) => void): Promise<void> => {
    const content = encodeChunk(chunk)
    const packed = packChunk(content)
    if (packed.length > MAX_PACKED_BYTES || content.length > MAX_UNPACKED_BYTES || chunks.length === MAX_CHUNKS) {
      throw new SnapshotError(`a snapshot of block ${height} is larger than snapshots can be`)
    }
    try {
      // The files that others will read are checked, not their sources.
      check(decodeChunk(content))
    } catch (error) {
      if (error instanceof ChunkError) throw damagedIn(snapshot, error.message)
      throw error
    }
    const hash = sha256(packed)
    chunks.push({ ...rangeOf(chunk), sha256: hash, bytes: packed.length, unpackedBytes: content.length })
    writeSynced(join(directory, chunkName({ sha256: hash })), packed)
    await rest()
  }
  const { stateRoot } = reader.header(height)!
  const state = withPauses(await openState(snapshot, height, rest), rest)
  const sorting = join(directory, 'sorting')
  mkdirSync(sorting)
  const cut = { directory: sorting, ...(sortBytes === undefined ? {} : { memoryBytes: sortBytes }), ...sizes }
  for await (const chunk of cutChunks(state, cut)) {
    await add(chunk, (written) => {
      if (written.kind !== 'blocks') verifyChunk(written, stateRoot)
    })
  }
  rmSync(sorting, { recursive: true })

  let last: BlockLink | undefined
  for (const chunk of blocksChunks(reader, height, sizes?.chunkBytes ?? CHUNK_BYTES)) {
    await add(chunk, (written) => {
      if (written.kind === 'blocks') last = verifyBlocks(written, last)
    })
  }
  const { lastBlockId, appHash } = reader.consensusBlock(height + 1)!.header
  if (!equalBlockId(last!.blockId, lastBlockId) || !equalBytes(last!.ethereumHash, appHash)) {
    throw damagedIn(snapshot, `block ${height} is not the one that the next block follows`)
  }
  return chunks
}

function tooLittleRoom(height: number, directory: string): SnapshotError {
  const left = Math.floor(ROOM_LEFT_BYTES / 1e6)
  return new SnapshotError(
    `a snapshot of block ${height} cannot be made: less than ${left} MB would be left on the disk of ${dirname(directory)}, which a node needs for its blocks: make room, or use another disk`,
  )
}

function madeOf(chunks: readonly ManifestChunk[]): MadeSnapshot {
  return { chunks: chunks.length, bytes: chunks.reduce((sum, { bytes }) => sum + bytes, 0) }
}

type ChunkRange = DistributiveOmit<ManifestChunk, 'sha256' | 'bytes' | 'unpackedBytes'>
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** Returns the manifest's entry for a chunk, without its file. */
function rangeOf(chunk: Chunk): ChunkRange {
  switch (chunk.kind) {
    case 'accounts':
    case 'native':
      return { kind: chunk.kind, first: chunk.first, last: chunk.last }
    case 'storage':
      return { kind: chunk.kind, address: chunk.address, first: chunk.first, last: chunk.last }
    case 'codes':
      return { kind: chunk.kind }
    case 'blocks':
      return { kind: chunk.kind, from: chunk.from, to: chunk.from + chunk.blocks.length - 1 }
  }
}

async function openState(
  snapshot: DatabaseReader,
  height: number,
  rest: () => Promise<void> | void,
): Promise<StateColumns> {
  const head = readStateHead(snapshot)!
  if (height < head.oldestHeight) {
    throw new SnapshotError(
      `a snapshot of block ${height} cannot be made: the oldest state here is that of block ${head.oldestHeight} (PRUNING)`,
    )
  }
  const state = await openOlderState(snapshot, head, height, { maxEntries: MAX_UNDONE_ENTRIES, pause: rest })
  if (state !== undefined) return state
  throw new SnapshotError(
    `a snapshot of block ${height} cannot be made: the ${head.height - height} blocks after it changed over ${MAX_UNDONE_ENTRIES} entries; take a later one`,
  )
}

/** Returns the same columns, with pauses in long reads. */
function withPauses(state: StateColumns, rest: () => Promise<void> | void): StateColumns {
  return {
    get: (key) => state.get(key),
    onDamage: state.onDamage,
    entries: async function* (range) {
      let read = 0
      for await (const entry of state.entries(range)) {
        if (++read % ENTRIES_PER_PAUSE === 0) await rest()
        yield entry
      }
    },
  }
}

function* blocksChunks(reader: ChainReader, height: number, chunkBytes: number): Generator<Chunk, void, void> {
  let from = oldestSnapshotBlock(height)
  let blocks: BlockEntry[] = []
  let bytes = 0
  for (let at = from; at <= height; at++) {
    const entry = { block: reader.encodedBlock(at)!, header: encodeEthereumHeader(reader.header(at)!) }
    const more = entry.block.length + entry.header.length
    if (blocks.length > 0 && bytes + more > chunkBytes) {
      yield { kind: 'blocks', from, blocks }
      from = at
      blocks = []
      bytes = 0
    }
    blocks.push(entry)
    bytes += more
  }
  yield { kind: 'blocks', from, blocks }
}

function describe(
  snapshot: DatabaseReader,
  reader: ChainReader,
  { chainId, evmChainId, genesisHash }: SnapshotChain,
  height: number,
): Omit<Manifest, 'mirrors' | 'chunks'> {
  const header = reader.header(height)!
  const lightBlock = (at: number): Uint8Array => {
    const block = reader.lightBlock(at)
    if (block === undefined) throw damagedIn(snapshot, `the validators of block ${at} are missing`)
    const problem = checkLightBlock(block, chainId)
    if (problem !== undefined) throw damagedIn(snapshot, `block ${at}: ${problem}`)
    return encodeLightBlock(block)
  }
  return {
    chainId,
    evmChainId: Number(evmChainId),
    genesisHash,
    height,
    consensusHash: reader.blockId(height)!.hash,
    ethereumHeader: encodeEthereumHeader(header),
    ethereumHash: ethereumHeaderHash(header),
    stateRoot: header.stateRoot,
    lightBlocks: [lightBlock(height), lightBlock(height + 1), lightBlock(height + 2)],
  }
}

/** Writes a new file; its contents are on stable storage when this returns. */
function writeSynced(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'wx', 0o644)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
