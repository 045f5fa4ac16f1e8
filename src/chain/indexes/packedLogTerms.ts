import { Column, HEIGHT_BYTES, readHeight, writeHeight } from '../../storage/columns.ts'
import type { DatabaseReader } from '../../storage/database.ts'
import { forEachLogItem, type Log } from '../block/receipt.ts'

/*
 * The terms of a block that has thousands of them, in 256 entries instead of one for each: a full
 * block of logs may have 200,000 different topics. Terms are fingerprints of 32 bits here. Those
 * with the same first byte, a group, are in one entry, by their other three bytes, ascending. A
 * fingerprint is not a cryptographic hash: readers check the logs themselves. An attacker who wants
 * readers to open a block needlessly can simply emit the log that they search for.
 */

/** A block with fewer different terms has an entry for each, because a reader has to look into every packed block of its range. */
const LEAST_PACKED = 4_096
const REST_BYTES = 3
const REST_VALUES = 2 ** 24
const GROUPS = 256

/**
 * Returns the fingerprint of a log's address (position 0) or topic (1 to 4): FNV-1a, with the end
 * of MurmurHash3 so that all bits mix.
 */
export function logFingerprint(position: number, bytes: Uint8Array): number {
  let hash = Math.imul(0x811c9dc5 ^ position, 0x01000193)
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * Returns the different fingerprints of logs, ascending; undefined when they are too few to be
 * packed.
 */
export function packableFingerprints(logs: readonly Log[]): Uint32Array | undefined {
  let most = 0
  for (const log of logs) most += 1 + log.topics.length
  if (most < LEAST_PACKED) return undefined
  const prints = new Uint32Array(most)
  let count = 0
  forEachLogItem(logs, (position, bytes) => {
    prints[count++] = logFingerprint(position, bytes)
  })
  const sorted = prints.subarray(0, count).sort()
  let different = 0
  for (let i = 0; i < count; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[different++] = sorted[i]!
  }
  return different < LEAST_PACKED ? undefined : sorted.subarray(0, different)
}

/** Calls `visit` for each entry of a block. @param prints different ones, ascending */
export function forEachPackedEntry(
  height: number,
  prints: Uint32Array,
  visit: (key: Uint8Array, value: Uint8Array) => void,
): void {
  for (let group = 0, at = 0; group < GROUPS; group++) {
    const first = at
    while (at < prints.length && prints[at]! >>> 24 === group) at++
    if (at === first) continue
    const value = new Uint8Array((at - first) * REST_BYTES)
    for (let i = first, end = 0; i < at; i++) {
      value[end++] = prints[i]! >>> 16
      value[end++] = prints[i]! >>> 8
      value[end++] = prints[i]!
    }
    visit(packedKey(group, height), value)
  }
}

function packedKey(group: number, height: number): Uint8Array {
  const key = new Uint8Array(2 + HEIGHT_BYTES)
  key[0] = Column.packedLogTerms
  key[1] = group
  writeHeight(key, 2, height)
  return key
}

/**
 * Yields the heights of packed blocks in [from, to], ascending, that may have a term, with the
 * bytes that were read for each block looked into.
 */
export async function* packedHeights(
  db: Pick<DatabaseReader, 'entries'>,
  print: number,
  from: number,
  to: number,
): AsyncIterable<{ readonly height: number; readonly isFound: boolean; readonly bytes: number }> {
  const group = print >>> 24
  const range = { start: packedKey(group, from), end: packedKey(group, to + 1) }
  for await (const [key, value] of db.entries(range)) {
    yield {
      height: readHeight(key, key.length - HEIGHT_BYTES),
      isFound: hasRest(value, print % REST_VALUES),
      bytes: value.length,
    }
  }
}

function hasRest(value: Uint8Array, rest: number): boolean {
  for (let low = 0, high = value.length / REST_BYTES - 1; low <= high; ) {
    const middle = (low + high) >> 1
    const at = middle * REST_BYTES
    const found = (value[at]! << 16) | (value[at + 1]! << 8) | value[at + 2]!
    if (found === rest) return true
    if (found < rest) low = middle + 1
    else high = middle - 1
  }
  return false
}
