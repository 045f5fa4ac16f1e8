import type { Address } from '../../primitives/address.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import type { ReadContext } from '../context.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { delegationsOf } from '../staking/delegations.ts'
import { getValidator } from '../staking/validators.ts'
import { accruedRewards } from './accrueRewards.ts'
import { delegationRewards } from './delegationRewards.ts'
import { distributionError } from './errors.ts'
import { type SlashEvent, slashEventsFrom } from './slashEvents.ts'

/** What a validator and its delegators may still withdraw, in acoin. */
export function outstandingRewards(context: ReadContext, operator: Address): Outcome<Decimal> {
  const validator = getValidator(context.world.native, operator)
  return validator === undefined ? distributionError('noValidator') : accruedRewards(context, validator).outstanding
}

/** A validator's own part of that. */
export function commissionOf(context: ReadContext, operator: Address): Outcome<Decimal> {
  const validator = getValidator(context.world.native, operator)
  return validator === undefined ? distributionError('noValidator') : accruedRewards(context, validator).commission
}

/** A validator's slashes at heights from `startHeight` to `endHeight`, in order. */
export function slashEvents(
  { world: { native } }: ReadContext,
  operator: Address,
  startHeight: number,
  endHeight: number,
): readonly SlashEvent[] {
  const events = [...slashEventsFrom(native, operator, 0n)]
  return events.filter(({ height }) => height >= startHeight && height <= endHeight)
}

/** What all delegations of a delegator could withdraw, in order of operators. */
export function totalRewards(
  context: ReadContext,
  delegator: Address,
): readonly { readonly operator: Address; readonly rewards: Decimal }[] {
  return [...delegationsOf(context.world.native, delegator)].map(({ operator }) => {
    const rewards = delegationRewards(context, delegator, operator)
    if (isSdkError(rewards)) throw new Error(`a delegation without rewards: ${rewards.message}`)
    return { operator, rewards }
  })
}
