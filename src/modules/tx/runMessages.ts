import type { NativeEvent } from '../../chain/entries.ts'
import { toBech32 } from '../../primitives/address.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import type { ModuleContext } from '../context.ts'
import { reasonWithCause, recoverPanic } from '../recoverPanic.ts'
import { isSdkError, type SdkError } from '../sdkError.ts'
import { outOfGas } from './checkNativeState.ts'
import type { NativeMessage, NativeTransaction } from './nativeTransaction.ts'
import { TxMsgData } from './txTypes.ts'

/** How the messages of a transaction fared. */
export type MessagesOutcome =
  | {
      readonly kind: 'succeeded'
      readonly gasUsed: bigint
      /** encoded TxMsgData */
      readonly data: Uint8Array
      readonly events: readonly NativeEvent[]
    }
  /** the caller undoes the effects of all messages */
  | { readonly kind: 'failed'; readonly gasUsed: bigint; readonly error: SdkError }

/**
 * Runs messages one after the other until one fails (baseapp's runMsgs).
 * @param gasBefore used by the transaction before its first message
 */
export function runMessages(
  context: ModuleContext,
  { messages, messageGas, gasLimit }: Pick<NativeTransaction, 'messages' | 'messageGas' | 'gasLimit'>,
  gasBefore: bigint,
): MessagesOutcome {
  const { world } = context
  const responses: AnyValue[] = []
  const events: NativeEvent[] = []
  let gasUsed = gasBefore
  for (const [index, message] of messages.entries()) {
    const { handler, value } = message
    const emptied = outOfGas(handler.type.name, gasLimit, gasUsed + messageGas[index]!)
    if (emptied !== undefined) return { kind: 'failed', gasUsed: gasLimit, error: emptied }
    gasUsed += messageGas[index]!
    const before = world.events().length
    const response = recoverPanic(() => handler.run(context, value))
    if (isSdkError(response)) {
      const { codespace, code } = response
      const message = failureText(index, reasonWithCause(response))
      return { kind: 'failed', gasUsed, error: { codespace, code, message } }
    }
    responses.push({ typeUrl: handler.response.typeUrl, value: response })
    const own = world.events().slice(before)
    for (const event of [messageEvent(message, own), ...own]) events.push(withIndex(event, index))
  }
  return { kind: 'succeeded', gasUsed, data: TxMsgData.encode({ data: [], msgResponses: responses }), events }
}

/** What baseapp emits ahead of a message's own events, which may name their module themselves. */
function messageEvent({ handler, value }: NativeMessage, own: readonly NativeEvent[]): NativeEvent {
  const attributes = [
    { key: 'action', value: handler.type.typeUrl },
    { key: 'sender', value: toBech32(handler.signers(value)[0]!) },
  ]
  const namesModule = own.some((event) => event.attributes.some(({ key }) => key === 'module'))
  return {
    type: 'message',
    attributes: namesModule ? attributes : [...attributes, { key: 'module', value: handler.module }],
  }
}

function withIndex({ type, attributes }: NativeEvent, index: number): NativeEvent {
  return { type, attributes: [...attributes, { key: 'msg_index', value: index.toString() }] }
}

function failureText(index: number, reason: string): string {
  return `failed to execute message; message index: ${index}: ${reason}`
}
