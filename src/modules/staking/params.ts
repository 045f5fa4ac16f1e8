import { ONE } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { BASE_DENOM, type Coin } from '../coin.ts'
import { defineParams, type ParamsStore } from '../params.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { Params } from './types.ts'
import { markSetChanged } from './validators.ts'

/**
 * Fee of a rotation of a consensus key when the parameters have none: one coin, the SDK's default.
 */
const DEFAULT_KEY_ROTATION_FEE: Coin = { denom: BASE_DENOM, amount: 10n ** 18n }

/**
 * Parameters of staking; the key is the SDK's ParamsKey. Durations are nanoseconds. The fee of key rotations has a default, since the
 * genesis of a chain may be older than it; it is not written there, so that the state of block 0 stays the same.
 */
export const STAKING_PARAMS: ParamsStore<Params> = defineParams('staking', Uint8Array.of(0x51), Params, (stored) => ({
  ...stored,
  keyRotationFee: stored.keyRotationFee ?? DEFAULT_KEY_ROTATION_FEE,
}))

/** Returns the fee of a rotation of a consensus key, in acoin; it is burnt. */
export function keyRotationFee(native: Pick<NativeStore, 'get'>): bigint {
  return (STAKING_PARAMS.get(native).keyRotationFee ?? DEFAULT_KEY_ROTATION_FEE).amount
}

/** The most validators that consensus messages and peer limits are sized for. */
const MAX_VALIDATORS = 50
/** A slash sums the stake that left a validator over the unbonding time; see departures.ts. */
const MAX_UNBONDING_NANOS = 365n * 86_400n * 1_000_000_000n
/** Entries of one delegator from one validator (to another), which are one record. */
const MAX_ENTRIES = 100
/** Blocks whose validators a query shows. */
const MAX_HISTORICAL_ENTRIES = 1_000_000
const MAX_KEY_ROTATION_FEE_ACOIN = 2n ** 128n
const NANOS_PER_MS = 1_000_000n

/** Returns how long stake stays slashable after it has left a validator, in milliseconds. */
export function unbondingTimeMs(native: Pick<NativeStore, 'get'>): number {
  return Number(STAKING_PARAMS.get(native).unbondingTime / NANOS_PER_MS)
}

/**
 * Checks parameters by Params.Validate of x/staking/types/params.go, and this chain's own bounds.
 */
export function validateStakingParams(params: Params): SdkError | undefined {
  const {
    unbondingTime,
    maxValidators,
    maxEntries,
    historicalEntries,
    bondDenom,
    minCommissionRate,
    keyRotationFee: fee,
  } = params
  if (unbondingTime < NANOS_PER_MS) {
    return sdkError('invalidRequest', `unbonding time must be positive: ${unbondingTime}`)
  }
  if (unbondingTime > MAX_UNBONDING_NANOS) {
    return sdkError('invalidRequest', `unbonding time cannot be longer than 365 days: ${unbondingTime}`)
  }
  if (maxValidators === 0) return sdkError('invalidRequest', 'max validators must be positive: 0')
  if (maxValidators > MAX_VALIDATORS) {
    return sdkError('invalidRequest', `max validators cannot be more than ${MAX_VALIDATORS}: ${maxValidators}`)
  }
  if (maxEntries === 0) return sdkError('invalidRequest', 'max entries must be positive: 0')
  if (maxEntries > MAX_ENTRIES) {
    return sdkError('invalidRequest', `max entries cannot be more than ${MAX_ENTRIES}: ${maxEntries}`)
  }
  if (historicalEntries > MAX_HISTORICAL_ENTRIES) {
    const wrong = `historical entries cannot be more than ${MAX_HISTORICAL_ENTRIES}: ${historicalEntries}`
    return sdkError('invalidRequest', wrong)
  }
  if (bondDenom !== BASE_DENOM) return sdkError('invalidRequest', `bond denom must be ${BASE_DENOM}: ${bondDenom}`)
  if (minCommissionRate < 0n) return sdkError('invalidRequest', 'minimum commission rate cannot be negative')
  if (minCommissionRate > ONE) return sdkError('invalidRequest', 'minimum commission rate cannot be greater than 100%')
  if (fee !== undefined && fee.amount <= 0n) {
    return sdkError('invalidRequest', `key rotation fee must be positive: ${fee.amount}${fee.denom}`)
  }
  if (fee !== undefined && fee.amount > MAX_KEY_ROTATION_FEE_ACOIN) {
    return sdkError('invalidRequest', `key rotation fee is out of range: ${fee.amount}${fee.denom}`)
  }
  if (fee !== undefined && fee.denom !== bondDenom) {
    return sdkError('invalidRequest', `key rotation fee denom "${fee.denom}" must match bond denom "${bondDenom}"`)
  }
  return undefined
}

/** Writes parameters; a new number of validators takes effect at the block's end. */
export function setStakingParams(native: Pick<NativeStore, 'set'>, params: Params): void {
  STAKING_PARAMS.set(native, params)
  markSetChanged(native)
}
