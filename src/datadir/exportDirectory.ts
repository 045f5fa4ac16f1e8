import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import {
  type HeightRange,
  lastOfSegment,
  packSegment,
  SEGMENT_BLOCKS,
  segmentName,
} from '../chain/segments/segments.ts'
import type { ChainReader } from '../chain/store/chainReader.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import {
  type BlocksFile,
  type BlocksManifest,
  encodeBlocksManifest,
  FILE_BYTES,
  readBlocksManifest,
} from '../snapshot/blocksManifest.ts'
import { checkMirrors, MANIFEST_NAME } from '../snapshot/manifest.ts'
import { encodeSegmentFile } from '../storage/segmentFile.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'
import type { Progress } from '../telemetry/progress.ts'
import { BlockFileError } from './blockFile.ts'

export interface DirectoryExportRequest {
  readonly chain: ChainReader
  readonly identity: Pick<ChainConfig, 'chainId' | 'evmChainId' | 'genesisHash'>
  readonly directory: string
  /** last block; by default that of the newest complete segment */
  readonly to: number | undefined
  /** URLs of other directories that will have the same files; undefined: those that the manifest names already */
  readonly mirrors?: readonly string[]
  /** ends the export; complete files stay, and the next export continues there */
  readonly signal: AbortSignal
  readonly progress: Pick<Progress, 'update'>
  /** of blocks before they are packed, after which the next file begins */
  readonly fileBytes?: number
}

/** Files after which the manifest is written: it grows with them. */
const FILES_PER_MANIFEST = 64

/**
 * Writes blocks to a directory that any web server can hold: files in the format of segments, and a manifest of them. A directory that has
 * some gets those that follow. Two nodes write the same files, and where a segment is not too long, that of a node's database.
 * A file is on stable storage before the manifest lists it.
 * @returns the blocks that were added (`to` < `from`: none), and all that the directory has now
 * @throws BlockFileError when not all of the blocks are stored whole; ManifestError for a manifest that cannot be continued; the reason of
 * `signal`
 */
export async function exportDirectory(request: DirectoryExportRequest) {
  const { chain, directory, mirrors, signal, progress } = request
  if (mirrors !== undefined) checkMirrors(mirrors)
  await mkdir(directory, { recursive: true })
  const existing = readExisting(request)
  const manifest = { ...existing, mirrors: mirrors ?? existing.mirrors }
  const files = [...manifest.files]
  const oldest = chain.oldestBlock
  const first = files.length === 0 ? oldest : files.at(-1)!.last + 1
  const to = request.to ?? lastOfSegment(chain.headHeight + 1) - SEGMENT_BLOCKS
  if (request.to === undefined && files.length === 0 && to < first) {
    throw new BlockFileError(
      `the node does not have ${SEGMENT_BLOCKS} complete blocks yet, only ${oldest} to ${chain.headHeight}: name the last block with --to`,
    )
  }
  if (first < oldest || to > chain.headHeight || (files.length === 0 && to < first)) {
    throw new BlockFileError(
      `cannot export blocks ${first} to ${to}: the node has blocks ${oldest} to ${chain.headHeight}`,
    )
  }
  const save = (): void =>
    writeFileDurably(join(directory, MANIFEST_NAME), encodeBlocksManifest({ ...manifest, files }), 0o644)
  let unsaved = 0
  try {
    for (let next = first; next <= to; ) {
      const last = lastOfFile(request, next, to)
      files.push(await writeFile(request, { first: next, last }))
      next = last + 1
      progress.update(next - first, to - first + 1)
      if (++unsaved < FILES_PER_MANIFEST) continue
      save()
      unsaved = 0
    }
    signal.throwIfAborted()
  } finally {
    if (unsaved > 0 || (files.length > 0 && mirrors !== undefined)) save()
  }
  return { added: { from: first, to }, all: { from: files[0]!.first, to: files.at(-1)!.last } }
}

/** Reads the manifest of the directory; a new one has no files yet. */
function readExisting({ directory, identity }: DirectoryExportRequest): BlocksManifest {
  const path = join(directory, MANIFEST_NAME)
  const { chainId, evmChainId, genesisHash } = identity
  if (!existsSync(path)) return { chainId, evmChainId: Number(evmChainId), genesisHash, mirrors: [], files: [] }
  const manifest = readBlocksManifest(readFileSync(path))
  if (!equalBytes(manifest.genesisHash, genesisHash)) {
    throw new BlockFileError(
      `${path} belongs to the genesis ${bytesToHex(manifest.genesisHash)}, this node to ${bytesToHex(genesisHash)}: name another directory`,
    )
  }
  return manifest
}

/**
 * Returns the last block of the file that begins with `first`: not beyond its segment, and fewer
 * blocks where they are long.
 */
function lastOfFile({ chain, fileBytes = FILE_BYTES }: DirectoryExportRequest, first: number, to: number): number {
  const most = Math.min(to, lastOfSegment(first))
  let bytes = 0
  for (let height = first; height < most; height++) {
    const { header, block, results } = readWhole(chain, height)
    bytes += header.length + (block?.length ?? 0) + (results?.length ?? 0)
    if (bytes >= fileBytes) return height
  }
  return most
}

/** Writes a file that has its name when it is complete, and on stable storage. */
async function writeFile(request: DirectoryExportRequest, { first, last }: HeightRange): Promise<BlocksFile> {
  const { chain, identity, directory, signal } = request
  const lastCommit = chain.seenCommit(last)
  if (lastCommit === undefined) throw missing(last)
  const path = join(directory, segmentName({ first, last }))
  const unfinished = `${path}.part`
  const digest = createHash('sha256')
  let bytes = 0
  const file = await open(unfinished, 'w')
  try {
    const read = (height: number) => readWhole(chain, height)
    for (const part of encodeSegmentFile(
      packSegment({ first, last, genesisHash: identity.genesisHash, lastCommit, read }),
    )) {
      // A turn of the event loop, which has the signals.
      await setImmediate()
      signal.throwIfAborted()
      digest.update(part)
      bytes += part.length
      // Unlike `write`, this writes all bytes.
      await file.appendFile(part)
    }
    await file.sync()
    await file.close()
  } catch (error) {
    await file.close()
    await rm(unfinished, { force: true })
    throw error
  }
  await rename(unfinished, path)
  syncDirectory(directory)
  return { first, last, bytes, sha256: new Uint8Array(digest.digest()) }
}

function readWhole(chain: ChainReader, height: number) {
  const block = chain.storedBlock(height)
  if (block === undefined) throw missing(height)
  return block
}

function missing(height: number): Error {
  return new Error(`block ${height} is missing from the database`)
}
