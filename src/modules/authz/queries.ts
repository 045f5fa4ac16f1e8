import { type Address, toBech32 } from '../../primitives/address.ts'
import { concatBytes, equalBytes } from '../../primitives/bytes.ts'
import { message, string, type ValueOf } from '../../primitives/protoSchema.ts'
import { PageRequest } from '../pagination.ts'
import { readAccount } from '../query/addresses.ts'
import { paginate, storeWalk, type Walk } from '../query/paginate.ts'
import { definePagedQuery, type NativeQuery, type QueryContext } from '../query/query.ts'
import { notFound } from '../query/queryError.ts'
import { addressesKey } from '../storeKey.ts'
import { GRANTS_PREFIX, type GrantId, getGrant, grantIdOf, isExpired } from './grants.ts'
import { Grant, GrantAuthorization } from './types.ts'

const SERVICE = 'cosmos.authz.v1beta1.Query'
const BASE = '/cosmos/authz/v1beta1'

type StoredGrant = GrantId & { readonly grant: Grant }

/** x/authz/keeper/grpc_query.go. Expired grants are not shown. */
export const AUTHZ_QUERIES: readonly NativeQuery[] = [
  definePagedQuery({
    service: SERVICE,
    name: 'Grants',
    get: [`${BASE}/grants`],
    request: { granter: string(1), grantee: string(2), msgTypeUrl: string(3), pagination: message(4, PageRequest) },
    list: ['grants', message(1, Grant)],
    run: async (context, { granter: granterText, grantee: granteeText, msgTypeUrl, pagination }) => {
      const granter = readAccount(granterText)
      const grantee = readAccount(granteeText)
      const { world, block } = context
      if (msgTypeUrl !== '') {
        const grant = getGrant(world.native, { granter, grantee, msgTypeUrl })
        if (grant === undefined || isExpired(grant, block.timeMs)) {
          throw notFound(`authorization not found for ${msgTypeUrl} type`)
        }
        return { items: [grant], pagination: undefined }
      }
      const walk = grantsWalk(context, granter, grantee)
      return paginate(context, pagination, walk, ({ grant }) => (isExpired(grant, block.timeMs) ? undefined : grant))
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'GranterGrants',
    get: [`${BASE}/grants/granter/{granter}`],
    request: { granter: string(1), pagination: message(2, PageRequest) },
    list: ['grants', message(1, GrantAuthorization)],
    run: (context, { granter, pagination }) => {
      const walk = grantsWalk(context, readAccount(granter))
      return paginate(context, pagination, walk, (stored) => show(context, stored))
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'GranteeGrants',
    get: [`${BASE}/grants/grantee/{grantee}`],
    request: { grantee: string(1), pagination: message(2, PageRequest) },
    list: ['grants', message(1, GrantAuthorization)],
    // As in the SDK all grants are scanned: they are stored by granter.
    run: (context, { grantee: text, pagination }) => {
      const grantee = readAccount(text)
      return paginate(context, pagination, grantsWalk(context), (stored) =>
        equalBytes(stored.grantee, grantee) ? show(context, stored) : undefined,
      )
    },
  }),
]

/**
 * Returns all grants, those of a granter, or those of a granter to a grantee; in order of granter,
 * grantee and message.
 */
function grantsWalk({ world }: QueryContext, ...addresses: readonly Address[]): Walk<StoredGrant> {
  const prefix = addressesKey(GRANTS_PREFIX, ...addresses)
  return storeWalk(world.native, prefix, (key, value) => ({
    ...grantIdOf(concatBytes(prefix, key)),
    grant: Grant.decode(value),
  }))
}

function show(
  { block }: QueryContext,
  { granter, grantee, grant }: StoredGrant,
): ValueOf<typeof GrantAuthorization> | undefined {
  if (isExpired(grant, block.timeMs)) return undefined
  const { authorization, expiration } = grant
  return { granter: toBech32(granter), grantee: toBech32(grantee), authorization, expiration }
}
