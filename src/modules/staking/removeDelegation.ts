import type { Address } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, formatDecimal, truncate } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { afterDelegationModified, beforeDelegationSharesModified } from '../distribution/hooks.ts'
import { beforeStakeChanges } from '../gov/votes.ts'
import { type Outcome, sdkError } from '../sdkError.ts'
import { deleteDelegation, getDelegation, putDelegation } from './delegations.ts'
import { stakingError } from './errors.ts'
import { removeValidator } from './removeValidator.ts'
import { removeShares, sharesFromTokens, tokensFromShares } from './shares.ts'
import { getValidator, putValidator } from './validators.ts'

/**
 * Shares that have to be given back for `amount` acoin, truncated (x/staking/keeper/delegation.go, ValidateUnbondAmount). They may
 * be worth 1 acoin less.
 */
export function sharesToGiveBack(
  native: Pick<NativeStore, 'get'>,
  delegator: Address,
  operator: Address,
  amount: bigint,
): Outcome<Decimal> {
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  const delegation = getDelegation(native, delegator, operator)
  if (delegation === undefined) return stakingError('noDelegation')
  const shares = sharesFromTokens(validator, amount)
  if (shares === undefined) return stakingError('insufficientShares')
  return shares > delegation.shares ? sdkError('invalidRequest', 'invalid shares amount') : shares
}

/**
 * Gives shares back (x/staking/keeper/delegation.go, Unbond): pays the delegation's rewards, jails a validator whose operator keeps
 * less than it promised, and removes an unbonded one that nobody is left with. The coins stay in the pool of the validator's
 * status for the caller to move.
 * @returns acoin that the shares were worth
 */
export function removeDelegation(
  context: ModuleContext,
  delegator: Address,
  operator: Address,
  shares: Decimal,
): Outcome<bigint> {
  const { native } = context.world
  const delegation = getDelegation(native, delegator, operator)
  if (delegation === undefined) return stakingError('noDelegation')
  beforeStakeChanges(context, delegator)
  const failure = beforeDelegationSharesModified(context, delegator, operator)
  if (failure !== undefined) return failure
  if (delegation.shares < shares) return stakingError('notEnoughDelegationShares', formatDecimal(delegation.shares))
  let validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')

  const left = delegation.shares - shares
  if (equalBytes(delegator, operator) && !validator.jailed) {
    const jailed = truncate(tokensFromShares(validator, left)) < validator.minSelfDelegation
    validator = { ...validator, jailed }
    if (jailed) putValidator(native, validator)
  }

  if (left === 0n) {
    deleteDelegation(native, delegator, operator)
  } else {
    putDelegation(native, { delegator, operator, shares: left })
    afterDelegationModified(context, delegator, operator)
  }

  const { paid, ...price } = removeShares(validator, shares)
  validator = { ...validator, ...price }
  putValidator(native, validator)
  if (validator.delegatorShares === 0n && validator.status === 'unbonded') removeValidator(context, validator)
  return paid
}
