import { type Address, AddressError } from '../primitives/address.ts'
import { ProtobufError } from '../primitives/protobuf.ts'
import { type AnyValue, decodeContent } from '../primitives/protoSchema.ts'
import type { MessageHandler, MessageTable } from './message.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from './sdkError.ts'

/** A message inside another one (of MsgExec, of a proposal), decoded. */
export interface NestedMessage {
  readonly handler: MessageHandler
  readonly value: unknown
}

/** Decodes a message that another one carries; errors as the SDK has them when it decodes a transaction. */
export function readNested(message: AnyValue, messages: MessageTable): Outcome<NestedMessage> {
  const { typeUrl } = message
  const handler = messages.get(typeUrl)
  if (handler === undefined) return sdkError('txDecode', `unable to resolve type URL ${typeUrl}`)
  try {
    return { handler, value: decodeContent(handler.type, message) }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('txDecode', `${typeUrl}: ${error.message}`)
  }
}

/** {@link readNested} of all of them. */
export function readAllNested(values: readonly AnyValue[], messages: MessageTable): Outcome<readonly NestedMessage[]> {
  const read: NestedMessage[] = []
  for (const value of values) {
    const message = readNested(value, messages)
    if (isSdkError(message)) return message
    read.push(message)
  }
  return read
}

/** Returns the accounts whose authority a message needs. */
export function nestedSigners({ handler, value }: NestedMessage): Outcome<readonly Address[]> {
  return orInvalidAddress(() => handler.signers(value))
}

/** Outcomes of {@link validateNested} by the decoded message: every level of nesting asks again. */
const validated = new WeakMap<object, { readonly handler: MessageHandler; readonly problem: SdkError | undefined }>()

/**
 * Returns the error of a message that is invalid in any state. The same decoded message is checked
 * once.
 */
export function validateNested({ handler, value }: NestedMessage): SdkError | undefined {
  const known = validated.get(value as object)
  if (known?.handler === handler) return known.problem
  const problem = orInvalidAddress(() => handler.validate(value))
  validated.set(value as object, { handler, problem })
  return problem
}

/**
 * Returns the sum of the gas of messages inside another one. A message that does not decode counts
 * nothing: it is refused anyway.
 */
export function nestedGas(values: readonly AnyValue[], messages: MessageTable): bigint {
  let gas = 0n
  for (const value of values) {
    const message = readNested(value, messages)
    if (!isSdkError(message)) gas += message.handler.gas(message.value)
  }
  return gas
}

function orInvalidAddress<T>(read: () => T): T | SdkError {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    return sdkError('invalidAddress', error.message)
  }
}
