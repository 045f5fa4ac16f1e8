import { createCRC32 } from 'hash-wasm'
import { concatBytes, equalBytes } from '../primitives/bytes.ts'
import { RULES } from '../storage/format.ts'
import { decodeWalEntry, type WalEntry } from './walEntry.ts'

/** The write-ahead log cannot be used. The message tells the operator what to do. */
export class WalError extends Error {
  override readonly name = 'WalError'
}

/**
 * A record on disk: crc32c (4 bytes, little-endian) | length of the payload (4, little-endian) |
 * payload. The checksum covers the segment's salt, length and payload. The salt is a secret of this
 * file, so that neither data of another file in a reused disk block nor chosen bytes in a
 * transaction can look like a valid record.
 */
const RECORD_OVERHEAD = 8

/**
 * Longer records are not written; a greater length in a file means damage. The longest record is a block part: 64 KiB and its proof.
 */
const MAX_RECORD_LENGTH = 1 << 20

/** First byte of a payload that is not an entry; entries use other values (walEntry.ts). */
const HEADER_KIND = 0
const SYNC_MARK_KIND = 1

/** Of the log's records. Version 1 did not name the rules of its blocks. */
const FORMAT_VERSION = 2
export const SALT_LENGTH = 8
const HASH_LENGTH = 32

/** The header's own checksum uses no salt, because the salt is in the header. */
const NO_SALT = new Uint8Array()

/** Kind, version, and the version of the rules that decided its blocks. */
const VERSION_LENGTH = 3
/** Length of the header: a record with these, genesis hash, salt. */
export const HEADER_LENGTH = RECORD_OVERHEAD + VERSION_LENGTH + HASH_LENGTH + SALT_LENGTH

/** Length of a sync mark: a record with kind and offset. */
const SYNC_MARK_LENGTH = RECORD_OVERHEAD + 5

export function encodeSegmentHeader(genesisHash: Uint8Array, salt: Uint8Array): Uint8Array {
  return frameRecord(NO_SALT, concatBytes(Uint8Array.of(HEADER_KIND, FORMAT_VERSION, RULES), genesisHash, salt))
}

/**
 * Returns a mark which says that this segment was on stable storage up to `offset` when the mark
 * was written.
 */
export function encodeSyncMark(offset: number, salt: Uint8Array): Uint8Array {
  const payload = new Uint8Array(5)
  payload[0] = SYNC_MARK_KIND
  new DataView(payload.buffer).setUint32(1, offset, true)
  return frameRecord(salt, payload)
}

interface SegmentContent {
  readonly salt: Uint8Array
  /** end of the undamaged records; less than the file's length when the end is torn */
  readonly length: number
}

/**
 * Reads a segment's records and passes each entry to `visit`.
 * @param name for error messages
 * @returns undefined when the file ends within its header
 * @throws WalError when the segment is of another genesis, version or rules, or records that were on stable storage are damaged
 */
export function readSegment(
  name: string,
  bytes: Uint8Array,
  genesisHash: Uint8Array,
  visit: (entry: WalEntry) => void,
): SegmentContent | undefined {
  if (bytes.length < HEADER_LENGTH) return undefined
  const salt = readHeader(name, bytes, genesisHash)
  let offset = HEADER_LENGTH
  while (offset < bytes.length) {
    const payload = readRecord(bytes, offset, salt)
    if (payload === undefined) {
      if (wasSynced(bytes, offset, salt)) throw damaged(name, offset)
      break
    }
    if (payload[0] !== SYNC_MARK_KIND) visit(decodeEntry(name, offset, payload))
    offset += RECORD_OVERHEAD + payload.length
  }
  return { salt, length: offset }
}

/** An older log would not know the newest votes of this validator; a new one is begun with care. */
export const WAL_ADVICE =
  "check the disk, then move wal/ away, with no other process that has this validator's key running: the node begins a new log and " +
  'signs nothing until one more block is decided; do not put back an older one (docs/operations.md, "A damaged disk")'

export function damaged(name: string, offset: number): WalError {
  return new WalError(`${name} is damaged at byte ${offset}, before records that are whole: ${WAL_ADVICE}`)
}

function readHeader(name: string, bytes: Uint8Array, genesisHash: Uint8Array): Uint8Array {
  const header = readRecord(bytes, 0, NO_SALT)
  if (header === undefined || header.length < VERSION_LENGTH || header[0] !== HEADER_KIND) throw damaged(name, 0)
  const [, format, rules] = header
  if (format! < FORMAT_VERSION || (format === FORMAT_VERSION && rules! < RULES)) throw otherRules(name, 'an older')
  if (format !== FORMAT_VERSION || rules !== RULES) throw otherRules(name, 'a newer')
  if (header.length !== HEADER_LENGTH - RECORD_OVERHEAD) throw damaged(name, 0)
  if (!equalBytes(header.subarray(VERSION_LENGTH, VERSION_LENGTH + HASH_LENGTH), genesisHash)) {
    throw new WalError(
      `${name} belongs to a chain with another genesis: use that genesis, or move the wal directory away`,
    )
  }
  return header.slice(VERSION_LENGTH + HASH_LENGTH)
}

/**
 * Returns the error for a log of a different version. The database reports its version too, but it
 * may have been removed without the log.
 */
function otherRules(name: string, age: 'an older' | 'a newer'): WalError {
  const advice =
    age === 'an older'
      ? 'start a new chain with a new data directory (HOMEDIR), or run the version that wrote it'
      : 'run the version that wrote it'
  return new WalError(`${name} was written by ${age} version of coind, whose rules differ: ${advice}`)
}

function decodeEntry(name: string, offset: number, payload: Uint8Array): WalEntry {
  try {
    return decodeWalEntry(payload)
  } catch (cause) {
    throw new WalError(
      `${name} has a record at byte ${offset} that this version cannot read: use the one that wrote it`,
      {
        cause,
      },
    )
  }
}

/**
 * Whether `offset` was on stable storage, which a later sync mark proves. Undamaged records after a damaged one do not prove it,
 * because a disk may write the blocks of an unfinished batch in any order.
 */
function wasSynced(bytes: Uint8Array, offset: number, salt: Uint8Array): boolean {
  for (let at = offset + 1; at + SYNC_MARK_LENGTH <= bytes.length; at++) {
    if (bytes[at + 4] !== 5 || bytes[at + 5] !== 0 || bytes[at + RECORD_OVERHEAD] !== SYNC_MARK_KIND) continue
    const payload = readRecord(bytes, at, salt)
    if (payload === undefined || payload.length !== 5) continue
    const marked = new DataView(payload.buffer, payload.byteOffset).getUint32(1, true)
    if (marked > offset) return true
  }
  return false
}

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

/**
 * Returns the payload of the record at `offset` (a view); undefined when there is no complete,
 * undamaged record.
 */
function readRecord(bytes: Uint8Array, offset: number, salt: Uint8Array): Uint8Array | undefined {
  if (offset + RECORD_OVERHEAD > bytes.length) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, RECORD_OVERHEAD)
  const length = view.getUint32(4, true)
  const end = offset + RECORD_OVERHEAD + length
  if (length === 0 || length > MAX_RECORD_LENGTH || end > bytes.length) return undefined
  const expected = checksum(salt, bytes.subarray(offset + 4, end))
  for (let i = 0; i < 4; i++) if (bytes[offset + i] !== expected[i]) return undefined
  return bytes.subarray(offset + RECORD_OVERHEAD, end)
}
