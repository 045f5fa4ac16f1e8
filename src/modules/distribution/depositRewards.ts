import type { Address } from '../../primitives/address.ts'
import { decimalOf } from '../../primitives/decimal.ts'
import { sendCoins } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import type { SdkError } from '../sdkError.ts'
import { stakingError } from '../staking/errors.ts'
import { getValidator } from '../staking/validators.ts'
import { receive } from './accrueRewards.ts'

/** MsgDepositValidatorRewardsPool: `amount` acoin become income of a validator, as if they were its share of fees. */
export function depositValidatorRewards(
  context: ModuleContext,
  from: Address,
  operator: Address,
  amount: bigint,
): SdkError | undefined {
  const failure = sendCoins(context, from, DISTRIBUTION, amount)
  if (failure !== undefined) return failure
  const validator = getValidator(context.world.native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  receive(context, validator, decimalOf(amount))
  return undefined
}
