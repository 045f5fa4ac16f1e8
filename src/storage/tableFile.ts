import { fstatSync } from 'node:fs'
import { snappyUncompressor } from 'hysnappy'
import { concatBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import { damagedFile } from './damage.ts'
import { DatabaseError } from './database.ts'
import { hasChecksum, LevelReader, type OpenFile, readBytes, readUint32 } from './levelFormat.ts'

/*
 * Checks of a LevelDB table file:
 *
 *   data blocks | filter block | metaindex block | index block | footer
 *
 * Each block is followed by its type (0: as it is, 1: compressed with Snappy) and the masked crc32c of block and type. They follow each
 * other without gaps, so that with the footer every byte of a table is checked.
 */

/** Where a block is; the size does not count its trailer. */
interface BlockHandle {
  readonly offset: number
  readonly size: number
}

/** Data blocks that are neighbours in the file, to be read at once. */
export type Extent = readonly [BlockHandle, ...BlockHandle[]]

const TRAILER_BYTES = 5
const FOOTER_BYTES = 48
const MAGIC_LOW = 0x8b80fb57
const MAGIC_HIGH = 0xdb477524
const SNAPPY = 1
/** No more than this is read at once, unless one block is longer. */
const EXTENT_BYTES = 256 << 10

const uncompress = snappyUncompressor()

/**
 * Checks the footer, metaindex, filter and index of a table, and that its blocks are adjacent.
 * Returns the data blocks, which are not checked yet.
 * @param size that the database has noted for the file
 * @throws DatabaseError
 */
export function checkTableFrame(file: OpenFile, size: number): readonly Extent[] {
  const { path } = file
  const found = fstatSync(file.descriptor).size
  if (found !== size) throw damagedFile(path, undefined, `it has ${found} bytes instead of ${size}`)
  const footerAt = size - FOOTER_BYTES
  if (footerAt < 0) throw damagedFile(path, undefined, 'it is too short for a table')
  const footer = readBytes(file, footerAt, FOOTER_BYTES)
  if (readUint32(footer, 40) !== MAGIC_LOW || readUint32(footer, 44) !== MAGIC_HIGH) {
    throw damagedFile(path, footerAt + 40, 'it does not end as a table does')
  }
  const [metaindex, index] = decoded(file, footerAt, () => {
    const handles = new LevelReader(footer)
    return [readHandle(handles), readHandle(handles)] as const
  })
  if (endOf(metaindex) !== index.offset || endOf(index) !== footerAt) {
    throw damagedFile(path, footerAt, 'the footer names blocks that are not there')
  }
  const filters = readHandles(file, metaindex)
  const blocks = readHandles(file, index)
  let end = 0
  for (const block of [...blocks, ...filters]) {
    if (block.offset !== end) throw damagedFile(path, end, 'no block begins there')
    end = endOf(block)
  }
  if (end !== metaindex.offset) throw damagedFile(path, end, 'no block begins there')
  for (const filter of filters) checkExtent(file, [filter])
  return extentsOf(blocks)
}

/**
 * Checks the checksums of neighbouring blocks; returns how many bytes were read.
 * @throws DatabaseError
 */
export function checkExtent(file: OpenFile, blocks: Extent): number {
  const start = blocks[0].offset
  const bytes = readBytes(file, start, endOf(blocks.at(-1)!) - start)
  for (const { offset, size } of blocks) checkBlock(file, offset, bytes.subarray(offset - start), size)
  return bytes.length
}

function extentsOf(blocks: readonly BlockHandle[]): readonly Extent[] {
  const extents: [BlockHandle, ...BlockHandle[]][] = []
  for (const block of blocks) {
    const last = extents.at(-1)
    if (last !== undefined && endOf(block) - last[0].offset <= EXTENT_BYTES) last.push(block)
    else extents.push([block])
  }
  return extents
}

function endOf({ offset, size }: BlockHandle): number {
  return offset + size + TRAILER_BYTES
}

function checkBlock({ path }: OpenFile, offset: number, bytes: Uint8Array, size: number): void {
  if (hasChecksum(bytes.subarray(0, size + 1), readUint32(bytes, size + 1))) return
  throw damagedFile(path, offset, `a block of ${size} bytes does not have its checksum`)
}

/**
 * Yields the entries in the data blocks of a table that have their checksums, whatever else in the
 * table is damaged: keys whose first byte is from `first` to `last`, with their values. Deleted
 * entries are left out; previous values of an entry may be included.
 * @throws DatabaseError when the index of the table is damaged
 */
export function* readTableEntries(
  file: OpenFile,
  first: number,
  last: number,
): Generator<readonly [Uint8Array, Uint8Array], void, void> {
  const footerAt = fstatSync(file.descriptor).size - FOOTER_BYTES
  if (footerAt < 0) throw damagedFile(file.path, undefined, 'it is too short for a table')
  const handles = new LevelReader(readBytes(file, footerAt, FOOTER_BYTES))
  const index = decoded(file, footerAt, () => [readHandle(handles), readHandle(handles)] as const)[1]
  let before = 0
  for (const [end, handle] of readBlock(file, index)) {
    // The blocks are in the order of their keys, and the index has a key that is not below any of its block.
    const isWanted = before <= last && end[0]! >= first
    before = end[0]!
    if (!isWanted) continue
    try {
      for (const [key, value] of readBlock(file, readHandle(new LevelReader(handle)))) {
        const [userKey, type] = [key.subarray(0, -SEQUENCE_BYTES), key[key.length - SEQUENCE_BYTES]]
        if (type === PUT && userKey[0]! >= first && userKey[0]! <= last) yield [userKey, value]
      }
    } catch (error) {
      // The other blocks may be whole.
      if (!(error instanceof DatabaseError) || error.code !== 'corrupt') throw error
    }
  }
}

/** Bytes behind each key: the operation (1 byte), and the number of the write (7 bytes). */
const SEQUENCE_BYTES = 8
const PUT = 1

/** Reads the handles that are the values of an index block or of the metaindex. */
function readHandles(file: OpenFile, handle: BlockHandle): BlockHandle[] {
  const entries = readBlock(file, handle)
  return decoded(file, handle.offset, () => entries.map(([, value]) => readHandle(new LevelReader(value))))
}

/** Reads the keys and values in a block. @throws DatabaseError */
function readBlock(file: OpenFile, { offset, size }: BlockHandle): readonly (readonly [Uint8Array, Uint8Array])[] {
  // Before memory is taken: a damaged size may be any.
  if (offset + size + TRAILER_BYTES > fstatSync(file.descriptor).size) {
    throw damagedFile(file.path, undefined, `no block of ${size} bytes is at byte ${offset}`)
  }
  const stored = readBytes(file, offset, size + TRAILER_BYTES)
  checkBlock(file, offset, stored, size)
  return decoded(file, offset, () => {
    const block = stored[size] === SNAPPY ? inflate(stored.subarray(0, size)) : stored.subarray(0, size)
    const restarts = readUint32(block, block.length - 4)
    const reader = new LevelReader(block.subarray(0, block.length - 4 * (restarts + 1)))
    const entries: (readonly [Uint8Array, Uint8Array])[] = []
    let key = EMPTY_BYTES
    while (!reader.isDone) {
      // Each entry: bytes of the key that are those of the key before, further bytes of the key, bytes of the value.
      const sharedBytes = reader.varint()
      const keyBytes = reader.varint()
      const valueBytes = reader.varint()
      key = concatBytes(key.subarray(0, sharedBytes), reader.take(keyBytes))
      entries.push([key, reader.take(valueBytes)])
    }
    return entries
  })
}

function readHandle(reader: LevelReader): BlockHandle {
  return { offset: reader.varint(), size: reader.varint() }
}

/** Decompresses Snappy, whose form begins with the length of the original. */
function inflate(bytes: Uint8Array): Uint8Array {
  return uncompress(bytes, new LevelReader(bytes).varint())
}

/**
 * Returns the result of `decode`. If that fails although the checksum is right, the data was
 * damaged before it was written.
 */
function decoded<T>({ path }: OpenFile, offset: number, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw damagedFile(path, offset, `it cannot be decoded: ${(error as Error).message}`, error)
  }
}
