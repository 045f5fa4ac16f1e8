import type { Address } from '../../primitives/address.ts'
import { type Decimal, decimalOf, truncate } from '../../primitives/decimal.ts'
import { sendCoins } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import { isSdkError, type SdkError } from '../sdkError.ts'
import { getDelegation } from '../staking/delegations.ts'
import { getValidator, type Validator } from '../staking/validators.ts'
import { payDelegation, startEarning } from './delegationRewards.ts'
import { addToCommunityPool } from './feePool.ts'
import { beginFirstPeriod, deleteRewards, endPeriod } from './periods.ts'
import { forfeitRewardShare } from './rewardShares.ts'
import { accrueRewards, getRewards } from './rewards.ts'
import { deleteSlashEvents, putSlashEvent } from './slashEvents.ts'
import { withdrawAddressOf } from './withdrawAddress.ts'

/*
 * Hooks that staking calls, at the same points as in the SDK (x/distribution/keeper/hooks.go). In all of them but the last one the
 * validator's record exists; in a `before…` hook it is as it was before the change.
 */

export function afterValidatorCreated(context: ModuleContext, operator: Address): void {
  beginFirstPeriod(context, operator)
}

/**
 * Called before a first delegation of `delegator` to `operator`; `afterDelegationModified` must
 * follow.
 */
export function beforeDelegationCreated(context: ModuleContext, _delegator: Address, operator: Address): void {
  endPeriod(context, validatorOf(context, operator))
}

/**
 * Called before the shares of a delegation change or vanish: pays its rewards. Unless it vanishes,
 * `afterDelegationModified` must follow.
 * @returns why the payment is impossible, if it is
 */
export function beforeDelegationSharesModified(
  context: ModuleContext,
  delegator: Address,
  operator: Address,
): SdkError | undefined {
  const delegation = getDelegation(context.world.native, delegator, operator)
  if (delegation === undefined) throw new Error('there is no delegation to change')
  const paid = payDelegation(context, validatorOf(context, operator), delegator, delegation.shares)
  return isSdkError(paid) ? paid : undefined
}

/**
 * Called after the delegation has its new shares. The validator must have its own new shares before
 * the next `before…` hook.
 */
export function afterDelegationModified(context: ModuleContext, delegator: Address, operator: Address): void {
  startEarning(context, operator, delegator)
}

/**
 * Called before a validator's commission rate changes: rewards until now accrue under the old one.
 */
export function beforeCommissionChanged(context: ModuleContext, operator: Address): void {
  accrueRewards(context, validatorOf(context, operator))
}

/**
 * Called before a validator's tokens are burnt. Its delegators' parts of its rewards stay the same,
 * since their shares do.
 * @param fraction of its tokens, above 0 and at most 1, rounded up
 */
export function beforeValidatorSlashed(context: ModuleContext, operator: Address, fraction: Decimal): void {
  const { native } = context.world
  const period = endPeriod(context, validatorOf(context, operator))
  putSlashEvent(native, operator, { period, height: context.block.height, fraction })
}

/**
 * Called after a validator without delegations was removed: pays its commission and deletes all its
 * records. Remaining outstanding rewards, and its earnings since the last accrual, go to the
 * community pool.
 */
export function afterValidatorRemoved(context: ModuleContext, operator: Address, consensusAddress: Uint8Array): void {
  const { native } = context.world
  const rewards = getRewards(native, operator)
  if (rewards === undefined) throw new Error('the removed validator has no record of rewards')
  const amount = truncate(rewards.commission)
  if (amount > 0n) {
    const failure = sendCoins(context, DISTRIBUTION, withdrawAddressOf(native, operator), amount)
    if (failure !== undefined) throw new Error(`the distribution module cannot pay: ${failure.message}`)
  }
  addToCommunityPool(native, rewards.outstanding - decimalOf(amount))
  forfeitRewardShare(context, consensusAddress)
  deleteRewards(native, operator)
  deleteSlashEvents(native, operator)
}

function validatorOf({ world: { native } }: ModuleContext, operator: Address): Validator {
  const validator = getValidator(native, operator)
  if (validator === undefined) throw new Error('there is no such validator')
  return validator
}
