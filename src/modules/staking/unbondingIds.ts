import { bigIntToMinimalBytes, bytesToBigInt } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { UNBONDING_ID } from './keys.ts'

/** The next number of an unbonding, redelegation or unbonding validator; the first is 1 (the SDK's IncrementUnbondingID). */
export function nextUnbondingId(native: Pick<NativeStore, 'get' | 'set'>): bigint {
  const value = native.get(UNBONDING_ID)
  const id = (value === undefined ? 0n : bytesToBigInt(value)) + 1n
  native.set(UNBONDING_ID, bigIntToMinimalBytes(id))
  return id
}
