import { toBech32 } from '../../primitives/address.ts'
import { event, type ModuleContext } from '../context.ts'
import { NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { isSdkError, type Outcome, sdkError } from '../sdkError.ts'
import type { StakeAmount } from './delegate.ts'
import { stakingError } from './errors.ts'
import { STAKING_PARAMS, unbondingTimeMs } from './params.ts'
import { moveBetweenPools, poolOf } from './pools.ts'
import { removeDelegation, sharesToGiveBack } from './removeDelegation.ts'
import { coinText, operatorText, timeText } from './stakingEvents.ts'
import { addUnbondingEntry, getUnbonding } from './unbonding.ts'
import { getValidator } from './validators.ts'

/** Coins on their way back. */
export interface Undelegated {
  readonly completionTimeMs: number
  readonly creationHeight: number
  /** acoin, unless they are slashed until then; rounding may make it less than was asked for */
  readonly amount: bigint
}

/** MsgUndelegate (x/staking/keeper/msg_server.go and delegation.go, Undelegate). */
export function undelegate(context: ModuleContext, { delegator, operator, amount }: StakeAmount): Outcome<Undelegated> {
  const { world, block } = context
  const { native } = world
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid shares amount')
  const shares = sharesToGiveBack(native, delegator, operator, amount)
  if (isSdkError(shares)) return shares
  const entries = getUnbonding(native, delegator, operator)?.entries.length ?? 0
  if (entries >= STAKING_PARAMS.get(native).maxEntries) return stakingError('maxUnbondingDelegationEntries')

  const { status } = getValidator(native, operator)!
  const paid = removeDelegation(context, delegator, operator, shares)
  if (isSdkError(paid)) return paid
  moveBetweenPools(context, poolOf(status), NOT_BONDED_POOL, paid)

  const completionTimeMs = block.timeMs + unbondingTimeMs(native)
  const creationHeight = block.height
  addUnbondingEntry(native, delegator, operator, { creationHeight, completionTimeMs, balance: paid })
  world.emitEvent(
    event('unbond', {
      validator: operatorText(operator),
      delegator: toBech32(delegator),
      amount: coinText(paid),
      completion_time: timeText(completionTimeMs),
    }),
  )
  return { completionTimeMs, creationHeight, amount: paid }
}
