import type { Address } from '../../primitives/address.ts'
import { defineMessage, embedded, integer, repeated, safeUint64, uint64 } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { type AddressWalk, addressEntries, addressesKey } from '../storeKey.ts'
import { indexHeights } from './heightIndex.ts'
import { PRESENT, UNBONDING_BY_HEIGHT, UNBONDING_DELEGATIONS, UNBONDING_DELEGATIONS_BY_VALIDATOR } from './keys.ts'
import { enqueue, nextUnbondingId } from './queue.ts'

/** Coins that a delegator undelegated and that are not paid yet; they are in the not bonded pool. */
export interface UnbondingDelegation {
  readonly delegator: Address
  readonly operator: Address
  /** at least one, in order of creation */
  readonly entries: readonly UnbondingEntry[]
  /** ID of the last slash that the balances have, while slashes are pending; see settle.ts */
  readonly settledTo: bigint
}

export interface UnbondingEntry {
  readonly creationHeight: number
  readonly completionTimeMs: number
  /** acoin that were undelegated */
  readonly initialBalance: bigint
  /** acoin that slashing left of them */
  readonly balance: bigint
  readonly id: bigint
}

const StoredEntry = defineMessage('coind.staking.UnbondingEntry', {
  creationHeight: safeUint64(1),
  completionTimeMs: safeUint64(2),
  initialBalance: integer(3),
  balance: integer(4),
  id: uint64(5),
})
const StoredUnbonding = defineMessage('coind.staking.Unbonding', {
  entries: repeated(embedded(1, StoredEntry)),
  settledTo: uint64(2),
})

export function getUnbonding(
  native: Pick<NativeStore, 'get'>,
  delegator: Address,
  operator: Address,
): UnbondingDelegation | undefined {
  const value = native.get(addressesKey(UNBONDING_DELEGATIONS, delegator, operator))
  return value && { delegator, operator, ...StoredUnbonding.decode(value) }
}

/** Writes it; without entries it is removed. */
export function putUnbonding(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  unbonding: UnbondingDelegation,
): void {
  const { delegator, operator, entries, settledTo } = unbonding
  const before = getUnbonding(native, delegator, operator)?.entries ?? []
  indexHeights(native, { prefix: UNBONDING_BY_HEIGHT, operator }, [delegator], { before, after: entries })
  const key = addressesKey(UNBONDING_DELEGATIONS, delegator, operator)
  const indexKey = addressesKey(UNBONDING_DELEGATIONS_BY_VALIDATOR, operator, delegator)
  if (entries.length === 0) {
    native.delete(key)
    native.delete(indexKey)
    return
  }
  native.set(key, StoredUnbonding.encode({ entries, settledTo }))
  if (before.length === 0) native.set(indexKey, PRESENT)
}

/**
 * Adds coins that will be paid at `completionTimeMs`. A delegator's coins from one validator,
 * undelegated in one block with one completion time, are one entry (UnbondingDelegation.AddEntry).
 */
export function addUnbondingEntry(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  delegator: Address,
  operator: Address,
  added: Pick<UnbondingEntry, 'creationHeight' | 'completionTimeMs' | 'balance'>,
): void {
  const id = nextUnbondingId(native)
  const { entries, settledTo } = getUnbonding(native, delegator, operator) ?? { entries: [], settledTo: 0n }
  const { creationHeight, completionTimeMs, balance } = added
  const same = entries.findIndex(
    (entry) => entry.creationHeight === creationHeight && entry.completionTimeMs === completionTimeMs,
  )
  const merged = entries.map((entry, index) =>
    index === same
      ? { ...entry, balance: entry.balance + balance, initialBalance: entry.initialBalance + balance }
      : entry,
  )
  if (same < 0) merged.push({ ...added, initialBalance: balance, id })
  putUnbonding(native, { delegator, operator, entries: merged, settledTo })
  enqueue(native, { kind: 'unbonding', timeMs: completionTimeMs, addresses: [delegator, operator] })
}

/**
 * Yields the unbonding delegations of `delegator`, in order of operators. `walk` starts at an
 * operator.
 */
export function* unbondingsOf(
  native: Pick<NativeStore, 'range'>,
  delegator: Address,
  walk?: AddressWalk,
): IterableIterator<UnbondingDelegation> {
  for (const [[operator], value] of addressEntries(native, addressesKey(UNBONDING_DELEGATIONS, delegator), walk)) {
    yield { delegator, operator: operator!, ...StoredUnbonding.decode(value) }
  }
}

/**
 * Yields the unbonding delegations from a validator, in order of delegators. `walk` starts at a
 * delegator.
 */
export function* unbondingsFrom(
  native: Pick<NativeStore, 'get' | 'range'>,
  operator: Address,
  walk?: AddressWalk,
): IterableIterator<UnbondingDelegation> {
  const prefix = addressesKey(UNBONDING_DELEGATIONS_BY_VALIDATOR, operator)
  for (const [[delegator]] of addressEntries(native, prefix, walk)) {
    const unbonding = getUnbonding(native, delegator!, operator)
    if (unbonding === undefined) throw new Error('the index of unbonding delegations names one that is not there')
    yield unbonding
  }
}

/** Yields all unbonding delegations, in order of delegators and then operators. */
export function* allUnbondings(native: Pick<NativeStore, 'range'>): IterableIterator<UnbondingDelegation> {
  for (const [[delegator, operator], value] of addressEntries(native, UNBONDING_DELEGATIONS)) {
    yield { delegator: delegator!, operator: operator!, ...StoredUnbonding.decode(value) }
  }
}
