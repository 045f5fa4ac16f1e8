import type { Address } from '../../primitives/address.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import { insufficientFunds } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import {
  afterDelegationModified,
  beforeDelegationCreated,
  beforeDelegationSharesModified,
} from '../distribution/hooks.ts'
import { beforeStakeChanges } from '../gov/votes.ts'
import type { Outcome } from '../sdkError.ts'
import { getDelegation, putDelegation } from './delegations.ts'
import { stakingError } from './errors.ts'
import { moveBetweenPools, poolOf, stakeCoins } from './pools.ts'
import { addTokens, hasInvalidPrice } from './shares.ts'
import { type BondStatus, getValidator, putValidator } from './validators.ts'

export interface AddedStake {
  readonly delegator: Address
  readonly operator: Address
  /** acoin, above 0 */
  readonly amount: bigint
  /** where the coins are: with the delegator, or in the pool of validators with that status */
  readonly from: 'delegator' | BondStatus
}

/**
 * Shares must fit a uint256, in which contracts see them (the SDK's LegacyDec has 315 bits); a price that slashing has driven
 * there is as invalid as none.
 */
const MAX_SHARES: Decimal = 2n ** 256n

/**
 * Buys shares of a validator (x/staking/keeper/delegation.go, Delegate): pays the delegation's rewards, moves the coins, issues
 * the shares.
 * @returns the new shares
 */
export function addDelegation(
  context: ModuleContext,
  { delegator, operator, amount, from }: AddedStake,
): Outcome<Decimal> {
  const { native } = context.world
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  if (hasInvalidPrice(validator)) return stakingError('delegatorShareExRateInvalid')
  const { issued, ...price } = addTokens(validator, amount)
  if (price.delegatorShares >= MAX_SHARES) {
    const balance = context.world.getBalance(delegator)
    const isShort = from === 'delegator' && balance < amount
    return isShort ? insufficientFunds(balance, amount) : stakingError('delegatorShareExRateInvalid')
  }

  beforeStakeChanges(context, delegator)
  const present = getDelegation(native, delegator, operator)
  if (present === undefined) beforeDelegationCreated(context, delegator, operator)
  else {
    const failure = beforeDelegationSharesModified(context, delegator, operator)
    if (failure !== undefined) return failure
  }

  const pool = poolOf(validator.status)
  if (from === 'delegator') {
    const failure = stakeCoins(context, delegator, pool, amount)
    if (failure !== undefined) return failure
  } else {
    moveBetweenPools(context, poolOf(from), pool, amount)
  }

  putValidator(native, { ...validator, ...price })
  putDelegation(native, { delegator, operator, shares: (present?.shares ?? 0n) + issued })
  afterDelegationModified(context, delegator, operator)
  return issued
}
