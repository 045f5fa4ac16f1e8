import { concatBytes } from '../primitives/bytes.ts'
import { hasChecksum, readUint32 } from './levelFormat.ts'

/*
 * The format of LevelDB's logs and of its MANIFEST: blocks of 32 KiB with records, each with masked crc32c (4 bytes), length (2) and type
 * (1). A longer record is split in parts of types first, middle …, last. Less than a header at the end of a block is unused.
 */

const BLOCK_BYTES = 32_768
const HEADER_BYTES = 7
const PartType = { full: 1, first: 2, middle: 3, last: 4 } as const

export interface FileRecord {
  /** where it begins in the file */
  readonly offset: number
  readonly payload: Uint8Array
}

interface FileRecords {
  readonly records: readonly FileRecord[]
  /**
   * The first place that is not as it was written; undefined when the file is intact. A record that
   * the end of the file cuts off does not count, nor do zeros to the end: a killed writer, or a
   * machine that lost power, leaves a file so.
   */
  readonly damagedAt: number | undefined
}

/** Reads the records that LevelDB reads from such a file: after a damaged one it continues with the next block. */
export function readRecords(file: Uint8Array): FileRecords {
  const records: FileRecord[] = []
  let damagedAt: number | undefined
  let parts: Uint8Array[] = []
  let startedAt = 0
  const drop = (at: number): void => {
    damagedAt ??= at
    parts = []
  }
  for (let blockAt = 0; blockAt < file.length; blockAt += BLOCK_BYTES) {
    const blockEnd = Math.min(blockAt + BLOCK_BYTES, file.length)
    for (let at = blockAt; at + HEADER_BYTES <= blockEnd; ) {
      const length = file[at + 4]! | (file[at + 5]! << 8)
      const type = file[at + 6]!
      const end = at + HEADER_BYTES + length
      const isCut = end > blockEnd && blockEnd === file.length
      if (isCut || isZero(file.subarray(at))) return { records, damagedAt }
      if (end > blockEnd || !hasChecksum(file.subarray(at + 6, end), readUint32(file, at))) {
        drop(at)
        break
      }
      const payload = file.subarray(at + HEADER_BYTES, end)
      const begins = type === PartType.full || type === PartType.first
      if (begins === parts.length > 0) drop(at)
      if (begins) {
        parts = [payload]
        startedAt = at
      } else if (parts.length > 0) {
        parts.push(payload)
      }
      if (parts.length > 0 && (type === PartType.full || type === PartType.last)) {
        records.push({ offset: startedAt, payload: concatBytes(...parts) })
        parts = []
      }
      at = end
    }
  }
  return { records, damagedAt }
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}
