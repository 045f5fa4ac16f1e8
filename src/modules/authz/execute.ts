import { type Address, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import type { WorldState } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { type NestedMessage, nestedSigners, readAllNested, validateNested } from '../nestedMessages.ts'
import { isSdkError, type Outcome, SdkError } from '../sdkError.ts'
import { readAuthorization } from './authorizations.ts'
import { authzError } from './errors.ts'
import { deleteGrant, emitGrantEvent, type GrantId, getGrant, isExpired, putGrant } from './grants.ts'

/**
 * Executes messages that `grantee` sends in the names of accounts that granted them (DispatchActions of x/authz/keeper/keeper.go).
 * @returns the encoded responses
 */
export function execute(
  context: ModuleContext,
  messages: MessageTable,
  { grantee, msgs }: { readonly grantee: Address; readonly msgs: readonly AnyValue[] },
): Outcome<readonly Uint8Array[]> {
  const read = readAllNested(msgs, messages)
  if (isSdkError(read)) return read
  const results: Uint8Array[] = []
  for (const [index, message] of read.entries()) {
    const invalid = validateNested(message)
    if (invalid !== undefined) return wrap(invalid, `msg ${index}`)
    const refused = useGrant(context, grantee, message)
    if (refused !== undefined) return refused
    const result = message.handler.run(withMessageIndex(context, index), message.value)
    if (isSdkError(result)) return wrap(result, 'failed to execute message')
    results.push(result)
  }
  return results
}

/** Work of an entry of an authorization's lists: it is decoded, compared and written again. */
const ENTRY_GAS = 100

/** Why `grantee` may not send a message; otherwise its grant is reduced, or removed when it is used up. */
function useGrant(context: ModuleContext, grantee: Address, message: NestedMessage): SdkError | undefined {
  const signers = nestedSigners(message)
  if (isSdkError(signers)) return signers
  if (signers.length !== 1) return authzError('numberOfSigners')
  const granter = signers[0]!
  if (equalBytes(granter, grantee)) return undefined
  const { native } = context.world
  const id: GrantId = { granter, grantee, msgTypeUrl: message.handler.type.typeUrl }
  const grant = getGrant(native, id)
  if (grant === undefined) {
    const parties = `granter: ${toBech32(granter)}, grantee: ${toBech32(grantee)}`
    return authzError('notFound', `failed to get grant with given ${parties} & msgType: ${id.msgTypeUrl}`)
  }
  if (isExpired(grant, context.block.timeMs)) return authzError('expired')
  const authorization = readAuthorization(grant.authorization)
  if (isSdkError(authorization)) return authorization
  native.work.add(authorization.entries * ENTRY_GAS)
  const left = authorization.accept(message.value)
  if (isSdkError(left)) return left
  if (left === undefined) {
    deleteGrant(native, id)
    emitGrantEvent(context.world, 'cosmos.authz.v1beta1.EventRevoke', id)
  } else if (!isSame(left, grant.authorization)) {
    putGrant(native, id, { ...grant, authorization: left })
  }
  return undefined
}

function isSame(a: AnyValue, b: AnyValue | undefined): boolean {
  return b !== undefined && a.typeUrl === b.typeUrl && equalBytes(a.value, b.value)
}

interface IndexedWorld {
  readonly world: WorldState
  /** attributes that events get, the innermost message's index first */
  readonly indexes: readonly { readonly key: string; readonly value: string }[]
}

/** Worlds that {@link withMessageIndex} has made: a message of nested MsgExec works on the world itself, not through a proxy for each level. */
const indexedWorlds = new WeakMap<WorldState, IndexedWorld>()

/** Returns the context with a world that adds the message's index to every event. */
function withMessageIndex(context: ModuleContext, index: number): ModuleContext {
  const outer: IndexedWorld = indexedWorlds.get(context.world) ?? { world: context.world, indexes: [] }
  const { world } = outer
  const indexes = [{ key: 'authz_msg_index', value: index.toString() }, ...outer.indexes]
  const emitEvent: WorldState['emitEvent'] = ({ type, attributes }) =>
    world.emitEvent({ type, attributes: [...attributes, ...indexes] })
  const wrapped = new Proxy(world, {
    get: (target, name) => {
      if (name === 'emitEvent') return emitEvent
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  indexedWorlds.set(wrapped, { world, indexes })
  return { ...context, world: wrapped }
}

function wrap({ codespace, code, message }: SdkError, reason: string): SdkError {
  return new SdkError(codespace, code, `${reason}: ${message}`)
}
