import type { Address } from '../primitives/address.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'
import { encodeEnvelope } from './transaction.ts'

export interface Receipt {
  readonly type: 0 | 1 | 2 | 3 | 4
  /** 1 success, 0 failure; a 32-byte state root before Byzantium */
  readonly status: 0 | 1 | Uint8Array
  readonly gasUsed: bigint
  readonly cumulativeGasUsed: bigint
  readonly effectiveGasPrice: bigint
  readonly logs: readonly Log[]
  /** 256 bytes */
  readonly logsBloom: Uint8Array
  /** address of the created contract (set for a failed creation too, as geth does) */
  readonly contractAddress: Address | undefined
  readonly blobGasUsed: bigint | undefined
  readonly blobGasPrice: bigint | undefined
}

/** A log that a contract emitted. */
export interface Log {
  readonly address: Address
  /** 0 to 4 topics of 32 bytes */
  readonly topics: readonly Uint8Array[]
  readonly data: Uint8Array
}

/** The consensus encoding, which the receipts root covers (EIP-658, EIP-2718). */
export function encodeReceipt(
  receipt: Pick<Receipt, 'type' | 'status' | 'cumulativeGasUsed' | 'logsBloom' | 'logs'>,
): Uint8Array {
  const { status, cumulativeGasUsed, logsBloom, logs } = receipt
  return encodeEnvelope(receipt.type, [
    typeof status === 'number' ? BigInt(status) : status,
    cumulativeGasUsed,
    logsBloom,
    logs.map((log) => [log.address, log.topics, log.data]),
  ])
}

/** A bloom filter has 2048 bits (yellow paper, section 4.3.1). */
const BLOOM_BYTES = 256

/** The filter of no logs, which most transactions have; it must not be changed. */
const EMPTY_BLOOM = new Uint8Array(BLOOM_BYTES)

/** The bloom filter over the addresses and topics of `logs`. The array may be shared, so callers must not write to it. */
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

/** Whether the filter may contain `item` (an address or a topic); false is certain. */
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

/** Digests in each of the two generations of the cache. */
const GENERATION = 4_096

let recent = new Map<string, Hash>()
let older = new Map<string, Hash>()

/**
 * keccak256 of a log's address or topic, for bloom filters and the index of logs. It is cached, because the same few contracts, events
 * and holders appear again and again. The array is shared, so callers must not write to it.
 */
export function logDigest(item: Uint8Array): Hash {
  const key = bytesKey(item)
  const known = recent.get(key)
  if (known !== undefined) return known
  const digest = older.get(key) ?? keccak256(item)
  if (recent.size >= GENERATION) {
    older = recent
    recent = new Map()
  }
  recent.set(key, digest)
  return digest
}
