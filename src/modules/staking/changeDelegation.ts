import type { Address } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, formatDecimal, truncate } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { insufficientFunds } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import {
  afterDelegationModified,
  afterValidatorRemoved,
  beforeDelegationCreated,
  beforeDelegationSharesModified,
} from '../distribution/hooks.ts'
import { beforeStakeChanges } from '../gov/tally.ts'
import { type Outcome, sdkError } from '../sdkError.ts'
import { deleteDelegation, getDelegation, putDelegation } from './delegations.ts'
import { stakingError } from './errors.ts'
import { cancelRotation } from './keyRotation.ts'
import { moveBetweenPools, poolOf, stakeCoins } from './pools.ts'
import { addTokens, hasInvalidPrice, removeShares, sharesFromTokens, tokensFromShares } from './shares.ts'
import {
  type BondStatus,
  consensusAddressOf,
  deleteValidator,
  getValidator,
  putValidator,
  type Validator,
} from './validators.ts'

/*
 * The two operations that change a delegation: buying shares of a validator and returning them. All
 * messages of delegators, the creation of validators and slashes of redelegated stake consist of
 * these.
 */

interface AddedStake {
  readonly delegator: Address
  readonly operator: Address
  /** acoin, above 0 */
  readonly amount: bigint
  /** where the coins are now: with the delegator, or in the pool of validators with that status */
  readonly from: 'delegator' | BondStatus
}

/**
 * Shares must fit a uint256, since contracts see them as such (the SDK's LegacyDec has 315 bits). When slashing made shares so cheap
 * that a delegation would exceed that, the price counts as invalid, as if all tokens were slashed.
 */
const MAX_SHARES: Decimal = 2n ** 256n

/**
 * Buys shares of a validator (x/staking/keeper/delegation.go, Delegate).
 * 1. Governance notes the delegation's shares for a tally that is under way, which counts the
 *    shares at its start.
 * 2. Distribution pays the delegation's rewards, which the old shares earned, or ends the period for a new delegation.
 * 3. The coins move, which is the last step that can fail.
 * 4. The shares are issued, in both records.
 * 5. The delegation begins to earn, with the new shares.
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

  beforeStakeChanges(context, delegator, operator) // 1
  const present = getDelegation(native, delegator, operator)
  // 2
  if (present === undefined) beforeDelegationCreated(context, delegator, operator)
  else {
    const failure = beforeDelegationSharesModified(context, delegator, operator)
    if (failure !== undefined) return failure
  }

  const pool = poolOf(validator.status) // 3
  if (from === 'delegator') {
    const failure = stakeCoins(context, delegator, pool, amount)
    if (failure !== undefined) return failure
  } else {
    moveBetweenPools(context, poolOf(from), pool, amount)
  }

  putValidator(native, { ...validator, ...price }) // 4
  putDelegation(native, { delegator, operator, shares: (present?.shares ?? 0n) + issued })
  afterDelegationModified(context, delegator, operator) // 5
  return issued
}

/**
 * Returns the shares that a delegator must return for `amount` acoin, truncated
 * (x/staking/keeper/delegation.go, ValidateUnbondAmount). They may be worth 1 acoin less.
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
 * Removes shares (x/staking/keeper/delegation.go, Unbond). The coins stay in the pool of the
 * validator's status for the caller to move.
 * 1. Governance notes the delegation's shares for a tally that is under way, which counts the
 *    shares at its start.
 * 2. Distribution pays the delegation's rewards, which the old shares earned.
 * 3. A validator whose operator retains less than its minimum self-delegation is jailed, at the
 *    price before the shares are removed.
 * 4. The delegation gets its new shares, and the remaining ones begin to earn.
 * 5. The validator loses the shares and their worth in tokens.
 * 6. An unbonded validator without delegations is removed; its record must have the result of step 5.
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
  beforeStakeChanges(context, delegator, operator) // 1
  const failure = beforeDelegationSharesModified(context, delegator, operator) // 2
  if (failure !== undefined) return failure
  if (delegation.shares < shares) return stakingError('notEnoughDelegationShares', formatDecimal(delegation.shares))
  let validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')

  const left = delegation.shares - shares // 3
  if (equalBytes(delegator, operator) && !validator.jailed) {
    const jailed = truncate(tokensFromShares(validator, left)) < validator.minSelfDelegation
    validator = { ...validator, jailed }
    if (jailed) putValidator(native, validator)
  }

  // 4
  if (left === 0n) {
    deleteDelegation(native, delegator, operator)
  } else {
    putDelegation(native, { delegator, operator, shares: left })
    afterDelegationModified(context, delegator, operator)
  }

  const { paid, ...price } = removeShares(validator, shares) // 5
  validator = { ...validator, ...price }
  putValidator(native, validator)
  if (validator.delegatorShares === 0n && validator.status === 'unbonded') removeValidator(context, validator) // 6
  return paid
}

/**
 * Deletes the record of a validator without delegations (x/staking/keeper/validator.go, RemoveValidator). Its operator may create another
 * one, and its consensus key may be used again.
 * @throws Error (a bug) when it is not unbonded or holds anything
 */
export function removeValidator(context: ModuleContext, validator: Validator): void {
  const { operator, status, tokens, delegatorShares } = validator
  if (status !== 'unbonded' || tokens > 0n || delegatorShares > 0n) {
    throw new Error('a validator that is bonded or holds stake cannot be removed')
  }
  deleteValidator(context.world.native, validator)
  cancelRotation(context.world.native, operator)
  afterValidatorRemoved(context, operator, consensusAddressOf(validator))
}
