import { type Address, toBech32 } from '../../primitives/address.ts'
import type { ModuleContext } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { emitCoinReceived, emitCoinSpent, emitMessageSender, emitTransfer } from './bankEvents.ts'
import { isBlockedAddress } from './blockedAddresses.ts'
import { BASE_DENOM } from './supply.ts'
import { transfer } from './transfer.ts'

type SendContext = {
  readonly world: Pick<ModuleContext['world'], 'getBalance' | 'addBalance' | 'subBalance' | 'emitEvent'>
}

/**
 * Moves coins between any two accounts and emits the events of SendCoins (x/bank/keeper/send.go). Modules send with it:
 * whether `to` may receive is not asked.
 */
export function sendCoins(
  { world }: SendContext,
  from: Address,
  to: Address,
  amountAcoin: bigint,
): SdkError | undefined {
  const moved = transfer(world, from, to, amountAcoin)
  if (!moved.ok) return transferError(moved, amountAcoin)
  emitCoinSpent(world, from, amountAcoin)
  emitCoinReceived(world, to, amountAcoin)
  emitTransfer(world, from, to, amountAcoin)
  emitMessageSender(world, from)
  return undefined
}

/** The same for a user: accounts of modules and precompiles may not receive (sdk/4). */
export function sendToAccount(
  context: SendContext,
  from: Address,
  to: Address,
  amountAcoin: bigint,
): SdkError | undefined {
  if (isBlockedAddress(to)) return sdkError('unauthorized', `${toBech32(to)} is not allowed to receive funds`)
  return sendCoins(context, from, to, amountAcoin)
}

/** Why a transfer was not made, in the SDK's words. */
export function transferError(
  failure: Extract<ReturnType<typeof transfer>, { readonly ok: false }>,
  amountAcoin: bigint,
): SdkError {
  if (failure.reason === 'overflow') return sdkError('invalidCoins', 'the receiver would have more than 256 bits')
  return insufficientFunds(failure.balance, amountAcoin)
}

export function insufficientFunds(balance: bigint, amountAcoin: bigint): SdkError {
  return sdkError(
    'insufficientFunds',
    `spendable balance ${balance}${BASE_DENOM} is smaller than ${amountAcoin}${BASE_DENOM}`,
  )
}
