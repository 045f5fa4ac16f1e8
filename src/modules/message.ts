import type { Address } from '../primitives/address.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import type { MessageType } from '../primitives/protoSchema.ts'
import type { ModuleContext } from './context.ts'
import type { Outcome, SdkError } from './sdkError.ts'

/**
 * One Msg type, with all facts that transactions, precompiles' JSON proposals, authz, governance
 * and the CLI need. `typeUrl` and field names come from `type`.
 */
export interface MessageHandler<T = unknown> {
  readonly type: MessageType<T>
  /** the answer in MsgData, e.g. `cosmos.bank.v1beta1.MsgSendResponse` */
  readonly response: MessageType<never>
  /** `cosmos-sdk/MsgSend`; undefined for one that LEGACY_AMINO_JSON cannot sign */
  readonly aminoName: string | undefined
  /** e.g. `bank`: the attribute `module` of the message event */
  readonly module: string
  /**
   * Accounts that must have signed, without repetition, in order.
   * @throws AddressError when an address does not parse (see `parseAddress`)
   */
  signers(message: T): readonly Address[]
  /** Checks that need no state (ValidateBasic); undefined when nothing is wrong. */
  validate(message: T): SdkError | undefined
  /** gas of executing it, fixed by the message's contents; it bounds the work that `run` does */
  gas(message: T): bigint
  /**
   * Executes it; the caller undoes all effects of an error. Emits its events through `context.world.emitEvent`.
   * @returns the encoded response
   */
  run(context: ModuleContext, message: T): Outcome<Uint8Array>
}

/** The answer of most messages: a response without fields. */
export const EMPTY_RESPONSE: Uint8Array = EMPTY_BYTES

/** Message handlers by type URL. */
export type MessageTable = ReadonlyMap<string, MessageHandler>

/** Declares a handler; the message's type is inferred from `type`. */
export function defineHandler<T>(
  handler: Omit<MessageHandler<T>, 'response'> & { readonly response: Pick<MessageType<never>, 'name' | 'typeUrl'> },
): MessageHandler {
  return handler as unknown as MessageHandler
}

/** @throws Error when two handlers have one type URL */
export function createMessageTable(handlers: readonly MessageHandler[]): MessageTable {
  const table = new Map(handlers.map((handler) => [handler.type.typeUrl, handler]))
  if (table.size !== handlers.length) throw new Error('two message handlers have one type URL')
  return table
}
