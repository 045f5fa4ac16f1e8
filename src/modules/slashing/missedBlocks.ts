import { bigIntToMinimalBytes, bytesKey, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey } from '../storeKey.ts'
import { MISSED_CHUNK_PREFIX, MISSED_COUNT_PREFIX } from './keys.ts'

/**
 * Which blocks of its window a validator missed: one bit a block, in chunks, and how many. A chunk without bits and a count
 * of 0 are not stored, so nothing is there of validators that sign.
 */
const CHUNK_BITS = 1024
const CHUNK_BYTES = CHUNK_BITS / 8

type Store = Pick<NativeStore, 'get' | 'set' | 'delete'>

export function missedCount(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): number {
  const value = native.get(addressesKey(MISSED_COUNT_PREFIX, consensusAddress))
  return value === undefined ? 0 : Number(bytesToBigInt(value))
}

/** Whether the block at `index` of the window was missed. */
export function isMissed(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array, index: number): boolean {
  const chunk = native.get(chunkKey(consensusAddress, index))
  return chunk !== undefined && (chunk[byteOf(index)]! & maskOf(index)) !== 0
}

/** Sets or clears the bit at `index`, which must not be so already, and counts. @returns how many are set now */
export function flipMissed(native: Store, consensusAddress: Uint8Array, index: number): number {
  const key = chunkKey(consensusAddress, index)
  const chunk = native.get(key)?.slice() ?? new Uint8Array(CHUNK_BYTES)
  const at = byteOf(index)
  chunk[at] = chunk[at]! ^ maskOf(index)
  if (chunk.every((byte) => byte === 0)) native.delete(key)
  else native.set(key, chunk)
  const count = missedCount(native, consensusAddress) + ((chunk[at]! & maskOf(index)) === 0 ? -1 : 1)
  const countKey = addressesKey(MISSED_COUNT_PREFIX, consensusAddress)
  if (count === 0) native.delete(countKey)
  else native.set(countKey, bigIntToMinimalBytes(BigInt(count)))
  return count
}

/** Forgets what a validator missed. */
export function clearMissed(native: Pick<NativeStore, 'delete' | 'range'>, consensusAddress: Uint8Array): void {
  for (const [key] of [...native.range(addressesKey(MISSED_CHUNK_PREFIX, consensusAddress))]) native.delete(key)
  native.delete(addressesKey(MISSED_COUNT_PREFIX, consensusAddress))
}

/** Forgets what all validators missed: bits of one window mean nothing in another. */
export function clearAllMissed(native: Pick<NativeStore, 'delete' | 'range'>): void {
  const missing = [...native.range(MISSED_COUNT_PREFIX)].map(([key]) => addressOf(key))
  for (const consensusAddress of missing) clearMissed(native, consensusAddress)
}

/** Validators with missed blocks, as keys of their consensus addresses. */
export function missingValidators(native: Pick<NativeStore, 'range'>): ReadonlySet<string> {
  const found = new Set<string>()
  for (const [key] of native.range(MISSED_COUNT_PREFIX)) found.add(bytesKey(addressOf(key)))
  return found
}

/** The bits that are set, for checks. */
export function countBits(native: Pick<NativeStore, 'range'>, consensusAddress: Uint8Array): number {
  let count = 0
  for (const [, chunk] of native.range(addressesKey(MISSED_CHUNK_PREFIX, consensusAddress))) {
    for (const byte of chunk) for (let rest = byte; rest !== 0; rest &= rest - 1) count++
  }
  return count
}

function addressOf(countKey: Uint8Array): Uint8Array {
  return countKey.slice(MISSED_COUNT_PREFIX.length + 1)
}

function chunkKey(consensusAddress: Uint8Array, index: number): Uint8Array {
  const number = new Uint8Array(8)
  new DataView(number.buffer).setBigUint64(0, BigInt(Math.floor(index / CHUNK_BITS)))
  return concatBytes(addressesKey(MISSED_CHUNK_PREFIX, consensusAddress), number)
}

function byteOf(index: number): number {
  return Math.floor((index % CHUNK_BITS) / 8)
}

function maskOf(index: number): number {
  return 1 << (index % 8)
}
