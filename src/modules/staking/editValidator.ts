import type { Address } from '../../primitives/address.ts'
import { type Decimal, formatDecimal, ONE } from '../../primitives/decimal.ts'
import { event, type ModuleContext } from '../context.ts'
import { beforeCommissionChanged } from '../distribution/hooks.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { checkNewRate, commissionText } from './commission.ts'
import { checkDescription, isEmptyDescription, updateDescription } from './description.ts'
import { stakingError } from './errors.ts'
import { STAKING_PARAMS } from './params.ts'
import type { Description } from './types.ts'
import { getValidator, putValidator } from './validators.ts'

export interface ValidatorEdit {
  readonly operator: Address
  /** parts with {@link DO_NOT_MODIFY} stay */
  readonly description: Description
  /** undefined: stays */
  readonly commissionRate: Decimal | undefined
  /** acoin; undefined: stays */
  readonly minSelfDelegation: bigint | undefined
}

/** What can be said without state (x/staking/keeper/msg_server.go, EditValidator, before it reads any). */
export function checkValidatorEdit({
  description,
  commissionRate,
  minSelfDelegation,
}: Omit<ValidatorEdit, 'operator'>): SdkError | undefined {
  if (isEmptyDescription(description)) return sdkError('invalidRequest', 'empty description')
  if (minSelfDelegation !== undefined && minSelfDelegation <= 0n) {
    return sdkError('invalidRequest', 'minimum self delegation must be a positive integer')
  }
  if (commissionRate !== undefined && (commissionRate < 0n || commissionRate > ONE)) {
    return sdkError('invalidRequest', 'commission rate must be between 0 and 1 (inclusive)')
  }
  return checkDescription(description)
}

/** MsgEditValidator: the minimum of the self-delegation can only rise, the rate changes once a day and within its bounds. */
export function editValidator(context: ModuleContext, edit: ValidatorEdit): SdkError | undefined {
  const { world, block } = context
  const { native } = world
  const { operator, commissionRate, minSelfDelegation } = edit
  const wrong = checkValidatorEdit(edit)
  if (wrong !== undefined) return wrong
  const { minCommissionRate } = STAKING_PARAMS.get(native)
  if (commissionRate !== undefined && commissionRate < minCommissionRate) {
    const minimum = `cannot be less than the min commission rate ${formatDecimal(minCommissionRate)}`
    return sdkError('invalidRequest', `commission rate ${minimum}`)
  }
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  const description = updateDescription(validator.description, edit.description)
  const tooLong = checkDescription(description)
  if (tooLong !== undefined) return tooLong

  let { commission } = validator
  if (commissionRate !== undefined) {
    const refused = checkNewRate(commission, commissionRate, block.timeMs)
    if (refused !== undefined) return refused
    beforeCommissionChanged(context, operator)
    commission = { ...commission, rate: commissionRate, updateTimeMs: block.timeMs }
  }
  if (minSelfDelegation !== undefined) {
    if (minSelfDelegation <= validator.minSelfDelegation) return stakingError('minSelfDelegationDecreased')
    if (minSelfDelegation > validator.tokens) return stakingError('selfDelegationBelowMinimum')
  }
  const edited = {
    ...validator,
    description,
    commission,
    minSelfDelegation: minSelfDelegation ?? validator.minSelfDelegation,
  }
  putValidator(native, edited)
  world.emitEvent(
    event('edit_validator', {
      commission_rate: commissionText(commission),
      min_self_delegation: edited.minSelfDelegation.toString(),
    }),
  )
  return undefined
}
