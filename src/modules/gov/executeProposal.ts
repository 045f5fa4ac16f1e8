import type { AnyValue } from '../../primitives/protoSchema.ts'
import { BASE_DENOM } from '../coin.ts'
import type { ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
import { readNested, validateNested } from '../nestedMessages.ts'
import { recoverPanic } from '../recoverPanic.ts'
import { isSdkError, type SdkError, sdkError } from '../sdkError.ts'
import { depositsHeld } from './deposits.ts'
import { govError } from './errors.ts'

/** Why a passed proposal had no effect. */
export interface ExecutionFailure {
  readonly index: number
  readonly typeUrl: string
  readonly error: SdkError
}

/**
 * Executes the messages of a passed proposal under the authority of governance, all of them or, when one fails, none
 * (EndBlocker of x/gov/abci.go).
 */
export function executeProposal(
  context: ModuleContext,
  messages: MessageTable,
  proposed: readonly AnyValue[],
): ExecutionFailure | undefined {
  context.world.checkpoint()
  for (const [index, message] of proposed.entries()) {
    const error = recoverPanic(() => executeMessage(context, messages, message)) ?? checkDeposits(context)
    if (error === undefined) continue
    context.world.revert()
    return { index, typeUrl: message.typeUrl, error }
  }
  context.world.commit()
  return undefined
}

function executeMessage(context: ModuleContext, messages: MessageTable, message: AnyValue): SdkError | undefined {
  if (!messages.has(message.typeUrl)) return govError('unroutableMessage', message.typeUrl)
  // It decoded and was valid when it was proposed, but a new version may judge differently.
  const nested = readNested(message, messages)
  if (isSdkError(nested)) return nested
  const invalid = validateNested(nested)
  if (invalid !== undefined) return invalid
  const result = nested.handler.run(context, nested.value)
  return isSdkError(result) ? result : undefined
}

/** Governance may send coins of its account, but not those that are deposits. */
function checkDeposits({ world }: ModuleContext): SdkError | undefined {
  const held = depositsHeld(world.native)
  if (world.getBalance(GOVERNANCE) >= held) return undefined
  return sdkError('insufficientFunds', `${held}${BASE_DENOM} of the governance account are deposits`)
}
