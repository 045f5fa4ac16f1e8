import { ProtobufError } from '../../primitives/protobuf.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { BASE_DENOM } from '../bank/supply.ts'
import type { ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
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
    const error = executeMessage(context, messages, message) ?? checkDeposits(context)
    if (error === undefined) continue
    context.world.revert()
    return { index, typeUrl: message.typeUrl, error }
  }
  context.world.commit()
  return undefined
}

function executeMessage(
  context: ModuleContext,
  messages: MessageTable,
  { typeUrl, value }: AnyValue,
): SdkError | undefined {
  const handler = messages.get(typeUrl)
  if (handler === undefined) return govError('unroutableMessage', typeUrl)
  let decoded: unknown
  try {
    decoded = handler.type.decode(value)
  } catch (error) {
    // It was decoded when it was proposed, but a new version may have changed the type.
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('unpackAny', typeUrl)
  }
  const result = handler.run(context, decoded)
  return isSdkError(result) ? result : undefined
}

/** Governance may send coins of its account, but not those that are deposits. */
function checkDeposits({ world }: ModuleContext): SdkError | undefined {
  const held = depositsHeld(world.native)
  if (world.getBalance(GOVERNANCE) >= held) return undefined
  return sdkError('insufficientFunds', `${held}${BASE_DENOM} of the governance account are deposits`)
}
