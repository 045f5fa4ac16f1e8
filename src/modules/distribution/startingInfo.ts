import type { Address } from '../../primitives/address.ts'
import { decimal, defineMessage, uint64, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressKey, STARTING_INFO_PREFIX } from './keys.ts'

/** cosmos.distribution.v1beta1.DelegatorStartingInfo: since when, and with how much, a delegation earns. */
export const DelegatorStartingInfo = defineMessage('cosmos.distribution.v1beta1.DelegatorStartingInfo', {
  /** it refers to the historical rewards at this period's end */
  previousPeriod: uint64(1),
  /** acoin */
  stake: decimal(2),
  height: uint64(3),
})
export type DelegatorStartingInfo = ValueOf<typeof DelegatorStartingInfo>

export function getStartingInfo(
  native: Pick<NativeStore, 'get'>,
  operator: Address,
  delegator: Address,
): DelegatorStartingInfo | undefined {
  const value = native.get(addressKey(STARTING_INFO_PREFIX, operator, delegator))
  return value && DelegatorStartingInfo.decode(value)
}

export function putStartingInfo(
  native: Pick<NativeStore, 'set'>,
  operator: Address,
  delegator: Address,
  info: DelegatorStartingInfo,
): void {
  native.set(addressKey(STARTING_INFO_PREFIX, operator, delegator), DelegatorStartingInfo.encode(info))
}

export function deleteStartingInfo(native: Pick<NativeStore, 'delete'>, operator: Address, delegator: Address): void {
  native.delete(addressKey(STARTING_INFO_PREFIX, operator, delegator))
}

/** Those of a validator's delegators. */
export function* startingInfosOf(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
): IterableIterator<readonly [delegator: Address, info: DelegatorStartingInfo]> {
  const prefix = addressKey(STARTING_INFO_PREFIX, operator)
  for (const [key, value] of native.range(prefix)) {
    yield [key.slice(prefix.length + 1), DelegatorStartingInfo.decode(value)]
  }
}
