import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { bigIntToBytes, concatBytes } from '../../primitives/bytes.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import type { NativeStore, WorldState } from '../../state/world.ts'
import { coinsOf } from '../coin.ts'
import { event, type ModuleContext, type NativeBlock, type ReadContext } from '../context.ts'
import { removeExpired } from '../expiryQueue.ts'
import { isSdkError, type Outcome, SdkError, sdkError } from '../sdkError.ts'
import { addressesKey, moduleStoreKey } from '../storeKey.ts'
import { readAllowance } from './allowances.ts'
import { FeeGrant } from './types.ts'

/** Fee grants under the keys of x/feegrant/key.go; times in the queue are milliseconds, 8 bytes, rounded up. */
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

/**
 * Returns the beginning of the keys of a grantee's allowances, which are in order of the granters.
 */
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
 * Removes allowances that expired before this block (EndBlocker of x/feegrant). Costs one look-up when none has.
 * @param limit the most allowances to remove; by default as many as the end of a block removes
 */
export function removeExpiredAllowances({ world: { native }, block }: ModuleContext, limit?: number): void {
  removeExpired(native, { queue: QUEUE_PREFIX, entries: GRANTS_PREFIX }, block.timeMs, limit)
}

/** Work of an entry of an allowance's lists: it is decoded, compared and written again. */
const ENTRY_GAS = 100

/** A fee that the granter pays for the grantee. */
interface GrantedFee {
  readonly granter: Address
  readonly grantee: Address
  readonly feeAcoin: bigint
  /** type URLs of the transaction's messages, without repetition */
  readonly typeUrls: readonly string[]
}

/** Uses an allowance for a fee (UseGrantedFees of x/feegrant/keeper/keeper.go); the caller moves the coins. */
export function useFeeAllowance({ world, block }: ModuleContext, fee: GrantedFee): SdkError | undefined {
  const used = spend(world.native, block, fee)
  if (isSdkError(used)) return used
  const { granter, grantee } = fee
  const { left, expiration } = used
  if (left === undefined) {
    deleteFeeGrant(world.native, granter, grantee, expiration)
    emitFeeGrantEvent(world, 'revoke_feegrant', fee)
    emitFeeGrantEvent(world, 'use_feegrant', fee)
    return undefined
  }
  const grant = { granter: toBech32(granter), grantee: toBech32(grantee), allowance: left }
  putFeeGrant(world.native, grant, expiration)
  emitFeeGrantEvent(world, 'use_feegrant', fee)
  emitFeeGrantEvent(world, 'update_feegrant', fee)
  return undefined
}

function spend(
  native: Pick<ReadContext['world']['native'], 'get' | 'work'>,
  { timeMs }: NativeBlock,
  { granter, grantee, feeAcoin, typeUrls }: GrantedFee,
): Outcome<{ readonly left: AnyValue | undefined; readonly expiration: bigint | undefined }> {
  const refuse = ({ codespace, code, message }: SdkError): SdkError =>
    new SdkError(
      codespace,
      code,
      `${toBech32(granter)} does not allow to pay fees for ${toBech32(grantee)}: ${message}`,
    )
  const grant = getFeeGrant(native, granter, grantee)
  if (grant === undefined) return refuse(sdkError('notFound', 'fee-grant not found'))
  const allowance = readAllowance(grant.allowance)
  if (isSdkError(allowance)) return refuse(allowance)
  native.work.add(allowance.entries * ENTRY_GAS)
  const left = allowance.accept({ fee: coinsOf(feeAcoin), typeUrls, now: BigInt(timeMs) * 1_000_000n })
  return isSdkError(left) ? refuse(left) : { left, expiration: allowance.expiration }
}

/** Emits an event of an allowance (x/feegrant/events.go). */
export function emitFeeGrantEvent(
  world: Pick<WorldState, 'emitEvent'>,
  type: 'set_feegrant' | 'use_feegrant' | 'update_feegrant' | 'revoke_feegrant',
  { granter, grantee }: { readonly granter: Address; readonly grantee: Address },
): void {
  world.emitEvent(event(type, { granter: toBech32(granter), grantee: toBech32(grantee) }))
}

function grantKey(granter: Address, grantee: Address): Uint8Array {
  return addressesKey(GRANTS_PREFIX, grantee, granter)
}

function queueKey(expiration: bigint, granter: Address, grantee: Address): Uint8Array {
  const ms = (expiration + 999_999n) / 1_000_000n
  return addressesKey(concatBytes(QUEUE_PREFIX, bigIntToBytes(ms, 8)), grantee, granter)
}
