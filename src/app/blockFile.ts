import type { FileHandle } from 'node:fs/promises'
import { type ConsensusBlock, decodeBlock, encodeBlock } from '../chain/consensus/block.ts'
import { decodeCommit, encodeCommit } from '../chain/consensus/commit.ts'
import type { Commit } from '../chain/consensus/types.ts'
import { concatBytes, equalBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'

/**
 * A file of decided blocks: the magic bytes and the genesis hash; then for each block its protobuf encoding and that of the commit
 * that decided it, each preceded by its length (4 bytes, big-endian).
 */
const MAGIC = new TextEncoder().encode('COINDBLOCKS1\n')
const HEADER_BYTES = MAGIC.length + 32
/** More than any block or commit has: a larger length means that the file is damaged. */
const MAX_RECORD_BYTES = 64 << 20

export interface BlockFileEntry {
  readonly block: ConsensusBlock
  readonly commit: Commit
}

/** An entry that was read, and where in the file it begins. */
interface PlacedEntry extends BlockFileEntry {
  readonly offset: number
}

/** The file is not a valid block file; the message says what was found where. */
export class BlockFileError extends Error {
  override readonly name = 'BlockFileError'
}

export function blockFileHeader(genesisHash: Hash): Uint8Array {
  return concatBytes(MAGIC, genesisHash)
}

export function encodeBlockFileEntry({ block, commit }: BlockFileEntry): Uint8Array {
  return concatBytes(withLength(encodeBlock(block)), withLength(encodeCommit(commit)))
}

/**
 * Reads a block file from its start, one entry at a time.
 * @throws BlockFileError when the file is of another chain, cut off or damaged
 */
export async function* readBlockFile(file: FileHandle, genesisHash: Hash): AsyncIterable<PlacedEntry> {
  let offset = 0
  const read = async (length: number): Promise<Uint8Array> => {
    const bytes = new Uint8Array(length)
    for (let filled = 0; filled < length; ) {
      const { bytesRead } = await file.read(bytes, filled, length - filled)
      if (bytesRead === 0) throw new BlockFileError(`the file ends within an entry, at byte ${offset + filled}`)
      filled += bytesRead
    }
    offset += length
    return bytes
  }
  const { size } = await file.stat()
  if (size < HEADER_BYTES) throw new BlockFileError('the file is too short to be an export of blocks')
  const header = await read(HEADER_BYTES)
  if (!equalBytes(header.subarray(0, MAGIC.length), MAGIC))
    throw new BlockFileError('the file is not an export of blocks')
  if (!equalBytes(header.subarray(MAGIC.length), genesisHash)) {
    throw new BlockFileError('the file is of a chain with another genesis')
  }
  const record = async (): Promise<Uint8Array> => {
    const length = new DataView((await read(4)).buffer).getUint32(0)
    if (length > MAX_RECORD_BYTES) throw new BlockFileError(`the file is damaged before byte ${offset}`)
    return read(length)
  }
  while (offset < size) {
    const start = offset
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

function withLength(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(4 + bytes.length)
  new DataView(out.buffer).setUint32(0, bytes.length)
  out.set(bytes, 4)
  return out
}
