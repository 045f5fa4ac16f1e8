import { ProtobufError } from '../../primitives/protobuf.ts'
import { type AnyValue, decodeContent } from '../../primitives/protoSchema.ts'
import { MsgSubmitProposal } from '../gov/types.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { MsgExec } from './types.ts'

/** The most levels of messages inside messages; a transaction's own messages are the first level (ante/cosmos/authz.go of cosmos/evm). */
const MAX_NESTED_MESSAGES = 7

/** Refuses a message (MsgExec, MsgSubmitProposal) whose inner messages are nested too deeply. @param carried its inner messages */
export function checkNesting(carried: readonly AnyValue[]): SdkError | undefined {
  // The message itself is on the first level at least.
  if (!exceeds(carried, 2)) return undefined
  return sdkError('unauthorized', `found more nested msgs than permitted. Limit is : ${MAX_NESTED_MESSAGES}`)
}

function exceeds(messages: readonly AnyValue[], level: number): boolean {
  if (messages.length === 0) return false
  if (level > MAX_NESTED_MESSAGES) return true
  return messages.some((message) => exceeds(carriedBy(message), level + 1))
}

/** Returns the inner messages of a message. One that does not decode is refused elsewhere. */
function carriedBy(message: AnyValue): readonly AnyValue[] {
  try {
    if (message.typeUrl === MsgExec.typeUrl) return decodeContent(MsgExec, message).msgs
    if (message.typeUrl === MsgSubmitProposal.typeUrl) return decodeContent(MsgSubmitProposal, message).messages
    return []
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return []
  }
}
