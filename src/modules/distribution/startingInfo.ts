import type { Address } from '../../primitives/address.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey } from '../storeKey.ts'
import { STARTING_INFO_PREFIX } from './keys.ts'
import { packIntegers, unpackIntegers } from './packedIntegers.ts'

/** Since when a delegation earns. The stake of the SDK's DelegatorStartingInfo is the delegation's shares here. */
export interface StartingInfo {
  /** it refers to the historical rewards at this period's end */
  readonly previousPeriod: bigint
}

export function getStartingInfo(
  native: Pick<NativeStore, 'get'>,
  operator: Address,
  delegator: Address,
): StartingInfo | undefined {
  const value = native.get(addressesKey(STARTING_INFO_PREFIX, operator, delegator))
  return value && decode(value)
}

export function putStartingInfo(
  native: Pick<NativeStore, 'set'>,
  operator: Address,
  delegator: Address,
  { previousPeriod }: StartingInfo,
): void {
  native.set(addressesKey(STARTING_INFO_PREFIX, operator, delegator), packIntegers(previousPeriod))
}

export function deleteStartingInfo(native: Pick<NativeStore, 'delete'>, operator: Address, delegator: Address): void {
  native.delete(addressesKey(STARTING_INFO_PREFIX, operator, delegator))
}

/** Those of a validator's delegators. */
export function* startingInfosOf(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
): IterableIterator<readonly [delegator: Address, info: StartingInfo]> {
  const prefix = addressesKey(STARTING_INFO_PREFIX, operator)
  for (const [key, value] of native.range(prefix)) {
    yield [key.slice(prefix.length + 1), decode(value)]
  }
}

function decode(value: Uint8Array): StartingInfo {
  const [previousPeriod = 0n] = unpackIntegers(value)
  return { previousPeriod }
}
