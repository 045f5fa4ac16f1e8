import { type Address, BECH32_CONSENSUS, BECH32_OPERATOR, toBech32 } from '../../primitives/address.ts'
import { bytesKey, bytesToBigInt, equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, multiply, multiplyTruncated, ONE, truncate } from '../../primitives/decimal.ts'
import { sha256 } from '../../primitives/hash.ts'
import type { NativeStore, WorldState } from '../../state/world.ts'
import { isBlockedAddress, sendCoins } from '../bank/send.ts'
import { doItem } from '../blockItem.ts'
import { BASE_DENOM, coinsOf, coinsText, decCoinsText } from '../coin.ts'
import { type CommitVote, event, type LastCommitInfo, type ModuleContext, type ReadContext } from '../context.ts'
import { DISTRIBUTION, FEE_COLLECTOR } from '../moduleAccounts.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { getDelegation } from '../staking/delegations.ts'
import { stakingError } from '../staking/errors.ts'
import { consensusAddressOf, getValidator, getValidatorByConsensus, type Validator } from '../staking/validators.ts'
import { addressEntries, addressesKey } from '../storeKey.ts'
import { distributionError } from './errors.ts'
import { addToCommunityPool, getFeePool, putFeePool } from './feePool.ts'
import {
  HISTORICAL_PREFIX,
  packIntegers,
  periodKey,
  REWARD_SHARE_PREFIX,
  REWARD_SHARES_DIGEST_KEY,
  REWARDS_PREFIX,
  STARTING_INFO_PREFIX,
  unpackIntegers,
  WITHDRAW_ADDRESS_PREFIX,
} from './keys.ts'
import { DISTRIBUTION_PARAMS } from './params.ts'

/*
 * F1 fee distribution (Ojha and Goes, 2019), as coind does it. The fees of a block belong to the
 * validators of the last commit by power. A validator takes the commission from its part, and its
 * delegators have the rest by their shares. All are paid when they withdraw. No block writes to
 * every validator or delegator, since two running sums are enough:
 *
 * 1. The **accumulator** A (in the fee pool) is the earnings of one unit of voting power since the
 *    genesis. A block with fees raises A, which is one write. The **reward share** of a validator
 *    has its power and the accumulator A0 at its last accrual; `accrueRewards` adds power x (A -
 *    A0) to the validator's rewards.
 * 2. The **ratio** R[n] of a validator is the earnings of one of its shares until the end of its
 *    period n. A period ends when a delegation begins or changes or is paid, or when the validator
 *    is slashed; `endPeriod` then divides the rewards of the period by the shares. A delegation's
 *    **starting info** has the period n that ended last when it got its shares: at the end of
 *    period m it has earned shares x (R[m] - R[n]).
 *
 * Differences from the SDK (x/distribution): there every block splits fees among all validators at
 * once (AllocateTokens); the accumulator makes the same amounts except for roundings, and events
 * come when rewards accrue. There a ratio is acoin per token with 18 decimals, each slash since its
 * start reduces a delegation's stake by a rounded fraction, and a withdrawal reads all these
 * slashes. Here a ratio is acoin per share with 54 decimals: a slash does not change the number of
 * shares, so a withdrawal reads two ratios. docs/native-layer.md has the formulas with every
 * rounding.
 */

// Fees raise the accumulator

/**
 * A validator of the last commit: the power that fees are divided by, and the accumulator up to which its rewards have accrued.
 * Exactly the validators of the last commit have one.
 */
interface RewardShare {
  readonly power: bigint
  /** 10^-36 acoin */
  readonly accumulator: bigint
}

/**
 * Divides the fee collector's coins among the validators of the last commit, by power and whether
 * they signed or not (x/distribution/keeper/allocation.go, AllocateTokens). It writes only the
 * accumulator, in which each validator has a share: a block without fees writes nothing, and a
 * block with fees writes the same for any number of validators.
 * 1. Reward shares follow the last commit: a validator whose power changed accrues rewards under the old one.
 * 2. The collected fees raise the accumulator, so that they are divided by the powers of the last commit.
 */
export function beginDistribution(context: ModuleContext, { votes }: LastCommitInfo): void {
  if (votes.length === 0) return
  updateRewardShares(context, votes) // 1
  doItem(context, { module: 'distribution', item: 'fees' }, () => divideFees(context, votes)) // 2
}

