import { type Address, toBech32 } from '../../primitives/address.ts'
import type { ModuleContext } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { emitCoinReceived, emitCoinSpent, emitMessageSender, emitTransfer } from './bankEvents.ts'
import { isBlockedAddress } from './blockedAddresses.ts'
import { insufficientFunds, transferError } from './send.ts'
import { transfer } from './transfer.ts'

/** A receiver of a multi-send. */
export interface Payment {
  readonly to: Address
  /** acoin */
  readonly amount: bigint
}

/**
 * Pays several receivers from one account, with the events of InputOutputCoins (x/bank/keeper/send.go). An error leaves effects
 * for the caller to undo.
 * @param totalAcoin the sum of all payments
 */
export function multiSend(
  { world }: ModuleContext,
  from: Address,
  totalAcoin: bigint,
  payments: readonly Payment[],
): SdkError | undefined {
  const blocked = payments.find(({ to }) => isBlockedAddress(to))
  if (blocked !== undefined) return sdkError('unauthorized', `${toBech32(blocked.to)} is not allowed to receive funds`)
  const balance = world.getBalance(from)
  if (balance < totalAcoin) return insufficientFunds(balance, totalAcoin)
  emitCoinSpent(world, from, totalAcoin)
  emitMessageSender(world, from)
  for (const { to, amount } of payments) {
    const moved = transfer(world, from, to, amount)
    if (!moved.ok) return transferError(moved, amount)
    emitCoinReceived(world, to, amount)
    emitTransfer(world, from, to, amount)
  }
  return undefined
}
