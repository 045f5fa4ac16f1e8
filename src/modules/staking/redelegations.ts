import type { Address } from '../../primitives/address.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import {
  decimal,
  defineMessage,
  embedded,
  integer,
  repeated,
  safeUint64,
  uint64,
} from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { type AddressWalk, addressEntries, addressesKey } from '../storeKey.ts'
import { indexHeights } from './heightIndex.ts'
import {
  PRESENT,
  REDELEGATIONS,
  REDELEGATIONS_BY_DESTINATION,
  REDELEGATIONS_BY_HEIGHT,
  REDELEGATIONS_BY_SOURCE,
} from './keys.ts'
import { enqueue, nextUnbondingId } from './queue.ts'

/** Stake that moved from one validator to another, and is slashable for faults of the first for a while. */
export interface Redelegation {
  readonly delegator: Address
  readonly source: Address
  readonly destination: Address
  /** at least one, in order of creation */
  readonly entries: readonly RedelegationEntry[]
  /** ID of the last slash that was applied to it, while slashes are pending; see settle.ts */
  readonly settledTo: bigint
}

interface RedelegationEntry {
  readonly creationHeight: number
  readonly completionTimeMs: number
  /** acoin that moved */
  readonly initialBalance: bigint
  /** shares of the destination that they bought */
  readonly sharesDestination: Decimal
  readonly id: bigint
}

const StoredEntry = defineMessage('coind.staking.RedelegationEntry', {
  creationHeight: safeUint64(1),
  completionTimeMs: safeUint64(2),
  initialBalance: integer(3),
  sharesDestination: decimal(4),
  id: uint64(5),
})
const StoredRedelegation = defineMessage('coind.staking.Redelegation', {
  entries: repeated(embedded(1, StoredEntry)),
  settledTo: uint64(2),
})

export function getRedelegation(
  native: Pick<NativeStore, 'get'>,
  delegator: Address,
  source: Address,
  destination: Address,
): Redelegation | undefined {
  const value = native.get(addressesKey(REDELEGATIONS, delegator, source, destination))
  return value && { delegator, source, destination, ...StoredRedelegation.decode(value) }
}

/** Writes it; without entries it is removed. */
export function putRedelegation(native: Pick<NativeStore, 'get' | 'set' | 'delete'>, redelegation: Redelegation): void {
  const { delegator, source, destination, entries, settledTo } = redelegation
  const before = getRedelegation(native, delegator, source, destination)?.entries ?? []
  const index = { prefix: REDELEGATIONS_BY_HEIGHT, operator: source }
  indexHeights(native, index, [delegator, destination], { before, after: entries })
  const key = addressesKey(REDELEGATIONS, delegator, source, destination)
  const indexKeys = [
    addressesKey(REDELEGATIONS_BY_SOURCE, source, delegator, destination),
    addressesKey(REDELEGATIONS_BY_DESTINATION, delegator, destination, source),
  ]
  if (entries.length === 0) {
    for (const each of [key, ...indexKeys]) native.delete(each)
    return
  }
  native.set(key, StoredRedelegation.encode({ entries, settledTo }))
  if (before.length > 0) return
  for (const each of indexKeys) native.set(each, PRESENT)
}

/** Records until `completionTimeMs` where stake came from. */
export function addRedelegationEntry(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  { delegator, source, destination }: Omit<Redelegation, 'entries' | 'settledTo'>,
  added: Omit<RedelegationEntry, 'id'>,
): void {
  const id = nextUnbondingId(native)
  const present = getRedelegation(native, delegator, source, destination) ?? { entries: [], settledTo: 0n }
  const entries = [...present.entries, { ...added, id }]
  putRedelegation(native, { delegator, source, destination, entries, settledTo: present.settledTo })
  const { completionTimeMs } = added
  enqueue(native, { kind: 'redelegation', timeMs: completionTimeMs, addresses: [delegator, source, destination] })
}

/** Whether stake of `delegator` came to this validator from another one, and may still be slashed for that one's faults. */
export function hasReceivingRedelegation(
  native: Pick<NativeStore, 'range'>,
  delegator: Address,
  destination: Address,
): boolean {
  const prefix = addressesKey(REDELEGATIONS_BY_DESTINATION, delegator, destination)
  for (const _ of native.range(prefix)) return true
  return false
}

/** Where a walk over redelegations starts: the two addresses after the one whose redelegations they are. */
export type RedelegationWalk = AddressWalk<readonly [Address, Address]>

/**
 * Yields the redelegations of `delegator`, in order of sources and then destinations; `walk` starts
 * at these two.
 */
export function* redelegationsOf(
  native: Pick<NativeStore, 'range'>,
  delegator: Address,
  walk?: RedelegationWalk,
): IterableIterator<Redelegation> {
  for (const [addresses, value] of addressEntries(native, addressesKey(REDELEGATIONS, delegator), walk)) {
    const [source, destination] = addresses
    yield { delegator, source: source!, destination: destination!, ...StoredRedelegation.decode(value) }
  }
}

/**
 * Yields the redelegations from a validator, in order of delegators and then destinations; `walk`
 * starts at these two.
 */
export function* redelegationsFrom(
  native: Pick<NativeStore, 'get' | 'range'>,
  source: Address,
  walk?: RedelegationWalk,
): IterableIterator<Redelegation> {
  const prefix = addressesKey(REDELEGATIONS_BY_SOURCE, source)
  for (const [[delegator, destination]] of addressEntries(native, prefix, walk)) {
    const redelegation = getRedelegation(native, delegator!, source, destination!)
    if (redelegation === undefined) throw new Error('the index of redelegations names one that is not there')
    yield redelegation
  }
}

/** Yields all redelegations, in order of delegators, sources and destinations. */
export function* allRedelegations(native: Pick<NativeStore, 'range'>): IterableIterator<Redelegation> {
  for (const [[delegator, source, destination], value] of addressEntries(native, REDELEGATIONS)) {
    yield { delegator: delegator!, source: source!, destination: destination!, ...StoredRedelegation.decode(value) }
  }
}
