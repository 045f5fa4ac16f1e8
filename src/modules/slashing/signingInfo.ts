import { type Address, BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import { bigIntToMinimalBytes, bytesKey, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import { bool, defineMessage, int64, string, timestamp, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext, ReadContext } from '../context.ts'
import { getOperator } from '../staking/validators.ts'
import { type AddressWalk, addressEntries, addressesKey, moduleStoreKey } from '../storeKey.ts'
import { SLASHING_PARAMS } from './params.ts'

/*
 * Records of a validator's signing: its signing info and the blocks that it missed in its window.
 * Keys have the SDK's prefixes (x/slashing/types/keys.go); the last one is coind's.
 */

/** consensus address -> signing info */
export const SIGNING_INFO_PREFIX: Uint8Array = moduleStoreKey('slashing', Uint8Array.of(0x01))
/** operator, number of the chunk -> bits of missed blocks: many entries, which a rotation of the key does not move */
const MISSED_CHUNK_PREFIX = moduleStoreKey('slashing', Uint8Array.of(0x02))
/** consensus address -> number of missed blocks; absent without missed blocks */
const MISSED_COUNT_PREFIX = moduleStoreKey('slashing', Uint8Array.of(0x04))

/**
 * The SDK's ValidatorSigningInfo without the fields that follow from other entries: the index
 * offset (from the height) and the number of missed blocks ({@link missedCount}).
 */
const SigningRecord = defineMessage('coind.slashing.SigningRecord', {
  /** of the block at whose end it was last bonded */
  startHeight: int64(1),
  /** nanoseconds since the epoch */
  jailedUntil: timestamp(2),
  tombstoned: bool(3),
})
export type SigningRecord = ValueOf<typeof SigningRecord>

export function getSigningRecord(
  native: Pick<NativeStore, 'get'>,
  consensusAddress: Uint8Array,
): SigningRecord | undefined {
  const value = native.get(addressesKey(SIGNING_INFO_PREFIX, consensusAddress))
  return value && SigningRecord.decode(value)
}

export function putSigningRecord(
  native: Pick<NativeStore, 'set'>,
  consensusAddress: Uint8Array,
  record: SigningRecord,
): void {
  native.set(addressesKey(SIGNING_INFO_PREFIX, consensusAddress), SigningRecord.encode(record))
}

/** Yields the entries of all validators in order of consensus addresses. */
export function* signingRecords(
  native: Pick<NativeStore, 'range'>,
  walk?: AddressWalk,
): IterableIterator<readonly [consensusAddress: Uint8Array, record: SigningRecord]> {
  for (const [[consensusAddress], value] of addressEntries(native, SIGNING_INFO_PREFIX, walk)) {
    yield [consensusAddress!, SigningRecord.decode(value)]
  }
}

/**
 * Hook of staking for a validator that is bonded, for the first time or again: restarts its window
 * (x/slashing/keeper/hooks.go, AfterValidatorBonded).
 */
export function afterValidatorBonded(
  { world: { native }, block }: ModuleContext,
  consensusAddress: Uint8Array,
  _operator: Address,
): void {
  const known = getSigningRecord(native, consensusAddress) ?? { jailedUntil: 0n, tombstoned: false }
  putSigningRecord(native, consensusAddress, { ...known, startHeight: BigInt(block.height) })
}

/**
 * Hook of staking for an unbonded validator: deletes its missed blocks, so that only validators
 * that may be bonded have such records.
 */
export function afterValidatorUnbonded({ world: { native } }: ModuleContext, signer: Signer): void {
  if (native.get(addressesKey(MISSED_COUNT_PREFIX, signer.address)) !== undefined) clearMissed(native, signer)
}

/**
 * Hook of staking for a validator with a new consensus key: moves its signing info and its count of
 * missed blocks to the new key (x/slashing/keeper/hooks.go, AfterValidatorConsKeyUpdated). A
 * validator that was never bonded has neither. A tombstone stays with the old key too. The missed
 * blocks themselves are stored by operator.
 */
export function moveSigningRecord(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  from: Uint8Array,
  to: Uint8Array,
): void {
  const record = getSigningRecord(native, from)
  if (record === undefined) return
  putSigningRecord(native, to, record)
  if (!record.tombstoned) native.delete(addressesKey(SIGNING_INFO_PREFIX, from))
  const count = native.get(addressesKey(MISSED_COUNT_PREFIX, from))
  if (count === undefined) return
  native.set(addressesKey(MISSED_COUNT_PREFIX, to), count)
  native.delete(addressesKey(MISSED_COUNT_PREFIX, from))
}

/** Whether the key signed twice, so that no validator can use it again. */
export function isTombstoned(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): boolean {
  return getSigningRecord(native, consensusAddress)?.tombstoned === true
}

/**
 * Returns the place in its window of the block before `height`, by how many blocks passed since the
 * validator was bonded.
 */
export function windowIndex({ startHeight }: SigningRecord, height: number, window: bigint): number {
  return Number((BigInt(height) - startHeight) % window)
}

/*
 * Which blocks of its window a validator missed: one bit a block, in chunks, and how many. A chunk without bits and a count
 * of 0 are not stored, so nothing is stored of validators that sign.
 */
const CHUNK_BITS = 1024
const CHUNK_BYTES = CHUNK_BITS / 8

/** A validator whose missed blocks are counted. */
interface Signer {
  /** consensus address */
  readonly address: Uint8Array
  readonly operator: Address
}

export function missedCount(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): number {
  const value = native.get(addressesKey(MISSED_COUNT_PREFIX, consensusAddress))
  return value === undefined ? 0 : Number(bytesToBigInt(value))
}

/** Whether the block at `index` of the window was missed. */
export function isMissed(native: Pick<NativeStore, 'get'>, operator: Address, index: number): boolean {
  const chunk = native.get(chunkKey(operator, index))
  return chunk !== undefined && (chunk[byteOf(index)]! & maskOf(index)) !== 0
}

/** Changes the bit at `index` to its opposite, and the count with it. @returns how many bits are set now */
export function flipMissed(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  { address, operator }: Signer,
  index: number,
): number {
  const key = chunkKey(operator, index)
  const chunk = native.get(key)?.slice() ?? new Uint8Array(CHUNK_BYTES)
  const at = byteOf(index)
  chunk[at] = chunk[at]! ^ maskOf(index)
  if (chunk.every((byte) => byte === 0)) native.delete(key)
  else native.set(key, chunk)
  const count = missedCount(native, address) + ((chunk[at]! & maskOf(index)) === 0 ? -1 : 1)
  const countKey = addressesKey(MISSED_COUNT_PREFIX, address)
  if (count === 0) native.delete(countKey)
  else native.set(countKey, bigIntToMinimalBytes(BigInt(count)))
  return count
}

/** Deletes a validator's missed blocks. */
export function clearMissed(native: Pick<NativeStore, 'delete' | 'range'>, { address, operator }: Signer): void {
  for (const [key] of [...native.range(addressesKey(MISSED_CHUNK_PREFIX, operator))]) native.delete(key)
  native.delete(addressesKey(MISSED_COUNT_PREFIX, address))
}

/** Deletes the missed blocks of all validators: bits of one window mean nothing in another. */
export function clearAllMissed(native: Pick<NativeStore, 'get' | 'delete' | 'range'>): void {
  for (const address of [...missingAddresses(native)]) {
    const operator = getOperator(native, address)
    if (operator !== undefined) clearMissed(native, { address, operator })
  }
}

/** Returns the validators with missed blocks, as keys of their consensus addresses. */
export function missingValidators(native: Pick<NativeStore, 'range'>): ReadonlySet<string> {
  const found = new Set<string>()
  for (const consensusAddress of missingAddresses(native)) found.add(bytesKey(consensusAddress))
  return found
}

/** Returns the number of bits that are set, for checks. */
export function countBits(native: Pick<NativeStore, 'range'>, operator: Address): number {
  let count = 0
  for (const [, chunk] of native.range(addressesKey(MISSED_CHUNK_PREFIX, operator))) {
    for (const byte of chunk) for (let rest = byte; rest !== 0; rest &= rest - 1) count++
  }
  return count
}

function* missingAddresses(native: Pick<NativeStore, 'range'>): IterableIterator<Uint8Array> {
  for (const [[consensusAddress]] of addressEntries(native, MISSED_COUNT_PREFIX)) yield consensusAddress!
}

function chunkKey(operator: Address, index: number): Uint8Array {
  const number = new Uint8Array(8)
  new DataView(number.buffer).setBigUint64(0, BigInt(Math.floor(index / CHUNK_BITS)))
  return concatBytes(addressesKey(MISSED_CHUNK_PREFIX, operator), number)
}

function byteOf(index: number): number {
  return Math.floor((index % CHUNK_BITS) / 8)
}

function maskOf(index: number): number {
  return 1 << (index % 8)
}

/** cosmos.slashing.v1beta1.ValidatorSigningInfo, which queries show */
export const ValidatorSigningInfo = defineMessage('cosmos.slashing.v1beta1.ValidatorSigningInfo', {
  /** bech32 of the consensus address */
  address: string(1),
  startHeight: int64(2),
  indexOffset: int64(3),
  jailedUntil: timestamp(4),
  tombstoned: bool(5),
  missedBlocksCounter: int64(6),
})
export type ValidatorSigningInfo = ValueOf<typeof ValidatorSigningInfo>

/** Returns a validator's signing info in the SDK's form; undefined when it was never bonded. */
export function signingInfo(context: ReadContext, consensusAddress: Uint8Array): ValidatorSigningInfo | undefined {
  const record = getSigningRecord(context.world.native, consensusAddress)
  return record && infoOf(context, consensusAddress, record)
}

/** Yields the entries of all validators in order of consensus addresses. */
export function* signingInfos(
  context: ReadContext,
  walk?: AddressWalk,
): IterableIterator<readonly [consensusAddress: Uint8Array, info: ValidatorSigningInfo]> {
  for (const [consensusAddress, record] of signingRecords(context.world.native, walk)) {
    yield [consensusAddress, infoOf(context, consensusAddress, record)]
  }
}

function infoOf(
  { world: { native }, block }: ReadContext,
  consensusAddress: Uint8Array,
  record: SigningRecord,
): ValidatorSigningInfo {
  const { signedBlocksWindow } = SLASHING_PARAMS.get(native)
  return {
    address: toBech32(consensusAddress, BECH32_CONSENSUS),
    startHeight: record.startHeight,
    indexOffset: BigInt(windowIndex(record, block.height, signedBlocksWindow)),
    jailedUntil: record.jailedUntil,
    tombstoned: record.tombstoned,
    missedBlocksCounter: BigInt(missedCount(native, consensusAddress)),
  }
}
