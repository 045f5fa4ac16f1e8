import { keccakView } from '../../primitives/keccak.ts'

/** Length of the stored prefix of a digest. */
export const LOG_DIGEST_BYTES = 8
/** Length of a topic; addresses are shorter. */
const MOST_BYTES = 32
/** Number of addresses and topics whose digests are cached: 41 bytes each. */
const ENTRIES = 1 << 10

const items = new Uint8Array(ENTRIES * MOST_BYTES)
/** 0: the entry is free */
const lengths = new Uint8Array(ENTRIES)
const digests = new Uint8Array(ENTRIES * LOG_DIGEST_BYTES)
const digest = new Uint8Array(LOG_DIGEST_BYTES)

/**
 * Returns the first {@link LOG_DIGEST_BYTES} bytes of the keccak256 of a log's address or topic:
 * bloom filters and the index of logs need no more. Most logs of a block have the same few
 * addresses and topics, so each digest is cached until another one replaces it.
 * @returns an array that begins with them, and that the next call overwrites
 */
export function logDigest(item: Uint8Array): Uint8Array {
  const { length } = item
  if (length === 0 || length > MOST_BYTES) return keccakView(item)
  const entry = entryOf(item)
  const from = entry * LOG_DIGEST_BYTES
  if (isIn(entry, item)) {
    for (let i = 0; i < LOG_DIGEST_BYTES; i++) digest[i] = digests[from + i]!
    return digest
  }
  const found = keccakView(item)
  for (let i = 0; i < LOG_DIGEST_BYTES; i++) digests[from + i] = digest[i] = found[i]!
  for (let i = 0; i < length; i++) items[entry * MOST_BYTES + i] = item[i]!
  lengths[entry] = length
  return digest
}

/** By the last eight bytes, which differ in hashes, addresses and numbers alike. */
function entryOf(item: Uint8Array): number {
  let mixed = 0
  for (let i = Math.max(0, item.length - 8); i < item.length; i++) mixed = Math.imul(mixed ^ item[i]!, 0x01000193)
  return (mixed ^ (mixed >>> 15)) & (ENTRIES - 1)
}

function isIn(entry: number, item: Uint8Array): boolean {
  const { length } = item
  if (lengths[entry] !== length) return false
  const from = entry * MOST_BYTES
  for (let i = 0; i < length; i++) if (items[from + i] !== item[i]) return false
  return true
}
