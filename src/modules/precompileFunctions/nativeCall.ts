import {
  type Address,
  AddressError,
  BECH32_OPERATOR,
  parseAddress,
  toChecksumAddress,
} from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { MessageType } from '../../primitives/protoSchema.ts'
import type { ModuleContext } from '../context.ts'
import { MESSAGES } from '../messageTable.ts'
import { isSdkError, SdkError, sdkError } from '../sdkError.ts'
import { validateMessage } from '../tx/transactionDecoder.ts'
import type { AbiFields, AbiValues } from './abi/types.ts'
import {
  defineFunction,
  type FunctionContext,
  type FunctionFailure,
  isFailure,
  OUT_OF_GAS,
  type PrecompileFunction,
  type Revert,
  revertWith,
} from './dispatch.ts'

/**
 * Gas of every function that changes the native state, besides its message: arguments, checks, an
 * event.
 */
export const WRITE_GAS = 5_000n

/** The result of functions that return `success`: they revert otherwise. */
export const SUCCESS = { success: true } as const

/**
 * Declares a function that acts like a native transaction with one message: the same checks and the
 * same gas, taken before the work. The engine undoes the effects when the call fails.
 */
export function defineTransaction<const I extends AbiFields, const O extends AbiFields, T, R, P extends object>({
  type,
  response,
  prepare,
  finish,
  ...row
}: {
  readonly name: string
  readonly inputs: I
  readonly outputs: O
  readonly type: MessageType<T>
  readonly response: MessageType<R>
  /**
   * Checks who acts and makes the message; any other members that it returns are passed to
   * `finish`.
   */
  prepare(context: FunctionContext, values: AbiValues<I>): (P & { readonly message: T }) | FunctionFailure
  /** Logs the event and makes the outputs, after the message. @param answer its response */
  finish(context: FunctionContext, values: AbiValues<I>, answer: R, prepared: P): AbiValues<O>
}): PrecompileFunction {
  return defineFunction<I, O>({
    ...row,
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, values) => {
      const prepared = prepare(context, values)
      if (isFailure(prepared)) return prepared
      const answer = runMessage(context, type, response, prepared.message)
      return isFailure(answer) ? answer : finish(context, values, answer, prepared)
    },
  })
}

function runMessage<T, R>(
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

/** Returns the context that modules run in. */
export function moduleContext({ world, block }: Pick<FunctionContext, 'world' | 'block'>): ModuleContext {
  return { world, block: { height: block.number, timeMs: block.timeMs } }
}

/**
 * Returns a failure when an account is the address 0 (cosmos/evm's text `invalid`, and the address)
 * or not the caller.
 */
export function requireActor(context: FunctionContext, account: Address, invalid: string): Revert | undefined {
  return refuseZero(account, invalid) ?? requireCaller(context, account)
}

/** Returns a failure, with cosmos/evm's text, when an account other than the caller would act. */
export function requireCaller({ caller }: Pick<FunctionContext, 'caller'>, subject: Address): Revert | undefined {
  if (equalBytes(caller, subject)) return undefined
  return revertWith(
    `msg.sender address ${toChecksumAddress(caller)} does not match the requester address ${toChecksumAddress(subject)}`,
  )
}

/**
 * Returns a failure for the address 0, which belongs to no account: cosmos/evm's text `invalid`,
 * and the address.
 */
export function refuseZero(account: Address, invalid: string): Revert | undefined {
  return account.every((byte) => byte === 0) ? revertWith(`${invalid} ${toChecksumAddress(account)}`) : undefined
}

/** Reads the validator's address in a query, `coinvaloper1…` or `0x…`; errors are those of a query. */
export function readOperator(text: string): Address | SdkError {
  return parseOperator(text, (problem) => queryError('InvalidArgument', problem))
}

/** Reads the validator's address in a message; errors are those of the message itself. */
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

/**
 * Returns the error of a module's query: a code of gRPC, and the text that contracts see with
 * cosmos/evm.
 */
export function queryError(code: 'InvalidArgument' | 'NotFound', text: string): SdkError {
  return new SdkError('sdk', code === 'NotFound' ? 38 : 18, `rpc error: code = ${code} desc = ${text}`)
}
