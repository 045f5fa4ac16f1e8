import type { Address } from '../../primitives/address.ts'
import { bytesKey, concatBytes, EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { HEIGHT_BYTES, heightBytes, readHeight } from '../../storage/columns.ts'
import { addressesKey, addressesOf } from '../storeKey.ts'
import { changeDeparted } from './departures.ts'
import { PRESENT } from './keys.ts'

/**
 * An index of unbondings or redelegations by the height at which they left a validator: a slash settles only those since the fault,
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
  readonly initialBalance: bigint
}

/** Updates the index, and the sums of stake that left, when the entries of a record change. @param others the record's addresses besides the validator's */
export function indexHeights(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  index: HeightIndex,
  others: readonly Address[],
  { before, after }: { readonly before: readonly Entry[]; readonly after: readonly Entry[] },
): void {
  const had = sumsOf(before)
  const has = sumsOf(after)
  for (const height of had.keys()) if (!has.has(height)) native.delete(heightKey(index, height, others))
  for (const height of has.keys()) if (!had.has(height)) native.set(heightKey(index, height, others), PRESENT)
  for (const height of new Set([...had.keys(), ...has.keys()])) {
    changeDeparted(native, index.operator, height, (has.get(height) ?? 0n) - (had.get(height) ?? 0n))
  }
}

function sumsOf(entries: readonly Entry[]): ReadonlyMap<number, bigint> {
  const sums = new Map<number, bigint>()
  for (const { creationHeight, initialBalance } of entries) {
    sums.set(creationHeight, (sums.get(creationHeight) ?? 0n) + initialBalance)
  }
  return sums
}

/**
 * A place in an index: a height and the other addresses of a record with an entry at this height.
 */
interface IndexPlace {
  readonly height: number
  readonly others: readonly Address[]
  /** the key after the validator, to continue behind it */
  readonly position: Uint8Array
}

/** Places from `height` on, or behind `position` when there is one, in order. */
export function* placesFrom(
  native: Pick<NativeStore, 'range'>,
  index: HeightIndex,
  { height, position }: { readonly height: number; readonly position: Uint8Array },
): IterableIterator<IndexPlace> {
  const prefix = addressesKey(index.prefix, index.operator)
  const start =
    position.length === 0
      ? concatBytes(prefix, heightBytes(Math.max(height, 0)))
      : concatBytes(prefix, position, Uint8Array.of(0))
  for (const [key] of native.range(prefix, { start })) {
    const place = key.subarray(prefix.length)
    yield {
      height: readHeight(place, 0),
      others: addressesOf(place.subarray(HEIGHT_BYTES), EMPTY_BYTES),
      position: place,
    }
  }
}

/** Yields all keys of an index, as `bytesKey`s, for invariants. */
export function* indexedHeights(native: Pick<NativeStore, 'range'>, prefix: Uint8Array): IterableIterator<string> {
  for (const [key] of native.range(prefix)) yield bytesKey(key)
}

export function heightKey({ prefix, operator }: HeightIndex, height: number, others: readonly Address[]): Uint8Array {
  return addressesKey(concatBytes(addressesKey(prefix, operator), heightBytes(height)), ...others)
}
