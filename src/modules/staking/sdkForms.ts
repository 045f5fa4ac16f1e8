import { type Address, BECH32_OPERATOR, parseAddress, toBech32 } from '../../primitives/address.ts'
import { truncate } from '../../primitives/decimal.ts'
import { BASE_DENOM } from '../coin.ts'
import { Ed25519PubKey } from '../tx/publicKey.ts'
import type { Delegation } from './delegations.ts'
import type { Redelegation } from './redelegations.ts'
import { type SharePrice, tokensFromShares } from './shares.ts'
import {
  BOND_STATUSES,
  type DelegationResponse,
  type RedelegationResponse,
  type SdkUnbondingDelegation,
  type SdkValidator,
} from './types.ts'
import type { UnbondingDelegation } from './unbonding.ts'
import type { BondStatus, Validator } from './validators.ts'

// Staking's records and values in the forms that clients know (cosmos/staking/v1beta1/staking.proto, events)

const STATUS_NUMBERS: Readonly<Record<BondStatus, number>> = {
  unbonded: BOND_STATUSES.BOND_STATUS_UNBONDED,
  unbonding: BOND_STATUSES.BOND_STATUS_UNBONDING,
  bonded: BOND_STATUSES.BOND_STATUS_BONDED,
}
const NANOS_PER_MS = 1_000_000n

export function validatorToSdk(validator: Validator): SdkValidator {
  const { updateTimeMs, ...commissionRates } = validator.commission
  return {
    operatorAddress: operatorText(validator.operator),
    consensusPubkey: {
      typeUrl: Ed25519PubKey.typeUrl,
      value: Ed25519PubKey.encode({ key: validator.publicKey }),
    },
    jailed: validator.jailed,
    status: STATUS_NUMBERS[validator.status],
    tokens: validator.tokens,
    delegatorShares: validator.delegatorShares,
    description: validator.description,
    unbondingHeight: BigInt(validator.unbondingHeight),
    unbondingTime: nanosOf(validator.unbondingTimeMs),
    commission: { commissionRates, updateTime: nanosOf(updateTimeMs) },
    minSelfDelegation: validator.minSelfDelegation,
    unbondingOnHoldRefCount: 0n,
    unbondingIds: validator.unbondingIds,
  }
}

/**
 * @throws TypeError when the operator's address does not parse or the status is unknown
 * @throws ProtobufError when the key is not ed25519
 */
export function validatorFromSdk(validator: SdkValidator): Validator {
  const { commissionRates, updateTime } = validator.commission
  const status = (Object.keys(STATUS_NUMBERS) as BondStatus[]).find((name) => STATUS_NUMBERS[name] === validator.status)
  if (status === undefined) throw new TypeError(`${validator.status} is not a bond status`)
  return {
    operator: parseAddress(validator.operatorAddress, BECH32_OPERATOR),
    publicKey: Ed25519PubKey.decode(validator.consensusPubkey?.value ?? new Uint8Array(0)).key,
    jailed: validator.jailed,
    status,
    tokens: validator.tokens,
    delegatorShares: validator.delegatorShares,
    description: validator.description,
    unbondingHeight: Number(validator.unbondingHeight),
    unbondingTimeMs: msOf(validator.unbondingTime),
    commission: { ...commissionRates, updateTimeMs: msOf(updateTime) },
    minSelfDelegation: validator.minSelfDelegation,
    unbondingIds: validator.unbondingIds,
  }
}

/** Returns a delegation and its worth, truncated to acoin. */
export function delegationToSdk(delegation: Delegation, validator: SharePrice): DelegationResponse {
  const { delegator, operator, shares } = delegation
  return {
    delegation: { delegatorAddress: toBech32(delegator), validatorAddress: operatorText(operator), shares },
    balance: { denom: BASE_DENOM, amount: truncate(tokensFromShares(validator, shares)) },
  }
}

export function unbondingToSdk({
  delegator,
  operator,
  entries,
}: Omit<UnbondingDelegation, 'settledTo'>): SdkUnbondingDelegation {
  return {
    delegatorAddress: toBech32(delegator),
    validatorAddress: operatorText(operator),
    entries: entries.map((entry) => ({
      creationHeight: BigInt(entry.creationHeight),
      completionTime: nanosOf(entry.completionTimeMs),
      initialBalance: entry.initialBalance,
      balance: entry.balance,
      unbondingId: entry.id,
      unbondingOnHoldRefCount: 0n,
    })),
  }
}

/** @param destination the validator that has the stake now */
export function redelegationToSdk(
  redelegation: Omit<Redelegation, 'settledTo'>,
  destination: SharePrice,
): RedelegationResponse {
  const entries = redelegation.entries.map((entry) => ({
    creationHeight: BigInt(entry.creationHeight),
    completionTime: nanosOf(entry.completionTimeMs),
    initialBalance: entry.initialBalance,
    sharesDst: entry.sharesDestination,
    unbondingId: entry.id,
    unbondingOnHoldRefCount: 0n,
  }))
  return {
    // The SDK repeats the entries below with their balances and leaves them out here.
    redelegation: {
      delegatorAddress: toBech32(redelegation.delegator),
      validatorSrcAddress: operatorText(redelegation.source),
      validatorDstAddress: operatorText(redelegation.destination),
      entries: [],
    },
    entries: entries.map((redelegationEntry) => ({
      redelegationEntry,
      balance: truncate(tokensFromShares(destination, redelegationEntry.sharesDst)),
    })),
  }
}

function nanosOf(ms: number): bigint {
  return BigInt(ms) * NANOS_PER_MS
}

function msOf(nanos: bigint): number {
  return Number(nanos / NANOS_PER_MS)
}

export function operatorText(operator: Address): string {
  return toBech32(operator, BECH32_OPERATOR)
}

/** Go's time.RFC3339: no fraction of a second. */
export function timeText(timeMs: number): string {
  const text = new Date(timeMs).toISOString()
  return `${text.slice(0, 19)}Z`
}
