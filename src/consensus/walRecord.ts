import { createCRC32 } from 'hash-wasm'
import { concatBytes } from '../primitives/bytes.ts'

/**
 * A record on disk: crc32c (4 bytes, little-endian) | length of the payload (4, little-endian) | payload. The checksum
 * covers the segment's salt, length and payload. The salt is a secret of this file: data of other files in a reused disk block
 * is no record of this one, and nobody can hide a record in a transaction.
 */
export const RECORD_OVERHEAD = 8

/** Longer ones cannot be written; a length beyond it in a file is damage. A block part takes 64 KiB and its proof. */
export const MAX_RECORD_LENGTH = 1 << 20

/** Castagnoli's polynomial, reflected */
const crc32c = await createCRC32(0x82f63b78)

function checksum(salt: Uint8Array, covered: Uint8Array): Uint8Array {
  // The hasher's digest is big-endian.
  return crc32c.init().update(salt).update(covered).digest('binary').reverse()
}

/** @throws RangeError when the payload is empty or too long */
export function frameRecord(salt: Uint8Array, payload: Uint8Array): Uint8Array {
  if (payload.length === 0 || payload.length > MAX_RECORD_LENGTH) {
    throw new RangeError(`a record has 1 to ${MAX_RECORD_LENGTH} bytes, not ${payload.length}`)
  }
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, payload.length, true)
  const covered = concatBytes(length, payload)
  return concatBytes(checksum(salt, covered), covered)
}

/** The payload of the record at `offset`, a view; undefined when there is no whole, undamaged one. */
export function readRecord(bytes: Uint8Array, offset: number, salt: Uint8Array): Uint8Array | undefined {
  if (offset + RECORD_OVERHEAD > bytes.length) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, RECORD_OVERHEAD)
  const length = view.getUint32(4, true)
  const end = offset + RECORD_OVERHEAD + length
  if (length === 0 || length > MAX_RECORD_LENGTH || end > bytes.length) return undefined
  const expected = checksum(salt, bytes.subarray(offset + 4, end))
  for (let i = 0; i < 4; i++) if (bytes[offset + i] !== expected[i]) return undefined
  return bytes.subarray(offset + RECORD_OVERHEAD, end)
}
