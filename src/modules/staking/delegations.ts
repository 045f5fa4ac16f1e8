import type { Address } from '../../primitives/address.ts'
import { bigIntToMinimalBytes, bytesToBigInt } from '../../primitives/bytes.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { type AddressWalk, addressEntries, addressesKey } from '../storeKey.ts'
import { DELEGATIONS, DELEGATIONS_BY_VALIDATOR, PRESENT } from './keys.ts'

/** A delegator's shares of a validator. There is no delegation without shares. */
export interface Delegation {
  readonly delegator: Address
  readonly operator: Address
  readonly shares: Decimal
}

export function getDelegation(
  native: Pick<NativeStore, 'get'>,
  delegator: Address,
  operator: Address,
): Delegation | undefined {
  const value = native.get(addressesKey(DELEGATIONS, delegator, operator))
  return value && { delegator, operator, shares: bytesToBigInt(value) }
}

/** @throws RangeError (a bug) when there are no shares: see `deleteDelegation` */
export function putDelegation(
  native: Pick<NativeStore, 'get' | 'set'>,
  { delegator, operator, shares }: Delegation,
): void {
  if (shares <= 0n) throw new RangeError('a delegation has shares')
  const key = addressesKey(DELEGATIONS, delegator, operator)
  if (native.get(key) === undefined) {
    native.set(addressesKey(DELEGATIONS_BY_VALIDATOR, operator, delegator), PRESENT)
  }
  native.set(key, bigIntToMinimalBytes(shares))
}

export function deleteDelegation(native: Pick<NativeStore, 'delete'>, delegator: Address, operator: Address): void {
  native.delete(addressesKey(DELEGATIONS, delegator, operator))
  native.delete(addressesKey(DELEGATIONS_BY_VALIDATOR, operator, delegator))
}

/** Yields the delegations of `delegator`, in order of operators. `walk` starts at an operator. */
export function* delegationsOf(
  native: Pick<NativeStore, 'range'>,
  delegator: Address,
  walk?: AddressWalk,
): IterableIterator<Delegation> {
  for (const [[operator], value] of addressEntries(native, addressesKey(DELEGATIONS, delegator), walk)) {
    yield { delegator, operator: operator!, shares: bytesToBigInt(value) }
  }
}

/** Yields the delegations to a validator, in order of delegators. `walk` starts at a delegator. */
export function* delegationsTo(
  native: Pick<NativeStore, 'get' | 'range'>,
  operator: Address,
  walk?: AddressWalk,
): IterableIterator<Delegation> {
  for (const [[delegator]] of addressEntries(native, addressesKey(DELEGATIONS_BY_VALIDATOR, operator), walk)) {
    const delegation = getDelegation(native, delegator!, operator)
    if (delegation === undefined) throw new Error('the index of delegations names one that is not there')
    yield delegation
  }
}

/** Yields all delegations, in order of delegators and then operators. */
export function* allDelegations(native: Pick<NativeStore, 'range'>): IterableIterator<Delegation> {
  for (const [[delegator, operator], value] of addressEntries(native, DELEGATIONS)) {
    yield { delegator: delegator!, operator: operator!, shares: bytesToBigInt(value) }
  }
}
