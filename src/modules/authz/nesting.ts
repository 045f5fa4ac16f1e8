import { ProtobufError } from '../../primitives/protobuf.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { MsgSubmitProposal } from '../gov/types.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { MsgExec } from './types.ts'

/** Levels of messages inside messages that a transaction may have, its own the first (ante/cosmos/authz.go of cosmos/evm). */
const MAX_NESTED_MESSAGES = 7

/** Refuses messages that carry messages too deeply; called for those that a message of the level before carries. */
export function checkNesting(carried: readonly AnyValue[]): SdkError | undefined {
  // The message that carries them may itself be the transaction's: that is the first level.
  if (!exceeds(carried, 2)) return undefined
  return sdkError('unauthorized', `found more nested msgs than permitted. Limit is : ${MAX_NESTED_MESSAGES}`)
}

function exceeds(messages: readonly AnyValue[], level: number): boolean {
  if (messages.length === 0) return false
  if (level > MAX_NESTED_MESSAGES) return true
  return messages.some((message) => exceeds(carriedBy(message), level + 1))
}

/** What does not decode is refused elsewhere. */
function carriedBy({ typeUrl, value }: AnyValue): readonly AnyValue[] {
  try {
    if (typeUrl === MsgExec.typeUrl) return MsgExec.decode(value).msgs
    if (typeUrl === MsgSubmitProposal.typeUrl) return MsgSubmitProposal.decode(value).messages
    return []
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return []
  }
}
