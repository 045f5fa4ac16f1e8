import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { dataHash, decodeBlock } from '../../chain/comet/block.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import {
  lastOfSegment,
  type NamedSegment,
  packSegment,
  segmentName,
  segmentPath,
} from '../../chain/segments/segments.ts'
import { RESTORED_KEY } from '../../chain/store/chainReader.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { Database, DatabaseError } from '../../storage/database.ts'
import { salvageEntries, salvageTo } from '../../storage/salvage.ts'
import {
  encodeSegmentFile,
  readSegmentIndex,
  type SegmentIndex,
  segmentFiles,
  verifySegmentFile,
} from '../../storage/segmentFile.ts'
import type { InspectRequest } from './findDamage.ts'
import { fetchSegment, segmentSources } from './restoreSegments.ts'

export interface OwnBlocksRequest extends InspectRequest {
  readonly chain: Pick<ChainConfig, 'genesisHash'>
  /** directories and addresses where files of old blocks may be */
  readonly from: readonly (string | URL)[]
}

/** A file of blocks, which `importBlocks` reads. */
export interface OwnFile {
  readonly path: string
  /** highest block in it */
  readonly last: number
  /** whether it is a file of old blocks, which the new database can have as it is */
  readonly isSegment: boolean
}

/** The blocks from the first one on that are still there, in their order. */
export interface OwnBlocks {
  readonly files: readonly OwnFile[]
  /** the last of these blocks; 0: there are no such blocks */
  readonly last: number
  /** the highest block that was found at all */
  readonly highest: number
}

/**
 * Gathers the blocks of a damaged database from the first one on, up to the first gap. They come from whole files of old blocks,
 * or the same files in other places, and above them from whatever can be read in LevelDB. The newest block is
 * left out: its commit is in the write-ahead log, or comes from the peers. Nothing is proved yet; executing the blocks does that.
 * @throws SnapshotError when a place cannot be read; `signal.reason`
 */
export async function gatherOwnBlocks(request: OwnBlocksRequest): Promise<OwnBlocks> {
  const files: OwnFile[] = []
  let next = 0
  for (;;) {
    const path = await wholeSegment(request, { first: next, last: lastOfSegment(next) })
    if (path === undefined) break
    const last = lastOfSegment(next)
    files.push({ path, last, isSegment: true })
    next = last + 1
  }
  const highestInFiles = Math.max(0, ...segmentFiles(request.location).map(lastInName))
  const salvaged = await salvageBlocks(request, Math.max(next, 1))
  if (salvaged.file !== undefined) files.push(salvaged.file)
  const last = files.at(-1)?.last ?? 0
  return { files, last, highest: Math.max(last, salvaged.highest, highestInFiles) }
}

function lastInName(path: string): number {
  return Number(/-(\d+)\./.exec(basename(path))?.[1] ?? 0)
}

/** A longer file is not read into memory. */
const MAX_SEGMENT_BYTES = 2 ** 31

/**
 * Whether what can be read says that the chain began with a snapshot: then the transactions of its first blocks were never there.
 * @param location of a damaged database
 */
export function beganWithSnapshot(location: string): boolean {
  for (const [key] of salvageEntries(location, Column.chainMeta, Column.chainMeta)) {
    if (equalBytes(key, RESTORED_KEY)) return true
  }
  return false
}

/** Returns the path of a whole file of old blocks, of this node or fetched; undefined when no source has it. */
export async function wholeSegment(request: OwnBlocksRequest, range: NamedSegment): Promise<string | undefined> {
  const { location, sortDirectory, from, signal } = request
  const own = segmentPath(location, range)
  if (await isWhole(own, range, request)) return own
  const fetched = join(sortDirectory, segmentName(range))
  for (const source of segmentSources(from, signal)) {
    if (!(await fetchSegment(fetched, MAX_SEGMENT_BYTES, [source], () => true))) continue
    if (await isWhole(fetched, range, request)) return fetched
  }
  return undefined
}

async function isWhole(
  path: string,
  { first, last }: Pick<SegmentIndex, 'first' | 'last'>,
  { chain, signal }: OwnBlocksRequest,
): Promise<boolean> {
  try {
    const index = readSegmentIndex(path)
    if (index.first !== first || index.last !== last || !equalBytes(index.label, chain.genesisHash)) return false
    for (const _ of verifySegmentFile(path)) {
      await setImmediate()
      signal.throwIfAborted()
    }
    return true
  } catch (error) {
    if (error instanceof DatabaseError && error.code === 'corrupt') return false
    throw error
  }
}

/** Blocks that are read between two turns of the event loop. */
const BLOCKS_PER_PAUSE = 256

/** Writes a file with what can be read of LevelDB's blocks from `first` on, without a gap; undefined when that is less than one. */
async function salvageBlocks(
  request: OwnBlocksRequest,
  first: number,
): Promise<{ readonly file: OwnFile | undefined; readonly highest: number }> {
  const { location, sortDirectory, chain, signal, progressOf } = request
  const { genesisHash } = chain
  const path = join(sortDirectory, 'salvaged')
  const progress = progressOf({ title: 'searching for readable blocks', unit: 'entries' })
  const scratch = await Database.open(join(sortDirectory, 'blocks'))
  const pause = async (): Promise<void> => {
    await setImmediate()
    signal.throwIfAborted()
  }
  try {
    let highest = 0
    const isWanted = (key: Uint8Array): boolean => {
      if (!PARTS.includes(key[0]!) || readHeight(key, 1) < first) return false
      highest = Math.max(highest, readHeight(key, 1))
      return true
    }
    const range = { location, first: Column.header, last: Column.consensusBlock, isWanted }
    await salvageTo(scratch, range, async (entries) => {
      progress.update(entries)
      await pause()
    })
    const part = (column: number, height: number): Uint8Array | undefined =>
      scratch.get(columnKey(column, heightBytes(height)))
    const isThere = (height: number): boolean => {
      const block = part(Column.consensusBlock, height)
      return block !== undefined && hasBody(block) && part(Column.header, height) !== undefined
    }
    let end = first
    while (isThere(end)) if (++end % BLOCKS_PER_PAUSE === 0) await pause()
    // The commit of each block is in the next one.
    const last = end - 2
    if (last < first) return { file: undefined, highest }
    const { lastCommit } = decodeBlock(part(Column.consensusBlock, last + 1)!)
    const read = (height: number) => ({
      header: part(Column.header, height)!,
      block: part(Column.consensusBlock, height)!,
      results: undefined,
    })
    const file = openSync(path, 'w')
    try {
      for (const bytes of encodeSegmentFile(packSegment({ first, last, genesisHash, lastCommit, read }))) {
        for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
        await pause()
      }
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    return { file: { path, last, isSegment: false }, highest }
  } finally {
    await scratch.close()
    progress.end()
  }
}

/** Whether a block has its transactions: they may have been dropped before the node was set to retain all blocks. */
function hasBody(bytes: Uint8Array): boolean {
  const { header, txs } = decodeBlock(bytes)
  return equalBytes(dataHash(txs), header.dataHash)
}

const PARTS: readonly number[] = [Column.header, Column.consensusBlock]
