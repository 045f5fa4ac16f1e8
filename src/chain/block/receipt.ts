import type { Address } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { itemLength, rlpLength, writeHeader, writeItem } from '../../primitives/rlp.ts'
import { logDigest } from '../indexes/logDigest.ts'

export interface Receipt {
  readonly type: 0 | 1 | 2 | 3 | 4
  /** 1 success, 0 failure; a 32-byte state root before Byzantium */
  readonly status: 0 | 1 | Uint8Array
  readonly gasUsed: bigint
  readonly cumulativeGasUsed: bigint
  readonly effectiveGasPrice: bigint
  readonly logs: readonly Log[]
  /** the result of {@link encodeLogs}, where it is known */
  readonly encodedLogs?: Uint8Array
  /** 256 bytes */
  readonly logsBloom: Uint8Array
  /** address of the created contract (set for a failed creation too, as geth does) */
  readonly contractAddress: Address | undefined
  readonly blobGasUsed: bigint | undefined
  readonly blobGasPrice: bigint | undefined
}

/** A log that a contract emitted. Logs may share arrays, which are never written to. */
export interface Log {
  readonly address: Address
  /** 0 to 4 topics of 32 bytes */
  readonly topics: readonly Uint8Array[]
  readonly data: Uint8Array
}

/** Returns the consensus encoding, which the receipts root covers (EIP-658, EIP-2718). */
export function encodeReceipt(
  receipt: Pick<Receipt, 'type' | 'status' | 'cumulativeGasUsed' | 'logsBloom' | 'logs' | 'encodedLogs'>,
): Uint8Array {
  const { type, cumulativeGasUsed, logsBloom, logs, encodedLogs = encodeLogs(logs) } = receipt
  const status = typeof receipt.status === 'number' ? BigInt(receipt.status) : receipt.status
  const length = itemLength(status) + itemLength(cumulativeGasUsed) + itemLength(logsBloom) + encodedLogs.length
  const typeLength = type === 0 ? 0 : 1
  const out = new Uint8Array(typeLength + rlpLength(length))
  if (type !== 0) out[0] = type
  let at = writeHeader(out, typeLength, 0xc0, length)
  at = writeItem(out, at, status)
  at = writeItem(out, at, cumulativeGasUsed)
  at = writeItem(out, at, logsBloom)
  // Most transactions have no logs, and a call of `set` costs more than the byte.
  if (encodedLogs.length === 1) out[at] = EMPTY_LIST
  else out.set(encodedLogs, at)
  return out
}

const EMPTY_LIST = 0xc0
const NO_LOGS = Uint8Array.of(EMPTY_LIST)

/** Returns the RLP of the list of logs. */
export function encodeLogs(logs: readonly Log[]): Uint8Array {
  if (logs.length === 0) return NO_LOGS
  let length = 0
  for (const log of logs) length += rlpLength(logContentLength(log))
  const out = new Uint8Array(rlpLength(length))
  let at = writeHeader(out, 0, 0xc0, length)
  for (const log of logs) {
    at = writeHeader(out, at, 0xc0, logContentLength(log))
    at = writeItem(out, at, log.address)
    at = writeHeader(out, at, 0xc0, log.topics.length * TOPIC_LENGTH)
    for (const topic of log.topics) at = writeItem(out, at, topic)
    at = writeItem(out, at, log.data)
  }
  return out
}

/** Bytes of a topic with its header. */
const TOPIC_LENGTH = 33

function logContentLength({ address, topics, data }: Log): number {
  return itemLength(address) + rlpLength(topics.length * TOPIC_LENGTH) + itemLength(data)
}

/** A bloom filter has 2048 bits (yellow paper, section 4.3.1). */
const BLOOM_BYTES = 256

/** The filter of no logs, which most transactions have; it must not be changed. */
const EMPTY_BLOOM = new Uint8Array(BLOOM_BYTES)

/**
 * Returns the bloom filter over the addresses and topics of `logs`. The array may be shared, so
 * callers must not write to it.
 */
export function logsBloom(logs: readonly Log[]): Uint8Array {
  if (logs.length === 0) return EMPTY_BLOOM
  const bloom = new Uint8Array(BLOOM_BYTES)
  forEachLogItem(logs, (_position, bytes) => setBits(bloom, logDigest(bytes)))
  return bloom
}

/**
 * Visits the address of each log, at position 0, and its topics, at positions 1 to 4. An item that
 * the log before has at the same position is left out: most logs follow another one of the same
 * contract and event.
 */
export function forEachLogItem(logs: readonly Log[], visit: (position: number, bytes: Uint8Array) => void): void {
  let before: Log | undefined
  for (const log of logs) {
    if (before === undefined || !isSame(log.address, before.address)) visit(0, log.address)
    for (let i = 0; i < log.topics.length; i++) {
      const topic = log.topics[i]!
      const topicBefore = before?.topics[i]
      if (topicBefore === undefined || !isSame(topic, topicBefore)) visit(i + 1, topic)
    }
    before = log
  }
}

/** Topics that are numbers differ in their last bytes, so these are compared first. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || (a[a.length - 1] === b[b.length - 1] && equalBytes(a, b))
}

/** Returns the union of bloom filters: a block's from its receipts'. */
export function mergeBlooms(blooms: readonly Uint8Array[]): Uint8Array {
  const merged = new Uint8Array(BLOOM_BYTES)
  for (const bloom of blooms) {
    if (bloom === EMPTY_BLOOM) continue
    for (let i = 0; i < BLOOM_BYTES; i++) merged[i]! |= bloom[i]!
  }
  return merged
}

/** Whether it is the filter of no logs. */
export function isEmptyBloom(bloom: Uint8Array): boolean {
  return bloom.every((byte) => byte === 0)
}

/**
 * Returns the three bits that each address or topic sets in a bloom filter, one after another; made
 * once to look into many filters.
 */
export function bloomBits(items: readonly Uint8Array[]): Uint16Array {
  const bits = new Uint16Array(items.length * 3)
  items.forEach((item, index) => {
    const digest = keccak256(item)
    for (let i = 0; i < 3; i++) bits[index * 3 + i] = bitAt(digest, i * 2)
  })
  return bits
}

/** Whether the filter may contain any of the items that `bits` were made of; false is certain. */
export function bloomMayContainAny(bloom: Uint8Array, bits: Uint16Array): boolean {
  for (let i = 0; i < bits.length; i += 3) {
    if (hasBit(bloom, bits[i]!) && hasBit(bloom, bits[i + 1]!) && hasBit(bloom, bits[i + 2]!)) return true
  }
  return false
}

function hasBit(bloom: Uint8Array, bit: number): boolean {
  return (bloom[BLOOM_BYTES - 1 - (bit >> 3)]! & (1 << (bit & 7))) !== 0
}

/** Returns the bit that the two bytes at `offset` of a digest stand for. */
function bitAt(digest: Uint8Array, offset: number): number {
  return ((digest[offset]! << 8) | digest[offset + 1]!) & 0x7ff
}

function setBits(bloom: Uint8Array, digest: Uint8Array): void {
  for (let i = 0; i < 6; i += 2) {
    const bit = bitAt(digest, i)
    bloom[BLOOM_BYTES - 1 - (bit >> 3)]! |= 1 << (bit & 7)
  }
}
