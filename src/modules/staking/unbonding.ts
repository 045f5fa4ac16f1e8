import type { Address } from '../../primitives/address.ts'
import { defineMessage, embedded, integer, repeated, uint64 } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { addressesKey, addressesOf } from '../storeKey.ts'
import type { Walk } from './delegations.ts'
import { indexHeights, leftSince } from './heightIndex.ts'
import { UNBONDING_BY_HEIGHT, UNBONDING_DELEGATIONS, UNBONDING_DELEGATIONS_BY_VALIDATOR } from './keys.ts'
import { enqueue } from './queue.ts'
import { nextUnbondingId } from './unbondingIds.ts'

/** Coins on their way from a validator back to a delegator; they are in the not bonded pool. */
export interface UnbondingDelegation {
  readonly delegator: Address
  readonly operator: Address
  /** at least one, in order of creation */
  readonly entries: readonly UnbondingEntry[]
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
  creationHeight: uint64(1),
  completionTimeMs: uint64(2),
  initialBalance: integer(3),
  balance: integer(4),
  id: uint64(5),
})
const StoredUnbonding = defineMessage('coind.staking.Unbonding', { entries: repeated(embedded(1, StoredEntry)) })
const PRESENT = Uint8Array.of(1)

export function getUnbonding(
  native: Pick<NativeStore, 'get'>,
  delegator: Address,
  operator: Address,
): UnbondingDelegation | undefined {
  const value = native.get(addressesKey(UNBONDING_DELEGATIONS, delegator, operator))
  return value && { delegator, operator, entries: decodeEntries(value) }
}

/** Writes it; without entries it is removed. */
export function putUnbonding(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  unbonding: UnbondingDelegation,
): void {
  const { delegator, operator, entries } = unbonding
  const before = getUnbonding(native, delegator, operator)?.entries ?? []
  indexHeights(native, { prefix: UNBONDING_BY_HEIGHT, operator }, [delegator], { before, after: entries })
  const key = addressesKey(UNBONDING_DELEGATIONS, delegator, operator)
  const indexKey = addressesKey(UNBONDING_DELEGATIONS_BY_VALIDATOR, operator, delegator)
  if (entries.length === 0) {
    native.delete(key)
    native.delete(indexKey)
    return
  }
  native.set(key, encodeEntries(entries))
  native.set(indexKey, PRESENT)
}

/**
 * Has coins paid out at `completionTimeMs`. What a delegator takes from one validator in one block with one completion time is one
 * entry (UnbondingDelegation.AddEntry).
 */
export function addUnbondingEntry(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  delegator: Address,
  operator: Address,
  added: Pick<UnbondingEntry, 'creationHeight' | 'completionTimeMs' | 'balance'>,
): void {
  const id = nextUnbondingId(native)
  const entries = getUnbonding(native, delegator, operator)?.entries ?? []
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
  putUnbonding(native, { delegator, operator, entries: merged })
  enqueue(native, { kind: 'unbonding', timeMs: completionTimeMs, addresses: [delegator, operator] })
}

/** What `delegator` is taking out, in order of operators. `start`: an operator. */
export function* unbondingsOf(
  native: Pick<NativeStore, 'range'>,
  delegator: Address,
  { start, reverse = false }: Walk = {},
): IterableIterator<UnbondingDelegation> {
  const prefix = addressesKey(UNBONDING_DELEGATIONS, delegator)
  const range = { reverse, ...(start && { start: addressesKey(prefix, start) }) }
  for (const [key, value] of native.range(prefix, range)) {
    yield { delegator, operator: addressesOf(key, prefix)[0]!, entries: decodeEntries(value) }
  }
}

/** What leaves a validator, in order of delegators. `start`: a delegator. */
export function* unbondingsFrom(
  native: Pick<NativeStore, 'get' | 'range'>,
  operator: Address,
  { start, reverse = false }: Walk = {},
): IterableIterator<UnbondingDelegation> {
  const prefix = addressesKey(UNBONDING_DELEGATIONS_BY_VALIDATOR, operator)
  const range = { reverse, ...(start && { start: addressesKey(prefix, start) }) }
  for (const [key] of native.range(prefix, range)) {
    const unbonding = getUnbonding(native, addressesOf(key, prefix)[0]!, operator)
    if (unbonding === undefined) throw new Error('the index of unbonding delegations names one that is not there')
    yield unbonding
  }
}

/** Of what leaves a validator, whatever began to at `height` or later, in order of delegators. */
export function unbondingsSince(
  native: Pick<NativeStore, 'get' | 'range'>,
  operator: Address,
  height: number,
): readonly UnbondingDelegation[] {
  return leftSince(native, { prefix: UNBONDING_BY_HEIGHT, operator }, height).map(([delegator]) => {
    const unbonding = getUnbonding(native, delegator!, operator)
    if (unbonding === undefined) throw new Error('the heights of unbonding delegations name one that is not there')
    return unbonding
  })
}

/** All of them, in order of delegators and then operators. */
export function* allUnbondings(native: Pick<NativeStore, 'range'>): IterableIterator<UnbondingDelegation> {
  for (const [key, value] of native.range(UNBONDING_DELEGATIONS)) {
    const [delegator, operator] = addressesOf(key, UNBONDING_DELEGATIONS)
    yield { delegator: delegator!, operator: operator!, entries: decodeEntries(value) }
  }
}

function encodeEntries(entries: readonly UnbondingEntry[]): Uint8Array {
  return StoredUnbonding.encode({
    entries: entries.map((entry) => ({
      ...entry,
      creationHeight: BigInt(entry.creationHeight),
      completionTimeMs: BigInt(entry.completionTimeMs),
    })),
  })
}

function decodeEntries(value: Uint8Array): readonly UnbondingEntry[] {
  return StoredUnbonding.decode(value).entries.map((entry) => ({
    ...entry,
    creationHeight: Number(entry.creationHeight),
    completionTimeMs: Number(entry.completionTimeMs),
  }))
}
