import { crc32 } from 'node:zlib'

/**
 * Every stored value ends with a checksum of its key and itself, since a damaged disk must not change the state unseen: LevelDB has
 * checksums of its own, but does not check them when it reads. With the key in it, a value is not taken for that of another key.
 */
export const CHECKSUM_BYTES = 4

/** What the crc32 of any bytes is that end with their own crc32, the lowest byte first. */
const CRC_OF_CHECKED = 0x2144_df1c

/** Writes the checksum of the entry (key and value, one after the other) at [start, end) of `memory` behind it. */
export function writeChecksum(memory: Uint8Array, start: number, end: number): void {
  const checksum = crc32(new Uint8Array(memory.buffer, memory.byteOffset + start, end - start))
  memory[end] = checksum
  memory[end + 1] = checksum >>> 8
  memory[end + 2] = checksum >>> 16
  memory[end + 3] = checksum >>> 24
}

/** The value in `stored`, a view on it; undefined when it is not what was written under this key. */
export function checkedValue(key: Uint8Array, stored: Uint8Array): Uint8Array | undefined {
  const length = stored.length - CHECKSUM_BYTES
  if (length < 0 || crc32(stored, crc32(key)) !== CRC_OF_CHECKED) return undefined
  return new Uint8Array(stored.buffer, stored.byteOffset, length)
}
