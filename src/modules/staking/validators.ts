import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import type { NativeStore } from '../../state/world.ts'
import { moduleStoreKey } from '../storeKey.ts'
import { getOperator, setOperator } from './operators.ts'

/** What staking knows of a validator. */
export interface StakedValidator {
  readonly operator: Address
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  /** that it has a right to; consensus gives it this much if it is among the strongest */
  readonly power: bigint
}

export type RegisterResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: 'operatorExists' | 'keyExists' }

const PUBLIC_KEY_BYTES = 32
/** CometBFT's powers are int64. */
const MAX_POWER = 2n ** 63n - 1n
/** Keys of the SDK (x/staking/types/keys.go): ValidatorsKey, ValidatorUpdatesKey. */
const VALIDATORS_PREFIX = moduleStoreKey('staking', Uint8Array.of(0x21))
const CHANGED_KEY = moduleStoreKey('staking', Uint8Array.of(0x61))

/** Adds a validator. Its consensus key and its operator must be nobody's, now and before. */
export function registerValidator(
  native: Pick<NativeStore, 'get' | 'set'>,
  validator: StakedValidator,
): RegisterResult {
  const consensusAddress = sha256(validator.publicKey).slice(0, 20)
  if (getValidator(native, validator.operator) !== undefined) return { ok: false, reason: 'operatorExists' }
  if (getOperator(native, consensusAddress) !== undefined) return { ok: false, reason: 'keyExists' }
  setOperator(native, consensusAddress, validator.operator)
  putValidator(native, validator)
  return { ok: true }
}

/**
 * Sets the power that a validator has a right to; consensus hears of it at the block's end (see `takeValidatorUpdates`). False
 * when there is no such validator.
 * @throws RangeError (a bug) when `power` is negative or over an int64
 */
export function setPower(native: Pick<NativeStore, 'get' | 'set'>, operator: Address, power: bigint): boolean {
  const validator = getValidator(native, operator)
  if (validator === undefined) return false
  putValidator(native, { ...validator, power })
  return true
}

export function getValidator(native: Pick<NativeStore, 'get'>, operator: Address): StakedValidator | undefined {
  const value = native.get(validatorKey(operator))
  return value && decodeValidator(operator, value)
}

/** All validators, with and without power, in order of their operators' addresses. */
export function* validators(native: Pick<NativeStore, 'iterate'>): IterableIterator<StakedValidator> {
  for (const [key, value] of native.iterate(VALIDATORS_PREFIX)) {
    yield decodeValidator(key.slice(VALIDATORS_PREFIX.length + 1), value)
  }
}

/** Whether a validator or power was set since the last call. */
export function takeChanged(native: Pick<NativeStore, 'get' | 'delete'>): boolean {
  if (native.get(CHANGED_KEY) === undefined) return false
  native.delete(CHANGED_KEY)
  return true
}

function putValidator(native: Pick<NativeStore, 'set'>, { operator, publicKey, power }: StakedValidator): void {
  if (power < 0n || power > MAX_POWER) throw new RangeError(`a voting power of ${power} is out of range`)
  native.set(validatorKey(operator), concatBytes(publicKey, bigIntToBytes(power, 8)))
  native.set(CHANGED_KEY, Uint8Array.of(1))
}

function decodeValidator(operator: Address, value: Uint8Array): StakedValidator {
  return {
    operator,
    publicKey: value.slice(0, PUBLIC_KEY_BYTES),
    power: bytesToBigInt(value.subarray(PUBLIC_KEY_BYTES)),
  }
}

function validatorKey(operator: Address): Uint8Array {
  return concatBytes(VALIDATORS_PREFIX, Uint8Array.of(operator.length), operator)
}