/** @returns why the fees cannot be collected; they stay where they are then */
function divideFees(context: ModuleContext, votes: readonly CommitVote[]): SdkError | undefined {
  const { world } = context
  const fees = world.getBalance(FEE_COLLECTOR)
  if (fees === 0n) return undefined
  const failure = sendCoins(context, FEE_COLLECTOR, DISTRIBUTION, fees)
  if (failure !== undefined) return failure

  const { communityTax } = DISTRIBUTION_PARAMS.get(world.native)
  const totalPower = votes.reduce((sum, { power }) => sum + power, 0n)
  const rise = accumulatorRise(multiplyTruncated(decimalOf(fees), ONE - communityTax), totalPower)
  const pool = getFeePool(world.native)
  putFeePool(world.native, {
    communityPool: pool.communityPool + decimalOf(fees) - spentBy(rise, totalPower),
    accumulator: pool.accumulator + rise,
  })
  return undefined
}

/** Makes the reward shares those of the votes: one for each validator in them, with its power there. */
function updateRewardShares(context: ModuleContext, votes: readonly CommitVote[]): void {
  const { native } = context.world
  const digest = digestOf(votes)
  const known = native.get(REWARD_SHARES_DIGEST_KEY)
  if (known !== undefined && equalBytes(known, digest)) return
  native.set(REWARD_SHARES_DIGEST_KEY, digest)

  const powers = new Map(votes.map(({ address, power }) => [bytesKey(address), power]))
  for (const [address, share] of [...rewardShares(native)]) {
    const power = powers.get(bytesKey(address))
    powers.delete(bytesKey(address))
    if (power === share.power) continue
    doItem(context, { module: 'distribution', validator: toBech32(address, BECH32_CONSENSUS) }, () => {
      const validator = getValidatorByConsensus(native, address)
      if (validator === undefined) forfeitRewardShare(context, address)
      else accrueRewards(context, validator)
    })
    if (power === undefined) native.delete(addressesKey(REWARD_SHARE_PREFIX, address))
    else putRewardShare(native, address, { power, accumulator: getFeePool(native).accumulator })
  }
  const { accumulator } = getFeePool(native)
  for (const { address, power } of votes) {
    if (powers.has(bytesKey(address))) putRewardShare(native, address, { power, accumulator })
  }
}

/**
 * Moves to the community pool the earnings of a reward share since the last accrual, since its
 * validator is removed.
 */
export function forfeitRewardShare({ world: { native } }: ModuleContext, consensusAddress: Uint8Array): void {
  const share = getRewardShare(native, consensusAddress)
  if (share === undefined) return
  const { accumulator } = getFeePool(native)
  addToCommunityPool(native, earnedBy(share, accumulator))
  putRewardShare(native, consensusAddress, { ...share, accumulator })
}

/** Called when a validator has another consensus key, with which it continues to earn. */
export function moveRewardShare(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  from: Uint8Array,
  to: Uint8Array,
): void {
  const share = getRewardShare(native, from)
  if (share === undefined) return
  putRewardShare(native, to, share)
  native.delete(addressesKey(REWARD_SHARE_PREFIX, from))
}

const EXTRA_PRECISION = 10n ** 18n

/** Returns the share's earnings up to `accumulator`, cut off after the 18th decimal. */
export function earnedBy(share: RewardShare, accumulator: bigint): Decimal {
  return ((accumulator - share.accumulator) * share.power) / EXTRA_PRECISION
}

/** Returns by how much the accumulator rises when `amount` is divided among `totalPower`. */
function accumulatorRise(amount: Decimal, totalPower: bigint): bigint {
  return (amount * EXTRA_PRECISION) / totalPower
}

/**
 * Returns the part of an amount that raising the accumulator by `rise` uses up: at least the sum of
 * all shares in that part.
 */
function spentBy(rise: bigint, totalPower: bigint): Decimal {
  return (rise * totalPower + EXTRA_PRECISION - 1n) / EXTRA_PRECISION
}

const VOTE_BYTES = 28

function digestOf(votes: readonly CommitVote[]): Uint8Array {
  const bytes = new Uint8Array(votes.length * VOTE_BYTES)
  const view = new DataView(bytes.buffer)
  votes.forEach(({ address, power }, index) => {
    bytes.set(address, index * VOTE_BYTES)
    view.setBigUint64(index * VOTE_BYTES + 20, power)
  })
  return sha256(bytes)
}

