import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, bytesKey, bytesToBigInt, equalBytes } from '../../primitives/bytes.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import { sha256 } from '../../primitives/hash.ts'
import {
  bool,
  bytes,
  decimal,
  defineMessage,
  embedded,
  integer,
  repeated,
  safeUint64,
  uint32,
  uint64,
} from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { type AddressWalk, addressEntries, addressesKey } from '../storeKey.ts'
import {
  LAST_POWERS,
  LAST_TOTAL_POWER,
  OPERATORS_BY_CONSENSUS_ADDRESS,
  PRESENT,
  powerKey,
  SET_CHANGED,
  VALIDATORS,
} from './keys.ts'
import { Description } from './types.ts'

export type BondStatus = 'unbonded' | 'unbonding' | 'bonded'

/** The record of a validator. */
export interface Validator {
  readonly operator: Address
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  readonly jailed: boolean
  readonly status: BondStatus
  /** acoin, in the bonded pool when the status is bonded, else in the other one */
  readonly tokens: bigint
  readonly delegatorShares: Decimal
  readonly description: Description
  /** when it began to unbond, 0 when it never did */
  readonly unbondingHeight: number
  /** when it is unbonded */
  readonly unbondingTimeMs: number
  readonly commission: ValidatorCommission
  /** acoin */
  readonly minSelfDelegation: bigint
  readonly unbondingIds: readonly bigint[]
}

export interface ValidatorCommission {
  readonly rate: Decimal
  readonly maxRate: Decimal
  readonly maxChangeRate: Decimal
  readonly updateTimeMs: number
}

/** One unit of voting power (the SDK's DefaultPowerReduction of chains with 18 decimals). */
export const POWER_REDUCTION_ACOIN = 10n ** 18n

/** CometBFT's powers are int64. */
const MAX_POWER = 2n ** 63n - 1n
const STATUSES: readonly BondStatus[] = ['unbonded', 'unbonding', 'bonded']

export function getValidator(native: Pick<NativeStore, 'get'>, operator: Address): Validator | undefined {
  const value = native.get(addressesKey(VALIDATORS, operator))
  return value && decodeValidator(operator, value)
}

/** Returns the validator whose consensus key has this address (see `consensusAddressOf`). */
export function getValidatorByConsensus(
  native: Pick<NativeStore, 'get'>,
  consensusAddress: Uint8Array,
): Validator | undefined {
  const operator = getOperator(native, consensusAddress)
  const validator = operator && getValidator(native, operator)
  // An operator stays known by its old key after its validator was removed or has taken another key.
  return validator && equalBytes(consensusAddressOf(validator), consensusAddress) ? validator : undefined
}

/** Yields all validators in order of their operators' addresses. */
export function* validators(native: Pick<NativeStore, 'range'>, walk?: AddressWalk): IterableIterator<Validator> {
  for (const [[operator], value] of addressEntries(native, VALIDATORS, walk)) yield decodeValidator(operator!, value)
}

/**
 * Writes a validator and its key in the order of powers. When that key changes, consensus gets the new powers at the block's end (see
 * `takeValidatorUpdates`).
 */
export function putValidator(native: Pick<NativeStore, 'get' | 'set' | 'delete'>, validator: Validator): void {
  const previous = getValidator(native, validator.operator)
  native.set(addressesKey(VALIDATORS, validator.operator), encodeValidator(validator))
  updatePowerIndex(native, previous, validator)
}

/** Removes a validator. The operator of its consensus key stays known. */
export function deleteValidator(native: Pick<NativeStore, 'set' | 'delete'>, validator: Validator): void {
  native.delete(addressesKey(VALIDATORS, validator.operator))
  updatePowerIndex(native, validator, undefined)
}

/** Takes a validator's power away, from the end of the block on. Does nothing when it is jailed already or does not exist. */
export function jail(context: ModuleContext, consensusAddress: Uint8Array): void {
  setJailed(context, consensusAddress, true)
}

/** Lets a validator have power again. Whether it may is slashing's rule (`unjailValidator`). */
export function unjail(context: ModuleContext, consensusAddress: Uint8Array): void {
  setJailed(context, consensusAddress, false)
}

function setJailed({ world: { native } }: ModuleContext, consensusAddress: Uint8Array, jailed: boolean): void {
  const validator = getValidatorByConsensus(native, consensusAddress)
  if (validator !== undefined && validator.jailed !== jailed) putValidator(native, { ...validator, jailed })
}

/**
 * Returns the voting power that its tokens are worth, at most an int64; it counts while the
 * validator is bonded.
 */
export function potentialPower({ tokens }: Pick<Validator, 'tokens'>): bigint {
  const power = tokens / POWER_REDUCTION_ACOIN
  return power < MAX_POWER ? power : MAX_POWER
}

/**
 * Returns its key in the order of powers; undefined for a validator that cannot be bonded: jailed
 * or without power.
 */
export function powerIndexKeyOf(validator: Pick<Validator, 'operator' | 'tokens' | 'jailed'>): Uint8Array | undefined {
  const power = potentialPower(validator)
  return validator.jailed || power === 0n ? undefined : powerKey(power, validator.operator)
}

