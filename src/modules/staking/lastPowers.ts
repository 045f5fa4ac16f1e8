import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, bytesToBigInt } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey, addressesOf } from '../storeKey.ts'
import { LAST_POWERS, LAST_TOTAL_POWER } from './keys.ts'

/** @param power that consensus is told of; 0 forgets the validator */
export function setLastPower(native: Pick<NativeStore, 'set' | 'delete'>, operator: Address, power: bigint): void {
  const key = addressesKey(LAST_POWERS, operator)
  if (power === 0n) native.delete(key)
  else native.set(key, bigIntToBytes(power, 8))
}

/** The validators that consensus has from the next block but one on, in order of their operators' addresses. */
export function* lastPowers(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<{ readonly operator: Address; readonly power: bigint }> {
  for (const [key, value] of native.range(LAST_POWERS)) {
    yield { operator: addressesOf(key, LAST_POWERS)[0]!, power: bytesToBigInt(value) }
  }
}

/** The sum of last powers. */
export function getLastTotalPower(native: Pick<NativeStore, 'get'>): bigint {
  const value = native.get(LAST_TOTAL_POWER)
  return value === undefined ? 0n : bytesToBigInt(value)
}

export function setLastTotalPower(native: Pick<NativeStore, 'set'>, power: bigint): void {
  native.set(LAST_TOTAL_POWER, bigIntToBytes(power, 8))
}
