import type { FileHandle } from 'node:fs/promises'
import { type ConsensusBlock, decodeBlock } from '../chain/comet/block.ts'
import { decodeCommit } from '../chain/comet/commit.ts'
import type { Commit } from '../chain/comet/types.ts'
import { decodeFrame } from '../chain/segments/blockFrame.ts'
import { EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { RULES } from '../storage/format.ts'
import { readSegmentPieces, SEGMENT_MAGIC } from '../storage/segmentFile.ts'

/*
 * Files of decided blocks. An export is a segment file (src/storage/segmentFile.ts) like those of old blocks in the database, with the
 * genesis hash as its label. The version of the rules in its first bytes refuses files of other versions: their blocks would have other
 * results.
 */

/** First bytes of the files of the first versions. */
const FIRST_MAGIC = new TextEncoder().encode('COINDBLOC')

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

/** Returns the next bytes of a file. @throws BlockFileError when it has too few */
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

/** Reads a block file whose bytes are in memory. @throws BlockFileError */
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
  if (source.size < SEGMENT_MAGIC.length) throw new BlockFileError('the file is too short for an export of blocks')
  const magic = await source.read(SEGMENT_MAGIC.length)
  checkMagic(magic)
  yield* readSegment(source, genesisHash)
}

/** @throws BlockFileError */
function checkMagic(magic: Uint8Array): void {
  if (equalBytes(magic, SEGMENT_MAGIC)) return
  const isSegment = equalBytes(magic.subarray(0, -1), SEGMENT_MAGIC.subarray(0, -1))
  const rules = isSegment ? magic.at(-1)! : 0
  if (!isSegment && !equalBytes(magic, FIRST_MAGIC)) throw new BlockFileError('the file is not an export of blocks')
  throw new BlockFileError(
    rules < RULES
      ? 'the file was written by an older version of coind with other rules, so its blocks would have other results here: import it with that version'
      : 'the file was written by a newer version of coind: import it with that version',
  )
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
        // Block 0, which validators do not decide.
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

function cutOff(offset: number): BlockFileError {
  return new BlockFileError(`the file ends within an entry, at byte ${offset}`)
}

function otherGenesis(): BlockFileError {
  return new BlockFileError('the file belongs to a chain with another genesis')
}
