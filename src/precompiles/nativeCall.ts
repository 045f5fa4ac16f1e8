import type { ModuleContext } from '../modules/context.ts'
import { MESSAGES } from '../modules/messages.ts'
import { isSdkError, SdkError, sdkError } from '../modules/sdkError.ts'
import { validateMessage } from '../modules/tx/decodedTransaction.ts'
import { type Address, AddressError, BECH32_OPERATOR, parseAddress, toChecksumAddress } from '../primitives/address.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { MessageType } from '../primitives/protoSchema.ts'
import { type FunctionContext, type FunctionFailure, OUT_OF_GAS, type Revert, revertWith } from './dispatch.ts'

/** What every function that changes the native state costs beside its message: arguments, checks, an event. */
export const WRITE_GAS = 5_000n

/** What a module sees of a call. */
export function moduleContext({ world, block }: Pick<FunctionContext, 'world' | 'block'>): ModuleContext {
  return { world, block: { height: block.number, timeMs: block.timeMs } }
}

/**
 * Does what a native transaction with this message would do: the same checks and the same gas, taken before the work. The
 * engine undoes the effects when the call fails.
 */
export function runMessage<T, R>(
  context: FunctionContext,
  type: MessageType<T>,
  response: MessageType<R>,
  message: T,
): R | FunctionFailure {
  const handler = MESSAGES.get(type.typeUrl)
  if (handler === undefined) throw new Error(`no module handles ${type.typeUrl}`)
  const problem = validateMessage(handler, message)
  if (problem !== undefined) return problem
  if (!context.charge(handler.gas(message))) return OUT_OF_GAS
  const answer = handler.run(moduleContext(context), message)
  return isSdkError(answer) ? answer : response.decode(answer)
}

/** A failure with cosmos/evm's text when somebody acts for somebody else. */
export function requireCaller({ caller }: Pick<FunctionContext, 'caller'>, subject: Address): Revert | undefined {
  if (equalBytes(caller, subject)) return undefined
  return revertWith(
    `msg.sender address ${toChecksumAddress(caller)} does not match the requester address ${toChecksumAddress(subject)}`,
  )
}

/** A failure for the address 0, which nobody has: cosmos/evm's text `invalid`, and the address. */
export function refuseZero(account: Address, invalid: string): Revert | undefined {
  return account.every((byte) => byte === 0) ? revertWith(`${invalid} ${toChecksumAddress(account)}`) : undefined
}

/** Reads the validator's address that a query is about, `coinvaloper1…` or `0x…`. */
export function readOperator(text: string): Address | SdkError {
  return parseOperator(text, (problem) => queryError('InvalidArgument', problem))
}

/** Reads that of a message, and says what the message itself would. */
export function readMessageOperator(text: string): Address | SdkError {
  return parseOperator(text, (problem) => sdkError('invalidAddress', problem))
}

function parseOperator(text: string, toError: (problem: string) => SdkError): Address | SdkError {
  try {
    return parseAddress(text, BECH32_OPERATOR)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    return toError(error.message)
  }
}

/** gRPC's codes that queries of modules fail with, and their texts as the reference's contracts see them. */
export function queryError(code: 'InvalidArgument' | 'NotFound', text: string): SdkError {
  return new SdkError('sdk', code === 'NotFound' ? 38 : 18, `rpc error: code = ${code} desc = ${text}`)
}
