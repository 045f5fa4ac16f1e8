import { bigIntToBytes, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import { any, defineMessage, int64, string, timestamp, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { moduleStoreKey } from '../storeKey.ts'

/** cosmos.upgrade.v1beta1.Plan: an upgrade that governance has planned, and the records of upgrades done. */
export const Plan = defineMessage('cosmos.upgrade.v1beta1.Plan', {
  name: string(1),
  /** deprecated: must be Go's zero time */
  time: timestamp(2),
  /** the first block of the new version */
  height: int64(3),
  info: string(4),
  /** deprecated: must be absent */
  upgradedClientState: any(5),
})
export type Plan = ValueOf<typeof Plan>

/** Go's zero time, year 1, which the deprecated time of a plan must have, in nanoseconds. */
const ZERO_TIME = -62_135_596_800n * 1_000_000_000n
/** Keys of x/upgrade/types/keys.go. */
const PLAN_KEY = moduleStoreKey('upgrade', Uint8Array.of(0x00))
const DONE_PREFIX = moduleStoreKey('upgrade', Uint8Array.of(0x01))

/** Returns the error of a plan's ValidateBasic (x/upgrade/types/plan.go). */
export function checkPlan(plan: Plan): SdkError | undefined {
  // Clients without Go's zero time leave the field out, or send 1970.
  if (plan.time !== ZERO_TIME && plan.time !== 0n) {
    return sdkError('invalidRequest', 'time-based upgrades have been deprecated in the SDK')
  }
  if (plan.upgradedClientState !== undefined) {
    return sdkError('invalidRequest', 'upgrade logic for IBC has been moved to the IBC module')
  }
  if (plan.name === '') return sdkError('invalidRequest', 'name cannot be empty')
  if (plan.height <= 0n) return sdkError('invalidRequest', 'height must be greater than 0')
  // The SDK has no such bound; heights of this node are safe integers.
  if (plan.height > BigInt(Number.MAX_SAFE_INTEGER)) return sdkError('invalidRequest', 'height is out of range')
  return undefined
}

/** Returns the upgrade that is planned. */
export function getPlan(native: Pick<NativeStore, 'get'>): Plan | undefined {
  const value = native.get(PLAN_KEY)
  return value && Plan.decode(value)
}

export function setPlan(native: Pick<NativeStore, 'set'>, plan: Plan): void {
  native.set(PLAN_KEY, Plan.encode({ ...plan, time: ZERO_TIME }))
}

export function clearPlan(native: Pick<NativeStore, 'delete'>): void {
  native.delete(PLAN_KEY)
}

/** Returns the height at which an upgrade was done; 0 when it was not. */
export function doneHeight(native: Pick<NativeStore, 'range'>, name: string): number {
  for (const done of upgradesDone(native)) if (done.name === name) return done.height
  return 0
}

/** Upgrades that were done, in order of their heights. */
export function* upgradesDone(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<{ readonly name: string; readonly height: number }> {
  for (const [key] of native.range(DONE_PREFIX)) {
    const rest = key.subarray(DONE_PREFIX.length)
    yield { height: Number(bytesToBigInt(rest.subarray(0, 8))), name: new TextDecoder().decode(rest.subarray(8)) }
  }
}

export function setDone(native: Pick<NativeStore, 'set'>, name: string, height: number): void {
  const key = concatBytes(DONE_PREFIX, bigIntToBytes(BigInt(height), 8), new TextEncoder().encode(name))
  native.set(key, Uint8Array.of(1))
}
