import { GRANTS_PREFIX, getFeeGrant, granteePrefix } from '../../modules/feegrant/grants.ts'
import { FeeGrant } from '../../modules/feegrant/types.ts'
import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import { toBech32 } from '../../primitives/address.ts'
import { message, repeated, string } from '../../primitives/protoSchema.ts'
import { readAccount } from './addresses.ts'
import { paginate, storeWalk } from './paginate.ts'
import { defineQuery, type NativeQuery } from './query.ts'
import { notFound } from './queryError.ts'

const SERVICE = 'cosmos.feegrant.v1beta1.Query'
const BASE = '/cosmos/feegrant/v1beta1'
const PAGED = { allowances: repeated(message(1, FeeGrant)), pagination: message(2, PageResponse) }

/** x/feegrant/keeper/grpc_query.go */
export const FEEGRANT_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Allowance',
    get: [`${BASE}/allowance/{granter}/{grantee}`],
    request: { granter: string(1), grantee: string(2) },
    response: { allowance: message(1, FeeGrant) },
    run: ({ world }, { granter, grantee }) => {
      const grant = getFeeGrant(world.native, readAccount(granter), readAccount(grantee))
      if (grant === undefined) throw notFound('fee-grant not found')
      return { allowance: grant }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Allowances',
    get: [`${BASE}/allowances/{grantee}`],
    request: { grantee: string(1), pagination: message(2, PageRequest) },
    response: PAGED,
    run: async (context, { grantee: text, pagination: page }) => {
      const prefix = granteePrefix(readAccount(text))
      const walk = storeWalk(context.world.native, prefix, (_, value) => FeeGrant.decode(value))
      const { items, pagination } = await paginate(context, page, walk, (grant) => grant)
      return { allowances: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'AllowancesByGranter',
    get: [`${BASE}/issued/{granter}`],
    request: { granter: string(1), pagination: message(2, PageRequest) },
    response: PAGED,
    // As in the SDK all allowances are looked through: they are kept by grantee.
    run: async (context, { granter: text, pagination: page }) => {
      const granter = toBech32(readAccount(text))
      const walk = storeWalk(context.world.native, GRANTS_PREFIX, (_, value) => FeeGrant.decode(value))
      const { items, pagination } = await paginate(context, page, walk, (grant) =>
        grant.granter === granter ? grant : undefined,
      )
      return { allowances: items, pagination }
    },
  }),
]