function updatePowerIndex(
  native: Pick<NativeStore, 'set' | 'delete'>,
  before: Validator | undefined,
  after: Validator | undefined,
): void {
  const from = before && powerIndexKeyOf(before)
  const to = after && powerIndexKeyOf(after)
  if (from === undefined ? to === undefined : to !== undefined && bytesKey(from) === bytesKey(to)) return
  if (from !== undefined) native.delete(from)
  if (to !== undefined && after !== undefined) native.set(to, after.operator)
  markSetChanged(native)
}

/**
 * Makes {@link takeSetChanged} true at the block's end, so that the validator set is chosen again.
 */
export function markSetChanged(native: Pick<NativeStore, 'set'>): void {
  native.set(SET_CHANGED, PRESENT)
}

/** Whether the set may have changed since the last call. */
export function takeSetChanged(native: Pick<NativeStore, 'get' | 'delete'>): boolean {
  if (native.get(SET_CHANGED) === undefined) return false
  native.delete(SET_CHANGED)
  return true
}

/** Sets the power that consensus knows of a validator; 0 deletes the entry. */
export function setLastPower(native: Pick<NativeStore, 'set' | 'delete'>, operator: Address, power: bigint): void {
  const key = addressesKey(LAST_POWERS, operator)
  if (power === 0n) native.delete(key)
  else native.set(key, bigIntToBytes(power, 8))
}

/** Returns the power that consensus knows of a validator; 0 for none. */
export function getLastPower(native: Pick<NativeStore, 'get'>, operator: Address): bigint {
  const value = native.get(addressesKey(LAST_POWERS, operator))
  return value === undefined ? 0n : bytesToBigInt(value)
}

/**
 * Yields the validators that consensus has from the next block but one on, in order of their
 * operators' addresses.
 */
export function* lastPowers(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<{ readonly operator: Address; readonly power: bigint }> {
  for (const [[operator], value] of addressEntries(native, LAST_POWERS)) {
    yield { operator: operator!, power: bytesToBigInt(value) }
  }
}

/** Returns the sum of last powers. */
export function getLastTotalPower(native: Pick<NativeStore, 'get'>): bigint {
  const value = native.get(LAST_TOTAL_POWER)
  return value === undefined ? 0n : bytesToBigInt(value)
}

export function setLastTotalPower(native: Pick<NativeStore, 'set'>, power: bigint): void {
  native.set(LAST_TOTAL_POWER, bigIntToBytes(power, 8))
}

/**
 * Returns the operator address of the validator with this consensus address, also of one that was
 * removed since or has another key now, and of one whose rotation to this key is under way;
 * undefined for a key that no validator ever had.
 */
export function getOperator(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): Address | undefined {
  return native.get(addressesKey(OPERATORS_BY_CONSENSUS_ADDRESS, consensusAddress))
}

export function setOperator(native: Pick<NativeStore, 'set'>, consensusAddress: Uint8Array, operator: Address): void {
  native.set(addressesKey(OPERATORS_BY_CONSENSUS_ADDRESS, consensusAddress), operator)
}

/** Addresses by public key: every block needs those of the same few validators. */
const consensusAddresses = new WeakMap<Uint8Array, Uint8Array>()

/** Returns the first 20 bytes of sha256 of the consensus key. */
export function consensusAddressOf({ publicKey }: Pick<Validator, 'publicKey'>): Uint8Array {
  let address = consensusAddresses.get(publicKey)
  if (address === undefined) {
    address = sha256(publicKey).slice(0, 20)
    consensusAddresses.set(publicKey, address)
  }
  return address
}

/** The stored form, smaller than the SDK's (no operator, which is in the key, and no bech32): every delegation writes it. */
const StoredValidator = defineMessage('coind.staking.StoredValidator', {
  publicKey: bytes(1),
  jailed: bool(2),
  status: uint32(3),
  tokens: integer(4),
  delegatorShares: decimal(5),
  unbondingHeight: safeUint64(6),
  unbondingTimeMs: safeUint64(7),
  rate: decimal(8),
  maxRate: decimal(9),
  maxChangeRate: decimal(10),
  updateTimeMs: safeUint64(11),
  minSelfDelegation: integer(12),
  unbondingIds: repeated(uint64(13)),
  description: embedded(14, Description),
})

/** Validators by their stored bytes: a store returns the same array for the same entry. */
const decoded = new WeakMap<Uint8Array, Validator>()

function encodeValidator(validator: Validator): Uint8Array {
  const { status, commission } = validator
  return StoredValidator.encode({
    ...validator,
    ...commission,
    status: STATUSES.indexOf(status),
  })
}

function decodeValidator(operator: Address, value: Uint8Array): Validator {
  const known = decoded.get(value)
  if (known !== undefined) return known
  const { rate, maxRate, maxChangeRate, updateTimeMs, ...stored } = StoredValidator.decode(value)
  const validator: Validator = {
    ...stored,
    operator,
    status: STATUSES[stored.status]!,
    commission: { rate, maxRate, maxChangeRate, updateTimeMs },
  }
  decoded.set(value, validator)
  return validator
}
