import { type Address, toBech32 } from '../../primitives/address.ts'
import { decimalOf } from '../../primitives/decimal.ts'
import { isBlockedAddress, sendCoins } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { distributionError } from './errors.ts'
import { addToCommunityPool, communityPool } from './feePool.ts'

/** MsgFundCommunityPool: gives the community `amount` acoin. */
export function fundCommunityPool(context: ModuleContext, from: Address, amount: bigint): SdkError | undefined {
  const failure = sendCoins(context, from, DISTRIBUTION, amount)
  if (failure !== undefined) return failure
  addToCommunityPool(context.world.native, decimalOf(amount))
  return undefined
}

/** MsgCommunityPoolSpend, when governance has said so: pays `amount` acoin of the community's to `to`. */
export function communityPoolSpend(context: ModuleContext, to: Address, amount: bigint): SdkError | undefined {
  if (isBlockedAddress(to)) {
    return sdkError('unauthorized', `${toBech32(to)} is not allowed to receive external funds`)
  }
  const { native } = context.world
  if (communityPool(native) < decimalOf(amount)) return distributionError('badDistribution')
  addToCommunityPool(native, -decimalOf(amount))
  return sendCoins(context, DISTRIBUTION, to, amount)
}
