import { type Address, BECH32_OPERATOR, toBech32 } from '../../primitives/address.ts'
import { type Decimal, decimalOf, truncate } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { sendCoins } from '../bank/send.ts'
import { BASE_DENOM } from '../coin.ts'
import { event, type ModuleContext, type ReadContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { getDelegation } from '../staking/delegations.ts'
import { stakingError } from '../staking/errors.ts'
import { getValidator, type Validator } from '../staking/validators.ts'
import { addressEntries, addressesKey } from '../storeKey.ts'
import { distributionError } from './errors.ts'
import { addToCommunityPool } from './feePool.ts'
import { packIntegers, STARTING_INFO_PREFIX, unpackIntegers } from './keys.ts'
import { addReference, currentRatio, dropReference, endPeriod, getHistorical, RATIO_ONE } from './periods.ts'
import { accruedRewards, getRewards, putRewards } from './rewards.ts'
import { withdrawAddressOf } from './withdrawAddress.ts'

/** Since when a delegation earns. The stake of the SDK's DelegatorStartingInfo is the delegation's shares here. */
interface StartingInfo {
  /** the period that ended last before; it refers to the historical rewards at that period's end */
  readonly previousPeriod: bigint
}

/**
 * Lets a delegation earn from the period that ended last on (x/distribution/keeper/delegation.go,
 * initializeDelegation).
 */
export function startEarning({ world: { native } }: ModuleContext, operator: Address, delegator: Address): void {
  const previousPeriod = getRewards(native, operator)!.period - 1n
  addReference(native, operator, previousPeriod)
  native.set(addressesKey(STARTING_INFO_PREFIX, operator, delegator), packIntegers(previousPeriod))
}

/**
 * Returns the earnings of shares between the ends of two periods
 * (x/distribution/keeper/delegation.go, CalculateDelegationRewards). A delegation has the same
 * shares during all that time: its rewards are paid before they change. A slash makes shares worth
 * less, but each still stands for the same part of the validator's stake.
 */
function earnedByShares(shares: Decimal, fromRatio: bigint, toRatio: bigint): Decimal {
  return (shares * (toRatio - fromRatio)) / RATIO_ONE
}

/**
 * Returns the rewards that a delegation could withdraw, before the part below 1 acoin is cut off.
 * Writes nothing.
 */
export function delegationRewards(context: ReadContext, delegator: Address, operator: Address): Outcome<Decimal> {
  const { native } = context.world
  const validator = getValidator(native, operator)
  if (validator === undefined) return distributionError('noValidator')
  const delegation = getDelegation(native, delegator, operator)
  const info = getStartingInfo(native, operator, delegator)
  if (delegation === undefined || info === undefined) return stakingError('noDelegation')
  const rewards = accruedRewards(context, validator)
  const from = getHistorical(native, operator, info.previousPeriod).ratio
  const to = getHistorical(native, operator, rewards.period - 1n).ratio + currentRatio(rewards, validator)
  const earned = earnedByShares(delegation.shares, from, to)
  return earned < rewards.outstanding ? earned : rewards.outstanding
}

function getStartingInfo(
  native: Pick<NativeStore, 'get'>,
  operator: Address,
  delegator: Address,
): StartingInfo | undefined {
  const value = native.get(addressesKey(STARTING_INFO_PREFIX, operator, delegator))
  return value && decodeStartingInfo(value)
}

/** Yields the starting infos of a validator's delegators. */
export function* startingInfosOf(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
): IterableIterator<readonly [delegator: Address, info: StartingInfo]> {
  for (const [[delegator], value] of addressEntries(native, addressesKey(STARTING_INFO_PREFIX, operator))) {
    yield [delegator!, decodeStartingInfo(value)]
  }
}

function decodeStartingInfo(value: Uint8Array): StartingInfo {
  const [previousPeriod = 0n] = unpackIntegers(value)
  return { previousPeriod }
}

/**
 * Executes MsgWithdrawDelegatorReward: pays a delegation's rewards; the delegation continues to
 * earn from now on.
 * @returns acoin paid, also 0
 */
export function withdrawDelegationRewards(
  context: ModuleContext,
  delegator: Address,
  operator: Address,
): Outcome<bigint> {
  const { native } = context.world
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  const delegation = getDelegation(native, delegator, operator)
  if (delegation === undefined) return stakingError('noDelegation')
  const paid = payDelegation(context, validator, delegator, delegation.shares)
  if (!isSdkError(paid)) startEarning(context, operator, delegator)
  return paid
}

/**
 * Pays a delegation's rewards and deletes its starting info (x/distribution/keeper/delegation.go,
 * withdrawDelegationRewards). The part below 1 acoin goes to the community pool. The period ends
 * first: all earnings until now count, and the payment is taken from the rewards as the end of the
 * period leaves them.
 * @returns acoin paid
 */
export function payDelegation(
  context: ModuleContext,
  validator: Validator,
  delegator: Address,
  shares: bigint,
): Outcome<bigint> {
  const { world } = context
  const { native } = world
  const { operator } = validator
  const info = getStartingInfo(native, operator, delegator)
  if (info === undefined) return distributionError('emptyDelegationInfo')
  const to = getHistorical(native, operator, endPeriod(context, validator)).ratio
  const from = dropReference(native, operator, info.previousPeriod)
  const earned = earnedByShares(shares, from, to)
  const rewards = getRewards(native, operator)!
  const taken = earned < rewards.outstanding ? earned : rewards.outstanding
  const amount = truncate(taken)
  if (amount > 0n) {
    const failure = sendCoins(context, DISTRIBUTION, withdrawAddressOf(native, delegator), amount)
    if (failure !== undefined) return failure
  }
  putRewards(native, operator, { ...rewards, outstanding: rewards.outstanding - taken })
  addToCommunityPool(native, taken - decimalOf(amount))
  native.delete(addressesKey(STARTING_INFO_PREFIX, operator, delegator))
  world.emitEvent(
    event('withdraw_rewards', {
      amount: `${amount}${BASE_DENOM}`,
      validator: toBech32(operator, BECH32_OPERATOR),
      delegator: toBech32(delegator),
    }),
  )
  return amount
}
