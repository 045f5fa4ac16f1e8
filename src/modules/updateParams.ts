import { parseAddress } from '../primitives/address.ts'
import type { MessageType } from '../primitives/protoSchema.ts'
import type { NativeStore } from '../state/world.ts'
import { requireAuthority } from './gov/authority.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from './message.ts'
import type { SdkError } from './sdkError.ts'

/** How a module takes new parameters. */
interface ParamsUpdate<T> {
  readonly type: MessageType<{ readonly authority: string; readonly params: T }>
  readonly response: Pick<MessageType<never>, 'name' | 'typeUrl'>
  readonly aminoName: string
  readonly module: string
  readonly gas: bigint
  /** Checks of the parameters that need no state, before the message is executed. */
  validate?(params: T): SdkError | undefined
  /** Checks when the message is executed. */
  check?(params: T, native: Pick<NativeStore, 'get'>): SdkError | undefined
  set(native: Pick<NativeStore, 'get' | 'set' | 'delete' | 'range'>, params: T): void
}

/**
 * Returns the handler of a module's MsgUpdateParams: governance alone can send it, and it replaces
 * all parameters of the module.
 */
export function updateParamsHandler<T>({ validate, check, set, gas, ...named }: ParamsUpdate<T>): MessageHandler {
  return defineHandler({
    ...named,
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ authority, params }) => {
      const problem = validate?.(params)
      if (problem === undefined) parseAddress(authority)
      return problem
    },
    gas: () => gas,
    run: ({ world }, { authority, params }) => {
      const refused = requireAuthority(authority) ?? check?.(params, world.native)
      if (refused !== undefined) return refused
      set(world.native, params)
      return EMPTY_RESPONSE
    },
  })
}
