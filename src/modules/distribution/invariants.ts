import { bytesKey } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, formatDecimal } from '../../primitives/decimal.ts'
import type { ReadContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import { isSdkError } from '../sdkError.ts'
import { delegationsTo } from '../staking/delegations.ts'
import { getValidatorByConsensus, type Validator, validators } from '../staking/validators.ts'
import { delegationRewards, startingInfosOf } from './delegationRewards.ts'
import { getFeePool } from './feePool.ts'
import { historicalOf } from './periods.ts'
import { earnedBy, rewardShares } from './rewardShares.ts'
import { accruedRewards, allRewards } from './rewards.ts'

/**
 * Checks the invariants of rewards (x/distribution/keeper/invariants.go) over the whole state.
 * @returns those that are broken
 */
export function distributionInvariants(context: ReadContext): readonly string[] {
  const problems = [...moduleAccount(context)]
  let count = 0
  for (const validator of validators(context.world.native)) {
    count++
    problems.push(...canWithdraw(context, validator), ...references(context, validator))
  }
  const records = [...allRewards(context.world.native)].length
  if (records !== count) problems.push(`${records} records of rewards for ${count} validators`)
  return problems
}

/** Checks that the module's account holds all that the module owes. */
function* moduleAccount(context: ReadContext): Iterable<string> {
  const { world } = context
  const { communityPool, accumulator } = getFeePool(world.native)
  if (communityPool < 0n) yield `the community pool is ${formatDecimal(communityPool)}`
  let owed = communityPool
  for (const validator of validators(world.native)) owed += accruedRewards(context, validator).outstanding
  for (const [address, share] of rewardShares(world.native)) {
    if (getValidatorByConsensus(world.native, address) === undefined) owed += earnedBy(share, accumulator)
  }
  const balance = decimalOf(world.getBalance(DISTRIBUTION))
  if (balance < owed) yield `the distribution module has ${formatDecimal(balance)} and owes ${formatDecimal(owed)}`
}

/**
 * Checks that the outstanding rewards are enough for the validator and all of its delegators
 * together.
 */
function* canWithdraw(context: ReadContext, validator: Validator): Iterable<string> {
  const { operator } = validator
  const name = Buffer.from(operator).toString('hex')
  const { outstanding, commission, current } = accruedRewards(context, validator)
  if (commission < 0n || current < 0n) yield `${name} has negative rewards`
  let claimed: Decimal = commission
  for (const { delegator } of delegationsTo(context.world.native, operator)) {
    const rewards = delegationRewards(context, delegator, operator)
    if (isSdkError(rewards)) {
      yield `${name} has a delegation without a starting info`
      continue
    }
    if (rewards < 0n) yield `${name} has a delegation with negative rewards`
    claimed += rewards
  }
  if (claimed > outstanding) {
    yield `${name} has outstanding rewards of ${formatDecimal(outstanding)} but owes ${formatDecimal(claimed)}`
  }
}

/**
 * Checks that there are historical rewards exactly for the referenced periods, with the right
 * number of references.
 */
function* references(context: ReadContext, validator: Validator): Iterable<string> {
  const { native } = context.world
  const { operator } = validator
  const name = Buffer.from(operator).toString('hex')
  const expected = new Map<bigint, number>()
  const add = (period: bigint) => expected.set(period, (expected.get(period) ?? 0) + 1)
  add(accruedRewards(context, validator).period - 1n)
  const delegators = new Set<string>()
  for (const { delegator } of delegationsTo(native, operator)) delegators.add(bytesKey(delegator))
  for (const [delegator, { previousPeriod }] of startingInfosOf(native, operator)) {
    add(previousPeriod)
    if (!delegators.delete(bytesKey(delegator))) yield `${name} has a starting info without a delegation`
  }
  if (delegators.size > 0) yield `${name} has ${delegators.size} delegations without a starting info`

  let before = 0n
  for (const [period, { ratio, references: count }] of historicalOf(native, operator)) {
    if (count !== (expected.get(period) ?? 0)) yield `${name}: ${count} references to period ${period}`
    if (ratio < before) yield `${name}: the ratio falls in period ${period}`
    before = ratio
    expected.delete(period)
  }
  if (expected.size > 0) yield `${name} lacks historical rewards of ${[...expected.keys()].join(', ')}`
}
