import { crc32 } from 'node:zlib'

/**
 * Every stored value ends with a checksum of its key and itself, since a damaged disk must not change the state unseen: LevelDB has
 * checksums of its own, but does not check them when it reads. With the key in it, a value is not taken for that of another key.
 */
export const CHECKSUM_BYTES = 4

/** The crc32 of any bytes that end with their own crc32, the lowest byte first. */
const CRC_OF_CHECKED = 0x2144_df1c

/** Writes the checksum of the entry (key and value, one after the other) at [start, end) of `memory` behind it. */
export function writeChecksum(memory: Uint8Array, start: number, end: number): void {
  const checksum = checksumOf(memory, start, end, 0)
  memory[end] = checksum
  memory[end + 1] = checksum >>> 8
  memory[end + 2] = checksum >>> 16
  memory[end + 3] = checksum >>> 24
}

/** Returns the value in `stored`, a view on it; undefined when it is not what was written under this key. */
export function checkedValue(key: Uint8Array, stored: Uint8Array): Uint8Array | undefined {
  const length = stored.length - CHECKSUM_BYTES
  if (length < 0) return undefined
  const ofKey = checksumOf(key, 0, key.length, 0)
  if (checksumOf(stored, 0, stored.length, ofKey) !== CRC_OF_CHECKED) return undefined
  return new Uint8Array(stored.buffer, stored.byteOffset, length)
}

/** For fewer bytes a table here is faster than a call of zlib. */
const LONG = 128

/** Returns the crc32 of the bytes at [start, end) behind those whose crc32 is `before`. */
function checksumOf(bytes: Uint8Array, start: number, end: number, before: number): number {
  if (end - start >= LONG) return crc32(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), before)
  let crc = ~before
  let at = start
  for (; at + 4 <= end; at += 4) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    crc =
      TABLES[THIRD | (crc & 0xff)]! ^
      TABLES[SECOND | ((crc >>> 8) & 0xff)]! ^
      TABLES[FIRST | ((crc >>> 16) & 0xff)]! ^
      TABLES[crc >>> 24]!
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ TABLES[(crc ^ bytes[at]!) & 0xff]!
  return ~crc >>> 0
}

/** Where the tables of bytes begin that one, two and three further bytes follow. */
const FIRST = 256
const SECOND = 512
const THIRD = 768

/**
 * The change that each byte makes to a crc32 (IEEE 802.3, reflected), also when up to three zeros
 * follow it ("slicing").
 */
const TABLES = createTables()

function createTables(): Int32Array {
  const tables = new Int32Array(4 * FIRST)
  for (let byte = 0; byte < FIRST; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0)
    tables[byte] = crc
  }
  for (let at = FIRST; at < tables.length; at++) {
    const crc = tables[at - FIRST]!
    tables[at] = (crc >>> 8) ^ tables[crc & 0xff]!
  }
  return tables
}
