import { toBech32 } from '../../primitives/address.ts'
import { sendCoins } from '../bank/send.ts'
import { coinsOf, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { useFeeAllowance } from '../feegrant/grants.ts'
import { FEE_COLLECTOR } from '../moduleAccounts.ts'
import { recoverPanic } from '../recoverPanic.ts'
import type { SdkError } from '../sdkError.ts'
import type { NativeTransaction } from './nativeTransaction.ts'

/**
 * Takes the fee to the fee collector, from the fee payer or from who grants an allowance, which is used up by it
 * (x/auth/ante/fee.go). An error leaves effects for the caller to undo.
 */
export function chargeFee(
  context: ModuleContext,
  { feePayer, feeGranter, messages }: Pick<NativeTransaction, 'feePayer' | 'feeGranter' | 'messages'>,
  feeAcoin: bigint,
): SdkError | undefined {
  if (feeGranter !== undefined) {
    const typeUrls = messages.map(({ handler }) => handler.type.typeUrl)
    const use = { granter: feeGranter, grantee: feePayer, feeAcoin, typeUrls }
    const error = recoverPanic(() => useFeeAllowance(context, use))
    if (error !== undefined) return error
  }
  const payer = feeGranter ?? feePayer
  if (feeAcoin > 0n) {
    const error = sendCoins(context, payer, FEE_COLLECTOR, feeAcoin)
    if (error !== undefined) return error
  }
  context.world.emitEvent(event('tx', { fee: coinsText(coinsOf(feeAcoin)), fee_payer: toBech32(payer) }))
  return undefined
}
