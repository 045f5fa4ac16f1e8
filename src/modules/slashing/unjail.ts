import type { Address } from '../../primitives/address.ts'
import { truncate } from '../../primitives/decimal.ts'
import type { ModuleContext } from '../context.ts'
import type { SdkError } from '../sdkError.ts'
import { getDelegation } from '../staking/delegations.ts'
import { stakingError } from '../staking/errors.ts'
import { unjail } from '../staking/jail.ts'
import { tokensFromShares } from '../staking/shares.ts'
import { consensusAddressOf, getValidator } from '../staking/validators.ts'
import { slashingError } from './errors.ts'
import { getSigningRecord } from './signingInfo.ts'

/**
 * MsgUnjail (x/slashing/keeper/unjail.go): a jailed validator may be bonded again once its time is over, unless it signed
 * twice. One that was never bonded was jailed for too small a self-delegation alone.
 */
export function unjailValidator(context: ModuleContext, operator: Address): SdkError | undefined {
  const { native } = context.world
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  const own = getDelegation(native, operator, operator)
  if (own === undefined) return stakingError('noDelegation')
  const tokens = truncate(tokensFromShares(validator, own.shares))
  if (tokens < validator.minSelfDelegation) {
    return slashingError('selfDelegationTooLow', `${tokens} less than ${validator.minSelfDelegation}`)
  }
  if (!validator.jailed) return slashingError('validatorNotJailed')
  const consensusAddress = consensusAddressOf(validator)
  const record = getSigningRecord(native, consensusAddress)
  if (record?.tombstoned === true) return slashingError('validatorJailed')
  if (record !== undefined && BigInt(context.block.timeMs) * 1_000_000n < record.jailedUntil) {
    return slashingError('validatorJailed')
  }
  unjail(context, consensusAddress)
  return undefined
}
