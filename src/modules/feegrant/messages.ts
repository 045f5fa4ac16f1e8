import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { isBlockedGrantee } from '../bank/send.ts'
import { event, type ModuleContext } from '../context.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from '../message.ts'
import { isSdkError, type SdkError, sdkError } from '../sdkError.ts'
import { checkAllowance, readAllowance } from './allowances.ts'
import { deleteFeeGrant, emitFeeGrantEvent, getFeeGrant, putFeeGrant, removeExpiredAllowances } from './grants.ts'
import {
  MsgGrantAllowance,
  MsgGrantAllowanceResponse,
  MsgPruneAllowances,
  MsgPruneAllowancesResponse,
  MsgRevokeAllowance,
  MsgRevokeAllowanceResponse,
} from './types.ts'

/** The most allowances that one MsgPruneAllowances removes, as in the SDK. It pays for each by the counted work. */
const PRUNED_BY_MESSAGE = 75
export const FEEGRANT_GAS = { grant: 30_000n, revoke: 20_000n, prune: 20_000n } as const

/** The feegrant module's messages (x/feegrant/keeper/msg_server.go). */
export const FEEGRANT_MESSAGES: readonly MessageHandler[] = [
  defineHandler({
    type: MsgGrantAllowance,
    response: MsgGrantAllowanceResponse,
    aminoName: 'cosmos-sdk/MsgGrantAllowance',
    module: 'feegrant',
    signers: ({ granter }) => [parseAddress(granter)],
    validate: ({ granter, grantee, allowance }) => {
      if (equalBytes(parseAddress(granter), parseAddress(grantee))) {
        return sdkError('invalidAddress', 'cannot self-grant fee authorization')
      }
      return checkAllowance(allowance)
    },
    gas: () => FEEGRANT_GAS.grant,
    run: (context, { granter, grantee, allowance }) =>
      grantAllowance(context, parseAddress(granter), parseAddress(grantee), allowance) ?? EMPTY_RESPONSE,
  }),
  defineHandler({
    type: MsgRevokeAllowance,
    response: MsgRevokeAllowanceResponse,
    aminoName: 'cosmos-sdk/MsgRevokeAllowance',
    module: 'feegrant',
    signers: ({ granter }) => [parseAddress(granter)],
    validate: ({ granter, grantee }) =>
      equalBytes(parseAddress(granter), parseAddress(grantee))
        ? sdkError('invalidAddress', 'addresses must be different')
        : undefined,
    gas: () => FEEGRANT_GAS.revoke,
    run: (context, { granter, grantee }) =>
      revokeAllowance(context, parseAddress(granter), parseAddress(grantee)) ?? EMPTY_RESPONSE,
  }),
  defineHandler({
    type: MsgPruneAllowances,
    response: MsgPruneAllowancesResponse,
    // The SDK has no amino name for it and falls back to the type URL.
    aminoName: '/cosmos.feegrant.v1beta1.MsgPruneAllowances',
    module: 'feegrant',
    signers: ({ pruner }) => [parseAddress(pruner)],
    validate: ({ pruner }) => {
      parseAddress(pruner)
      return undefined
    },
    gas: () => FEEGRANT_GAS.prune,
    run: (context, { pruner }) => {
      removeExpiredAllowances(context, PRUNED_BY_MESSAGE)
      context.world.emitEvent(event('prune_feegrant', { pruner: toBech32(parseAddress(pruner)) }))
      return EMPTY_RESPONSE
    },
  }),
]

/** GrantAllowance of x/feegrant/keeper/keeper.go; an expired allowance that was not removed yet is replaced. */
function grantAllowance(
  { world, block }: ModuleContext,
  granter: Address,
  grantee: Address,
  allowance: AnyValue | undefined,
): SdkError | undefined {
  const { native } = world
  const now = BigInt(block.timeMs) * 1_000_000n
  const read = readAllowance(allowance)
  if (isSdkError(read)) return read
  const existing = expirationOf(native, granter, grantee)
  if (existing !== undefined) {
    const isOver = existing.expiration !== undefined && existing.expiration < now
    if (!isOver) return sdkError('invalidRequest', 'fee allowance already exists')
    deleteFeeGrant(native, granter, grantee, existing.expiration)
  }
  if (isBlockedGrantee(grantee)) return sdkError('unauthorized', `${toBech32(grantee)} is not allowed to receive funds`)
  if (read.expiration !== undefined && read.expiration < now) {
    return sdkError('invalidRequest', 'expiration is before current block time')
  }
  putFeeGrant(native, { granter: toBech32(granter), grantee: toBech32(grantee), allowance }, read.expiration)
  emitFeeGrantEvent(world, 'set_feegrant', { granter, grantee })
  return undefined
}

function revokeAllowance({ world }: ModuleContext, granter: Address, grantee: Address): SdkError | undefined {
  const existing = expirationOf(world.native, granter, grantee)
  if (existing === undefined) return sdkError('notFound', 'fee-grant not found')
  deleteFeeGrant(world.native, granter, grantee, existing.expiration)
  emitFeeGrantEvent(world, 'revoke_feegrant', { granter, grantee })
  return undefined
}

/**
 * Returns the expiration of the allowance between two accounts; undefined when there is no
 * allowance.
 */
function expirationOf(
  native: Pick<ModuleContext['world']['native'], 'get'>,
  granter: Address,
  grantee: Address,
): { readonly expiration: bigint | undefined } | undefined {
  const grant = getFeeGrant(native, granter, grantee)
  if (grant === undefined) return undefined
  const allowance = readAllowance(grant.allowance)
  return { expiration: isSdkError(allowance) ? undefined : allowance.expiration }
}
