import { keccak256 } from '../primitives/hash.ts'
import type { Log } from './log.ts'
import { logDigest } from './logDigest.ts'

/** A bloom filter has 2048 bits (yellow paper, section 4.3.1). */
const BLOOM_BYTES = 256

/** The filter of no logs, as most transactions have it; nobody writes to it. */
const EMPTY_BLOOM = new Uint8Array(BLOOM_BYTES)

/** The bloom filter over the addresses and topics of `logs`. It may be shared: it is not to be written to. */
export function logsBloom(logs: readonly Log[]): Uint8Array {
  if (logs.length === 0) return EMPTY_BLOOM
  const bloom = new Uint8Array(BLOOM_BYTES)
  for (const log of logs) {
    setBits(bloom, logDigest(log.address))
    for (const topic of log.topics) setBits(bloom, logDigest(topic))
  }
  return bloom
}

/** The union of bloom filters: a block's from its receipts'. */
export function mergeBlooms(blooms: readonly Uint8Array[]): Uint8Array {
  const merged = new Uint8Array(BLOOM_BYTES)
  for (const bloom of blooms) {
    if (bloom === EMPTY_BLOOM) continue
    for (let i = 0; i < BLOOM_BYTES; i++) merged[i]! |= bloom[i]!
  }
  return merged
}

/** Whether the filter may hold `item` (an address or a topic); false is certain. */
export function bloomMayContain(bloom: Uint8Array, item: Uint8Array): boolean {
  const digest = keccak256(item)
  for (let i = 0; i < 6; i += 2) {
    const bit = ((digest[i]! << 8) | digest[i + 1]!) & 0x7ff
    if ((bloom[BLOOM_BYTES - 1 - (bit >> 3)]! & (1 << (bit & 7))) === 0) return false
  }
  return true
}

function setBits(bloom: Uint8Array, digest: Uint8Array): void {
  for (let i = 0; i < 6; i += 2) {
    const bit = ((digest[i]! << 8) | digest[i + 1]!) & 0x7ff
    bloom[BLOOM_BYTES - 1 - (bit >> 3)]! |= 1 << (bit & 7)
  }
}
