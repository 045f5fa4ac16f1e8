import type { FileHandle } from 'node:fs/promises'
import { type ConsensusBlock, decodeBlock } from '../chain/consensus/block.ts'
import { decodeCommit } from '../chain/consensus/commit.ts'
import type { Commit } from '../chain/consensus/types.ts'
import { decodeFrame } from '../chain/segments/blockFrame.ts'
import { concatBytes, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { readSegmentPieces, SEGMENT_MAGIC } from '../storage/segmentFile.ts'

/*
 * Files of decided blocks. An export is a segment file (src/storage/segmentFile.ts) like those of old blocks in the database, with the
 * genesis hash as its label. Former versions wrote, behind their own magic bytes and the genesis hash, for each block its protobuf encoding
 * and that of the commit that decided it, each preceded by its length (4 bytes, big-endian).
 */
const FORMER_MAGIC = new TextEncoder().encode('COINDBLOCKS1\n')
const HASH_BYTES = 32
/** More than any block or commit has: a larger length means that the file is damaged. */
const MAX_RECORD_BYTES = 64 << 20

export interface BlockFileEntry {
  readonly block: ConsensusBlock
  readonly commit: Commit
}

/** An entry that was read, and where in the file it begins. */
export interface PlacedEntry extends BlockFileEntry {
  readonly offset: number
}

/** The file is not a valid block file; the message says what was found where. */
export class BlockFileError extends Error {
  override readonly name = 'BlockFileError'
}

/** Gives the next bytes of a file. @throws BlockFileError when it has not so many */
interface FileBytes {
  read(length: number): Promise<Uint8Array>
  /** where the next bytes are */
  readonly offset: number
  readonly size: number
}

/**
 * Reads a file of blocks from its start, one block at a time, as far as it is whole.
 * @throws BlockFileError when the file is of another chain, cut off or damaged
 */
export async function* readBlockFile(file: FileHandle, genesisHash: Hash): AsyncIterable<PlacedEntry> {
  const { size } = await file.stat()
  yield* readBlocks(fileBytes(file, size), genesisHash)
}

/** The same of a file whose bytes are in memory. @throws BlockFileError */
export function readBlockBytes(bytes: Uint8Array, genesisHash: Hash): AsyncIterable<PlacedEntry> {
  let offset = 0
  const source: FileBytes = {
    size: bytes.length,
    get offset() {
      return offset
    },
    read: async (length) => {
      if (offset + length > bytes.length) throw cutOff(bytes.length)
      offset += length
      return bytes.subarray(offset - length, offset)
    },
  }
  return readBlocks(source, genesisHash)
}

async function* readBlocks(source: FileBytes, genesisHash: Hash): AsyncIterable<PlacedEntry> {
  if (source.size < SEGMENT_MAGIC.length) throw new BlockFileError('the file is too short to be an export of blocks')
  const magic = await source.read(SEGMENT_MAGIC.length)
  if (equalBytes(magic, SEGMENT_MAGIC)) yield* readSegment(source, genesisHash)
  else yield* readFormerFile(source, magic, genesisHash)
}

function fileBytes(file: FileHandle, size: number): FileBytes {
  let offset = 0
  return {
    size,
    get offset() {
      return offset
    },
    read: async (length) => {
      // Before memory is taken: a damaged length may be any.
      if (offset + length > size) throw cutOff(size)
      const bytes = new Uint8Array(length)
      for (let filled = 0; filled < length; ) {
        const { bytesRead } = await file.read(bytes, filled, length - filled)
        if (bytesRead === 0) throw cutOff(offset + filled)
        filled += bytesRead
      }
      offset += length
      return bytes
    },
  }
}

async function* readSegment(source: FileBytes, genesisHash: Hash): AsyncIterable<PlacedEntry> {
  let start = source.offset
  const damaged = (cause?: unknown): BlockFileError =>
    new BlockFileError(`the file is damaged at byte ${start}`, { cause })
  const decoded = <T>(decode: () => T): T => {
    try {
      return decode()
    } catch (cause) {
      throw damaged(cause)
    }
  }
  let next = 0
  let dictionary: Uint8Array = EMPTY_BYTES
  /** the last block that was read: its commit is in the one after it */
  let last: Omit<PlacedEntry, 'commit'> | undefined
  for await (const piece of readSegmentPieces(source.read, (_, cause) => damaged(cause))) {
    if (piece.kind === 'start') {
      if (!equalBytes(piece.label, genesisHash)) throw otherGenesis()
      next = piece.first
      dictionary = piece.dictionary
    } else if (piece.kind === 'frame') {
      const { bytes, count } = piece
      for (const { block: encoded } of decoded(() => decodeFrame(bytes, next, count, dictionary))) {
        next++
        // Block 0, which nobody decided.
        if (encoded === undefined) continue
        const block = decoded(() => decodeBlock(encoded))
        if (last !== undefined) yield { ...last, commit: block.lastCommit }
        last = { block, offset: start }
      }
    } else if (last !== undefined) {
      yield { ...last, commit: decoded(() => decodeCommit(piece.content)) }
    }
    start = source.offset
  }
}

async function* readFormerFile(source: FileBytes, begin: Uint8Array, genesisHash: Hash): AsyncIterable<PlacedEntry> {
  const headerBytes = FORMER_MAGIC.length + HASH_BYTES
  if (source.size < headerBytes) throw new BlockFileError('the file is too short to be an export of blocks')
  const header = concatBytes(begin, await source.read(headerBytes - begin.length))
  if (!equalBytes(header.subarray(0, FORMER_MAGIC.length), FORMER_MAGIC)) {
    throw new BlockFileError('the file is not an export of blocks')
  }
  if (!equalBytes(header.subarray(FORMER_MAGIC.length), genesisHash)) throw otherGenesis()
  const record = async (): Promise<Uint8Array> => {
    const bytes = await source.read(4)
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
    if (length > MAX_RECORD_BYTES) throw new BlockFileError(`the file is damaged before byte ${source.offset}`)
    return source.read(length)
  }
  while (source.offset < source.size) {
    const start = source.offset
    const [block, commit] = [await record(), await record()]
    let entry: PlacedEntry
    try {
      entry = { block: decodeBlock(block), commit: decodeCommit(commit), offset: start }
    } catch (cause) {
      throw new BlockFileError(`the file is damaged at byte ${start}`, { cause })
    }
    yield entry
  }
}

function cutOff(offset: number): BlockFileError {
  return new BlockFileError(`the file ends within an entry, at byte ${offset}`)
}

function otherGenesis(): BlockFileError {
  return new BlockFileError('the file is of a chain with another genesis')
}
