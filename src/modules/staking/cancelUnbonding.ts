import { toBech32 } from '../../primitives/address.ts'
import { event, type ModuleContext } from '../context.ts'
import { isSdkError, type SdkError, sdkError } from '../sdkError.ts'
import { addDelegation } from './addDelegation.ts'
import type { StakeAmount } from './delegate.ts'
import { stakingError } from './errors.ts'
import { hasInvalidPrice } from './shares.ts'
import { coinText, operatorText } from './stakingEvents.ts'
import { getUnbonding, putUnbonding } from './unbonding.ts'
import { getValidator } from './validators.ts'

/**
 * MsgCancelUnbondingDelegation (x/staking/keeper/msg_server.go): delegates coins that are on their way back to the same validator
 * again.
 */
export function cancelUnbonding(
  context: ModuleContext,
  { delegator, operator, amount, creationHeight }: StakeAmount & { readonly creationHeight: number },
): SdkError | undefined {
  const { world, block } = context
  const { native } = world
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid amount')
  if (creationHeight <= 0) return sdkError('invalidRequest', 'invalid height')
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  if (hasInvalidPrice(validator)) return stakingError('delegatorShareExRateInvalid')
  if (validator.jailed) return stakingError('validatorJailed')
  const unbonding = getUnbonding(native, delegator, operator)
  if (unbonding === undefined) {
    const where = `delegator ${toBech32(delegator)} not found for validator ${operatorText(operator)}`
    return sdkError('notFound', `unbonding delegation with ${where}`)
  }
  const { entries } = unbonding
  const found = entries.find((entry) => entry.creationHeight === creationHeight)
  if (found === undefined) {
    return sdkError('notFound', `unbonding delegation entry is not found at block height ${creationHeight}`)
  }
  if (found.balance < amount) {
    return sdkError('invalidRequest', 'amount is greater than the unbonding delegation entry balance')
  }
  // It is paid out at the end of this block.
  if (found.completionTimeMs < block.timeMs) {
    return sdkError('invalidRequest', 'unbonding delegation is already processed')
  }

  const added = addDelegation(context, { delegator, operator, amount, from: 'unbonding' })
  if (isSdkError(added)) return added
  const left = { ...found, balance: found.balance - amount, initialBalance: found.initialBalance - amount }
  const rest = entries.flatMap((entry) => (entry !== found ? [entry] : left.balance === 0n ? [] : [left]))
  putUnbonding(native, { delegator, operator, entries: rest })
  world.emitEvent(
    event('cancel_unbonding_delegation', {
      amount: coinText(amount),
      validator: operatorText(operator),
      delegator: toBech32(delegator),
      creation_height: creationHeight.toString(),
    }),
  )
  return undefined
}
