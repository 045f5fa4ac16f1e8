import type { Address } from '../../primitives/address.ts'
import { bigIntToMinimalBytes, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { heightBytes, readHeight } from '../../storage/columns.ts'
import { addressesKey } from '../storeKey.ts'
import { DEPARTED_BRANCHES, DEPARTED_LEAVES } from './keys.ts'

/*
 * Stake that left a validator and can still be slashed for its faults, summed by the height at which it left: initial balances of
 * unbondings and redelegations. A slash needs the sum since its fault, whatever the number of entries.
 *
 * A leaf has the sums of 64 heights, each that is not 0; a branch has the sum of 256 leaves. A change writes one of each. A sum since a
 * height reads at most 256 leaves, and one branch per 16,384 heights (1.8 hours of 400 ms) that the unbonding time spans.
 */
const LEAF_HEIGHTS = 64
const BRANCH_LEAVES = 256

/** Adds to the sum of stake that left at a height; `change` is negative when an entry ends or is cancelled. */
export function changeDeparted(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  operator: Address,
  height: number,
  change: bigint,
): void {
  if (change === 0n) return
  const leaf = Math.floor(height / LEAF_HEIGHTS)
  const leafKey = nodeKey(DEPARTED_LEAVES, operator, leaf)
  const sums = unpackLeaf(native.get(leafKey))
  const place = height % LEAF_HEIGHTS
  sums.set(place, (sums.get(place) ?? 0n) + change)
  const packed = packLeaf(sums)
  if (packed.length === 0) native.delete(leafKey)
  else native.set(leafKey, packed)

  const branchKey = nodeKey(DEPARTED_BRANCHES, operator, Math.floor(leaf / BRANCH_LEAVES))
  const value = native.get(branchKey)
  const sum = (value === undefined ? 0n : bytesToBigInt(value)) + change
  if (sum <= 0n) native.delete(branchKey)
  else native.set(branchKey, bigIntToMinimalBytes(sum))
}

/**
 * Returns the acoin that left the validator at `height` or later and can still be slashed for its
 * faults.
 */
export function departedSince(native: Pick<NativeStore, 'get' | 'range'>, operator: Address, height: number): bigint {
  const first = Math.max(height, 0)
  const leaf = Math.floor(first / LEAF_HEIGHTS)
  const branch = Math.floor(leaf / BRANCH_LEAVES)
  let total = 0n
  for (const [index, value] of nodesFrom(native, DEPARTED_LEAVES, operator, leaf)) {
    if (Math.floor(index / BRANCH_LEAVES) !== branch) break
    for (const [place, sum] of unpackLeaf(value)) if (index * LEAF_HEIGHTS + place >= first) total += sum
  }
  for (const [, value] of nodesFrom(native, DEPARTED_BRANCHES, operator, branch + 1)) total += bytesToBigInt(value)
  return total
}

/** Returns the sums of a validator by height, and those of its branches, for checks. */
export function departedSums(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
): { readonly byHeight: ReadonlyMap<number, bigint>; readonly byBranch: ReadonlyMap<number, bigint> } {
  const byHeight = new Map<number, bigint>()
  for (const [index, value] of nodesFrom(native, DEPARTED_LEAVES, operator, 0)) {
    for (const [place, sum] of unpackLeaf(value)) byHeight.set(index * LEAF_HEIGHTS + place, sum)
  }
  const byBranch = new Map<number, bigint>()
  for (const [index, value] of nodesFrom(native, DEPARTED_BRANCHES, operator, 0)) {
    byBranch.set(index, bytesToBigInt(value))
  }
  return { byHeight, byBranch }
}

/** Returns the branch that counts a height, for checks. */
export function branchOf(height: number): number {
  return Math.floor(height / (LEAF_HEIGHTS * BRANCH_LEAVES))
}

function nodeKey(prefix: Uint8Array, operator: Address, index: number): Uint8Array {
  return concatBytes(addressesKey(prefix, operator), heightBytes(index))
}

function* nodesFrom(
  native: Pick<NativeStore, 'range'>,
  prefix: Uint8Array,
  operator: Address,
  first: number,
): IterableIterator<readonly [index: number, value: Uint8Array]> {
  const own = addressesKey(prefix, operator)
  for (const [key, value] of native.range(own, { start: nodeKey(prefix, operator, first) })) {
    yield [readHeight(key, own.length), value]
  }
}

/** Sums that are not 0 in order of places: the place, the length of the sum, the sum. */
function packLeaf(sums: ReadonlyMap<number, bigint>): Uint8Array {
  const parts: Uint8Array[] = []
  for (let place = 0; place < LEAF_HEIGHTS; place++) {
    const sum = sums.get(place) ?? 0n
    if (sum <= 0n) continue
    const bytes = bigIntToMinimalBytes(sum)
    parts.push(Uint8Array.of(place, bytes.length), bytes)
  }
  return concatBytes(...parts)
}

function unpackLeaf(value: Uint8Array | undefined): Map<number, bigint> {
  const sums = new Map<number, bigint>()
  if (value === undefined) return sums
  for (let at = 0; at < value.length; at += 2 + value[at + 1]!) {
    sums.set(value[at]!, bytesToBigInt(value.subarray(at + 2, at + 2 + value[at + 1]!)))
  }
  return sums
}
