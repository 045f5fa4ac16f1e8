import type { Address } from '../../primitives/address.ts'
import { bytesKey, concatBytes, EMPTY_BYTES, keyBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { heightBytes } from '../../storage/columns.ts'
import { addressesKey, addressesOf } from '../storeKey.ts'
import { PRESENT } from './keys.ts'

/**
 * An index of unbondings or redelegations by the height at which they left a validator: a slash reads only those since the fault,
 * however many older ones there are. Keys are `prefix | validator | height | the record's other addresses`, one for each height at
 * which an entry of the record began.
 */
interface HeightIndex {
  readonly prefix: Uint8Array
  readonly operator: Address
}

/** As much of an entry as the index needs. */
interface Entry {
  readonly creationHeight: number
}

/** Updates the index when the entries of a record change. @param others the record's addresses besides the validator's */
export function indexHeights(
  native: Pick<NativeStore, 'set' | 'delete'>,
  index: HeightIndex,
  others: readonly Address[],
  { before, after }: { readonly before: readonly Entry[]; readonly after: readonly Entry[] },
): void {
  const had = new Set(before.map(({ creationHeight }) => creationHeight))
  const has = new Set(after.map(({ creationHeight }) => creationHeight))
  for (const height of had) if (!has.has(height)) native.delete(heightKey(index, height, others))
  for (const height of has) if (!had.has(height)) native.set(heightKey(index, height, others), PRESENT)
}

/** The other addresses of records with an entry of `height` or later, each record once, in order of these addresses. */
export function recordsSince(
  native: Pick<NativeStore, 'range'>,
  index: HeightIndex,
  height: number,
): readonly (readonly Address[])[] {
  const prefix = addressesKey(index.prefix, index.operator)
  const start = concatBytes(prefix, heightBytes(Math.max(height, 0)))
  const found = new Set<string>()
  for (const [key] of native.range(prefix, { start })) found.add(bytesKey(key.subarray(start.length)))
  return [...found].sort().map((others) => addressesOf(keyBytes(others), EMPTY_BYTES))
}

/** All keys of an index, as `bytesKey`s, for invariants. */
export function* indexedHeights(native: Pick<NativeStore, 'range'>, prefix: Uint8Array): IterableIterator<string> {
  for (const [key] of native.range(prefix)) yield bytesKey(key)
}

export function heightKey({ prefix, operator }: HeightIndex, height: number, others: readonly Address[]): Uint8Array {
  return addressesKey(concatBytes(addressesKey(prefix, operator), heightBytes(height)), ...others)
}