function getRewardShare(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): RewardShare | undefined {
  const value = native.get(addressesKey(REWARD_SHARE_PREFIX, consensusAddress))
  return value && decodeRewardShare(value)
}

function putRewardShare(
  native: Pick<NativeStore, 'set'>,
  consensusAddress: Uint8Array,
  { power, accumulator }: RewardShare,
): void {
  native.set(addressesKey(REWARD_SHARE_PREFIX, consensusAddress), packIntegers(power, accumulator))
}

/** Yields all reward shares in order of consensus addresses. */
export function* rewardShares(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [consensusAddress: Uint8Array, share: RewardShare]> {
  for (const [[address], value] of addressEntries(native, REWARD_SHARE_PREFIX)) {
    yield [address!, decodeRewardShare(value)]
  }
}

function decodeRewardShare(value: Uint8Array): RewardShare {
  const [power = 0n, accumulator = 0n] = unpackIntegers(value)
  return { power, accumulator }
}

// A validator's rewards accrue

/**
 * A validator's rewards, which the SDK stores in three records (ValidatorOutstandingRewards,
 * ValidatorAccumulatedCommission, ValidatorCurrentRewards) that always change together. Amounts are
 * acoin.
 */
interface ValidatorRewards {
  /** all that it and its delegators may still withdraw */
  readonly outstanding: Decimal
  /** the validator's own part of the outstanding rewards */
  readonly commission: Decimal
  /** delegators' part that came in during the current period */
  readonly current: Decimal
  /** number of the current period */
  readonly period: bigint
}

/** As much of a validator as its part of the fees needs. */
type EarningValidator = Pick<Validator, 'operator' | 'publicKey' | 'commission'>

/**
 * Adds the earnings of a validator's reward share since the last accrual to its rewards. Code that
 * changes the validator's power, its commission rate or any part of its rewards must call this
 * first; no other code needs to.
 * @throws Error (a bug) when the validator was never created
 */
export function accrueRewards(context: ModuleContext, validator: EarningValidator): ValidatorRewards {
  const { native } = context.world
  const address = consensusAddressOf(validator)
  const share = getRewardShare(native, address)
  if (share === undefined) return storedRewards(native, validator.operator)
  const { accumulator } = getFeePool(native)
  if (share.accumulator === accumulator) return storedRewards(native, validator.operator)
  putRewardShare(native, address, { ...share, accumulator })
  return addIncome(context, validator, earnedBy(share, accumulator))
}

/**
 * Returns a validator's rewards as {@link accrueRewards} would make them, for queries: writes
 * nothing.
 */
export function accruedRewards({ world: { native } }: ReadContext, validator: EarningValidator): ValidatorRewards {
  const rewards = storedRewards(native, validator.operator)
  const share = getRewardShare(native, consensusAddressOf(validator))
  const earned = share === undefined ? 0n : earnedBy(share, getFeePool(native).accumulator)
  return withIncome(rewards, earned, multiply(earned, validator.commission.rate))
}

/**
 * Income of a validator (x/distribution/keeper/allocation.go, AllocateTokensToValidator): its commission, the rest to its
 * delegators.
 */
function addIncome({ world }: ModuleContext, validator: EarningValidator, amount: Decimal): ValidatorRewards {
  const rewards = storedRewards(world.native, validator.operator)
  if (amount === 0n) return rewards
  const commission = multiply(amount, validator.commission.rate)
  const received = withIncome(rewards, amount, commission)
  putRewards(world.native, validator.operator, received)
  emitIncome(world, 'commission', validator.operator, commission)
  emitIncome(world, 'rewards', validator.operator, amount)
  return received
}

function withIncome(rewards: ValidatorRewards, amount: Decimal, commission: Decimal): ValidatorRewards {
  return {
    outstanding: rewards.outstanding + amount,
    commission: rewards.commission + commission,
    current: rewards.current + amount - commission,
    period: rewards.period,
  }
}

function emitIncome(world: Pick<WorldState, 'emitEvent'>, type: string, operator: Address, amount: Decimal): void {
  world.emitEvent(event(type, { amount: decCoinsText(amount), validator: toBech32(operator, BECH32_OPERATOR) }))
}

/**
 * Executes MsgDepositValidatorRewardsPool: `amount` acoin become income of a validator, as if they
 * were its share of fees.
 */
export function depositValidatorRewards(
  context: ModuleContext,
  from: Address,
  operator: Address,
  amount: bigint,
): SdkError | undefined {
  const failure = sendCoins(context, from, DISTRIBUTION, amount)
  if (failure !== undefined) return failure
  const validator = getValidator(context.world.native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  addIncome(context, validator, decimalOf(amount))
  return undefined
}

/**
 * Reads the stored rewards, without those that have not accrued yet; see {@link accruedRewards}.
 */
export function getRewards(native: Pick<NativeStore, 'get'>, operator: Address): ValidatorRewards | undefined {
  const value = native.get(addressesKey(REWARDS_PREFIX, operator))
  return value && decodeRewards(value)
}

function storedRewards(native: Pick<NativeStore, 'get'>, operator: Address): ValidatorRewards {
  const rewards = getRewards(native, operator)
  if (rewards === undefined) throw new Error('the validator has no record of rewards')
  return rewards
}

function putRewards(native: Pick<NativeStore, 'set'>, operator: Address, rewards: ValidatorRewards): void {
  const { outstanding, commission, current, period } = rewards
  native.set(addressesKey(REWARDS_PREFIX, operator), packIntegers(outstanding, commission, current, period))
}

/** Yields the rewards of all validators, in order of operators. */
export function* allRewards(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [operator: Address, rewards: ValidatorRewards]> {
  for (const [[operator], value] of addressEntries(native, REWARDS_PREFIX)) yield [operator!, decodeRewards(value)]
}

function decodeRewards(value: Uint8Array): ValidatorRewards {
  const [outstanding = 0n, commission = 0n, current = 0n, period = 0n] = unpackIntegers(value)
  return { outstanding, commission, current, period }
}

// Periods divide a validator's rewards by its shares

/** 1 in the unit of ratios: shares may be worth very little after slashes, and small parts of acoin still count. */
const RATIO_ONE: bigint = 10n ** 54n

/**
 * Earnings of one share of a validator from the validator's beginning up to the end of a period:
 * the SDK's ValidatorHistoricalRewards for shares instead of tokens. It is deleted with its last
 * reference. The current period refers to the one before, and each delegation to the period after
 * which it started.
 */
interface HistoricalRewards {
  /** 10^-54 acoin a share */
  readonly ratio: bigint
  readonly references: number
}

/** Creates the records of a new validator (x/distribution/keeper/validator.go, InitializeValidator). */
export function beginFirstPeriod({ world: { native } }: ModuleContext, operator: Address): void {
  putHistorical(native, operator, 0n, { ratio: 0n, references: 1 })
  putRewards(native, operator, { outstanding: 0n, commission: 0n, current: 0n, period: 1n })
}

/**
 * Ends the validator's period (x/distribution/keeper/validator.go, IncrementValidatorPeriod): the
 * period's rewards are divided by the shares, and the next period begins. Without shares the
 * rewards go to the community pool.
 * @returns the number of the period that ended; its historical rewards have the new period's reference
 */
export function endPeriod(context: ModuleContext, validator: Validator): bigint {
  const { native } = context.world
  const { operator, delegatorShares } = validator
  const rewards = accrueRewards(context, validator)
  const { period } = rewards
  const ratio = dropReference(native, operator, period - 1n) + currentRatio(rewards, validator)
  putHistorical(native, operator, period, { ratio, references: 1 })
  let { outstanding } = rewards
  if (delegatorShares === 0n) {
    addToCommunityPool(native, rewards.current)
    outstanding -= rewards.current
  }
  putRewards(native, operator, { outstanding, commission: rewards.commission, current: 0n, period: period + 1n })
  return period
}

/** Returns the current rewards for each of the validator's shares, 10^-54 acoin. */
function currentRatio({ current }: ValidatorRewards, { delegatorShares }: Pick<Validator, 'delegatorShares'>): bigint {
  return delegatorShares === 0n ? 0n : (current * RATIO_ONE) / delegatorShares
}

/** Deletes all records of a validator's rewards. */
export function deleteRewards(native: Pick<NativeStore, 'range' | 'delete'>, operator: Address): void {
  native.delete(addressesKey(REWARDS_PREFIX, operator))
  for (const [key] of [...native.range(addressesKey(HISTORICAL_PREFIX, operator))]) native.delete(key)
}

/** @throws Error (a bug) when that period no longer has references */
function getHistorical(native: Pick<NativeStore, 'get'>, operator: Address, period: bigint): HistoricalRewards {
  const value = native.get(periodKey(HISTORICAL_PREFIX, operator, period))
  if (value === undefined) throw new Error(`there are no historical rewards of period ${period}`)
  return decodeHistorical(value)
}

function putHistorical(
  native: Pick<NativeStore, 'set'>,
  operator: Address,
  period: bigint,
  { ratio, references }: HistoricalRewards,
): void {
  native.set(periodKey(HISTORICAL_PREFIX, operator, period), packIntegers(ratio, BigInt(references)))
}

function addReference(native: Pick<NativeStore, 'get' | 'set'>, operator: Address, period: bigint): void {
  const historical = getHistorical(native, operator, period)
  putHistorical(native, operator, period, { ...historical, references: historical.references + 1 })
}

/** Removes a reference, and the record with its last one. @returns the ratio that it had */
function dropReference(native: Pick<NativeStore, 'get' | 'set' | 'delete'>, operator: Address, period: bigint): bigint {
  const historical = getHistorical(native, operator, period)
  if (historical.references <= 1) native.delete(periodKey(HISTORICAL_PREFIX, operator, period))
  else putHistorical(native, operator, period, { ...historical, references: historical.references - 1 })
  return historical.ratio
}

/** Yields the historical rewards of a validator in order of periods. */
export function* historicalOf(
  native: Pick<NativeStore, 'range'>,
  operator: Address,
): IterableIterator<readonly [period: bigint, historical: HistoricalRewards]> {
  const prefix = addressesKey(HISTORICAL_PREFIX, operator)
  for (const [key, value] of native.range(prefix)) {
    yield [bytesToBigInt(key.subarray(prefix.length)), decodeHistorical(value)]
  }
}

function decodeHistorical(value: Uint8Array): HistoricalRewards {
  const [ratio = 0n, references = 0n] = unpackIntegers(value)
  return { ratio, references: Number(references) }
}

// Delegations earn by their shares

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

// Withdrawals

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

/**
 * Executes MsgWithdrawValidatorCommission (x/distribution/keeper/keeper.go): the part below 1 acoin
 * stays.
 * @returns acoin paid
 */
export function withdrawCommission(context: ModuleContext, operator: Address): Outcome<bigint> {
  const { world } = context
  const { native } = world
  const validator = getValidator(native, operator)
  if (validator === undefined) return distributionError('noValidatorCommission')
  const rewards = accrueRewards(context, validator)
  if (rewards.commission === 0n) return distributionError('noValidatorCommission')
  const amount = truncate(rewards.commission)
  const taken = decimalOf(amount)
  putRewards(native, operator, {
    ...rewards,
    commission: rewards.commission - taken,
    outstanding: rewards.outstanding - taken,
  })
  if (amount > 0n) {
    const failure = sendCoins(context, DISTRIBUTION, withdrawAddressOf(native, operator), amount)
    if (failure !== undefined) return failure
  }
  world.emitEvent(event('withdraw_commission', { amount: coinsText(coinsOf(amount)) }))
  return amount
}

/**
 * Returns the account that a delegator's rewards or a validator's commission go to: itself unless
 * it set another one.
 */
export function withdrawAddressOf(native: Pick<NativeStore, 'get'>, delegator: Address): Address {
  return native.get(addressesKey(WITHDRAW_ADDRESS_PREFIX, delegator)) ?? delegator
}

/** Executes MsgSetWithdrawAddress (x/distribution/keeper/keeper.go, SetWithdrawAddr). */
export function setWithdrawAddress(
  { world }: ModuleContext,
  delegator: Address,
  withdrawAddress: Address,
): SdkError | undefined {
  if (isBlockedAddress(withdrawAddress)) {
    return sdkError('unauthorized', `${toBech32(withdrawAddress)} is not allowed to receive external funds`)
  }
  if (!DISTRIBUTION_PARAMS.get(world.native).withdrawAddrEnabled) return distributionError('withdrawAddressDisabled')
  world.emitEvent(event('set_withdraw_address', { withdraw_address: toBech32(withdrawAddress) }))
  world.native.set(addressesKey(WITHDRAW_ADDRESS_PREFIX, delegator), withdrawAddress)
  return undefined
}
