import { type Address, toBech32 } from '../../primitives/address.ts'
import type { NativeStore } from '../../state/world.ts'
import { isBlockedAddress } from '../bank/send.ts'
import { event, type ModuleContext } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { addressesKey } from '../storeKey.ts'
import { distributionError } from './errors.ts'
import { WITHDRAW_ADDRESS_PREFIX } from './keys.ts'
import { DISTRIBUTION_PARAMS } from './params.ts'

/**
 * Returns the account that a delegator's rewards or a validator's commission go to: itself unless
 * it set another one.
 */
export function withdrawAddressOf(native: Pick<NativeStore, 'get'>, delegator: Address): Address {
  return native.get(addressesKey(WITHDRAW_ADDRESS_PREFIX, delegator)) ?? delegator
}

/** Executes MsgSetWithdrawAddress (x/distribution/keeper/keeper.go, SetWithdrawAddr). */
export function setWithdrawAddress(
  { world }: ModuleContext,
  delegator: Address,
  withdrawAddress: Address,
): SdkError | undefined {
  if (isBlockedAddress(withdrawAddress)) {
    return sdkError('unauthorized', `${toBech32(withdrawAddress)} is not allowed to receive external funds`)
  }
  if (!DISTRIBUTION_PARAMS.get(world.native).withdrawAddrEnabled) return distributionError('withdrawAddressDisabled')
  world.emitEvent(event('set_withdraw_address', { withdraw_address: toBech32(withdrawAddress) }))
  world.native.set(addressesKey(WITHDRAW_ADDRESS_PREFIX, delegator), withdrawAddress)
  return undefined
}
