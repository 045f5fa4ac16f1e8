import { parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { isBlockedGrantee } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler, type MessageTable } from '../message.ts'
import { nestedGas, readAllNested, validateNested } from '../nestedMessages.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { checkAuthorization, readAuthorization } from './authorizations.ts'
import { authzError } from './errors.ts'
import { execute } from './execute.ts'
import { deleteGrant, emitGrantEvent, putGrant } from './grants.ts'
import { checkNesting } from './nesting.ts'
import {
  type Grant,
  MsgExec,
  MsgExecResponse,
  MsgGrant,
  MsgGrantResponse,
  MsgRevoke,
  MsgRevokeResponse,
} from './types.ts'

/** `execMessage` is for each message of MsgExec: it pays for reading a grant of the largest size. */
export const AUTHZ_GAS = { grant: 30_000n, revoke: 20_000n, exec: 10_000n, execMessage: 25_000n } as const

/**
 * Returns the authz module's messages (x/authz/keeper/msg_server.go).
 * @param messages the table of all modules' messages, these included: MsgExec can hold any of them
 */
export function authzMessages(messages: () => MessageTable): readonly MessageHandler[] {
  return [
    defineHandler({
      type: MsgGrant,
      response: MsgGrantResponse,
      aminoName: 'cosmos-sdk/MsgGrant',
      module: 'authz',
      signers: ({ granter }) => [parseAddress(granter)],
      validate: ({ granter, grantee, grant }) =>
        checkParties(granter, grantee) ?? checkAuthorization(grant?.authorization),
      gas: () => AUTHZ_GAS.grant,
      run: (context, message) => grantAuthorization(context, messages(), message) ?? EMPTY_RESPONSE,
    }),
    defineHandler({
      type: MsgExec,
      response: MsgExecResponse,
      aminoName: 'cosmos-sdk/MsgExec',
      module: 'authz',
      signers: ({ grantee }) => [parseAddress(grantee)],
      validate: ({ msgs }) => {
        if (msgs.length === 0) return sdkError('invalidRequest', 'messages cannot be empty')
        const tooDeep = checkNesting(msgs)
        if (tooDeep !== undefined) return tooDeep
        const read = readAllNested(msgs, messages())
        if (isSdkError(read)) return read
        for (const message of read) {
          const invalid = validateNested(message)
          if (invalid !== undefined) return invalid
        }
        return undefined
      },
      gas: ({ msgs }) => AUTHZ_GAS.exec + AUTHZ_GAS.execMessage * BigInt(msgs.length) + nestedGas(msgs, messages()),
      run: (context, { grantee, msgs }) => {
        const results = execute(context, messages(), { grantee: parseAddress(grantee), msgs })
        return isSdkError(results) ? results : MsgExecResponse.encode({ results })
      },
    }),
    defineHandler({
      type: MsgRevoke,
      response: MsgRevokeResponse,
      aminoName: 'cosmos-sdk/MsgRevoke',
      module: 'authz',
      signers: ({ granter }) => [parseAddress(granter)],
      validate: ({ granter, grantee, msgTypeUrl }) => {
        const refused = checkParties(granter, grantee)
        if (refused !== undefined) return refused
        return msgTypeUrl === '' ? sdkError('invalidRequest', 'missing msg method name') : undefined
      },
      gas: () => AUTHZ_GAS.revoke,
      run: ({ world }, { granter, grantee, msgTypeUrl }): Outcome<Uint8Array> => {
        const id = { granter: parseAddress(granter), grantee: parseAddress(grantee), msgTypeUrl }
        if (!deleteGrant(world.native, id)) {
          return authzError('notFound', `failed to delete grant with given type ${msgTypeUrl}`)
        }
        emitGrantEvent(world, 'cosmos.authz.v1beta1.EventRevoke', id)
        return EMPTY_RESPONSE
      },
    }),
  ]
}

function checkParties(granter: string, grantee: string): SdkError | undefined {
  return equalBytes(parseAddress(granter), parseAddress(grantee)) ? authzError('granteeIsGranter') : undefined
}

function grantAuthorization(
  { world, block }: ModuleContext,
  messages: MessageTable,
  message: { readonly granter: string; readonly grantee: string; readonly grant: Grant | undefined },
): SdkError | undefined {
  const { grant } = message
  const authorization = readAuthorization(grant?.authorization)
  if (isSdkError(authorization)) return authorization
  const [granter, grantee] = [parseAddress(message.granter), parseAddress(message.grantee)]
  if (isBlockedGrantee(grantee)) return sdkError('unauthorized', `${toBech32(grantee)} is not allowed to receive funds`)
  const { msgTypeUrl } = authorization
  if (!messages.has(msgTypeUrl)) return sdkError('invalidType', `${msgTypeUrl} doesn't exist.`)
  const now = BigInt(block.timeMs) * 1_000_000n
  if (grant!.expiration !== undefined && grant!.expiration <= now) {
    return authzError('invalidExpiration', 'expiration must be after the current block time')
  }
  const id = { granter, grantee, msgTypeUrl }
  putGrant(world.native, id, grant!)
  emitGrantEvent(world, 'cosmos.authz.v1beta1.EventGrant', id)
  return undefined
}
