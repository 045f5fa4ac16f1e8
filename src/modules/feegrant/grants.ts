import { type Address, parseAddress } from '../../primitives/address.ts'
import { bigIntToBytes, concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { removeExpired } from '../expiryQueue.ts'
import { addressesKey, moduleStoreKey } from '../storeKey.ts'
import { FeeGrant } from './types.ts'

/** Keys of x/feegrant/key.go; times in the queue are milliseconds, 8 bytes, rounded up. */
export const GRANTS_PREFIX = moduleStoreKey('feegrant', Uint8Array.of(0x00))
const QUEUE_PREFIX = moduleStoreKey('feegrant', Uint8Array.of(0x01))

export function getFeeGrant(
  native: Pick<NativeStore, 'get'>,
  granter: Address,
  grantee: Address,
): FeeGrant | undefined {
  const value = native.get(grantKey(granter, grantee))
  return value && FeeGrant.decode(value)
}

/** What the keys of a grantee's allowances begin with; they are in order of the granters. */
export function granteePrefix(grantee: Address): Uint8Array {
  return addressesKey(GRANTS_PREFIX, grantee)
}

/** @param expiration of its allowance, nanoseconds */
export function putFeeGrant(native: Pick<NativeStore, 'set'>, grant: FeeGrant, expiration: bigint | undefined): void {
  const [granter, grantee] = [parseAddress(grant.granter), parseAddress(grant.grantee)]
  native.set(grantKey(granter, grantee), FeeGrant.encode(grant))
  if (expiration !== undefined) native.set(queueKey(expiration, granter, grantee), Uint8Array.of(1))
}

/** @param expiration that it was put with */
export function deleteFeeGrant(
  native: Pick<NativeStore, 'delete'>,
  granter: Address,
  grantee: Address,
  expiration: bigint | undefined,
): void {
  native.delete(grantKey(granter, grantee))
  if (expiration !== undefined) native.delete(queueKey(expiration, granter, grantee))
}

/**
 * Removes allowances that expired before this block, some of them at a time (EndBlocker of x/feegrant). A block in which none is
 * due costs one look-up.
 */
export function endFeegrant(context: ModuleContext): void {
  removeExpiredAllowances(context)
}

/** @param limit of allowances; by default what a block removes by itself */
export function removeExpiredAllowances({ world: { native }, block }: ModuleContext, limit?: number): void {
  removeExpired(native, { queue: QUEUE_PREFIX, entries: GRANTS_PREFIX }, block.timeMs, limit)
}

function grantKey(granter: Address, grantee: Address): Uint8Array {
  return addressesKey(GRANTS_PREFIX, grantee, granter)
}

function queueKey(expiration: bigint, granter: Address, grantee: Address): Uint8Array {
  const ms = (expiration + 999_999n) / 1_000_000n
  return addressesKey(concatBytes(QUEUE_PREFIX, bigIntToBytes(ms, 8)), grantee, granter)
}
