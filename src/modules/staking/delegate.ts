import { type Address, toBech32 } from '../../primitives/address.ts'
import { type Decimal, formatDecimal } from '../../primitives/decimal.ts'
import { event, type ModuleContext } from '../context.ts'
import { isSdkError, type Outcome, sdkError } from '../sdkError.ts'
import { addDelegation } from './addDelegation.ts'
import { coinText, operatorText } from './stakingEvents.ts'

/** What a delegator wants done with an amount of acoin at a validator. */
export interface StakeAmount {
  readonly delegator: Address
  readonly operator: Address
  /** acoin */
  readonly amount: bigint
}

/** MsgDelegate (x/staking/keeper/msg_server.go). */
export function delegate(context: ModuleContext, stake: StakeAmount): Outcome<{ readonly newShares: Decimal }> {
  const { delegator, operator, amount } = stake
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid delegation amount')
  const newShares = addDelegation(context, { ...stake, from: 'delegator' })
  if (isSdkError(newShares)) return newShares
  context.world.emitEvent(
    event('delegate', {
      validator: operatorText(operator),
      delegator: toBech32(delegator),
      amount: coinText(amount),
      new_shares: formatDecimal(newShares),
    }),
  )
  return { newShares }
}
