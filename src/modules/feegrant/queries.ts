import { toBech32 } from '../../primitives/address.ts'
import { message, string } from '../../primitives/protoSchema.ts'
import { PageRequest } from '../pagination.ts'
import { readAccount } from '../query/addresses.ts'
import { paginate, storeWalk } from '../query/paginate.ts'
import { definePagedQuery, defineQuery, type NativeQuery } from '../query/query.ts'
import { notFound } from '../query/queryError.ts'
import { GRANTS_PREFIX, getFeeGrant, granteePrefix } from './grants.ts'
import { FeeGrant } from './types.ts'

const SERVICE = 'cosmos.feegrant.v1beta1.Query'
const BASE = '/cosmos/feegrant/v1beta1'

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
  definePagedQuery({
    service: SERVICE,
    name: 'Allowances',
    get: [`${BASE}/allowances/{grantee}`],
    request: { grantee: string(1), pagination: message(2, PageRequest) },
    list: ['allowances', message(1, FeeGrant)],
    run: (context, { grantee: text, pagination }) => {
      const prefix = granteePrefix(readAccount(text))
      const walk = storeWalk(context.world.native, prefix, (_, value) => FeeGrant.decode(value))
      return paginate(context, pagination, walk, (grant) => grant)
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'AllowancesByGranter',
    get: [`${BASE}/issued/{granter}`],
    request: { granter: string(1), pagination: message(2, PageRequest) },
    list: ['allowances', message(1, FeeGrant)],
    // As in the SDK all allowances are scanned: they are stored by grantee.
    run: (context, { granter: text, pagination }) => {
      const granter = toBech32(readAccount(text))
      const walk = storeWalk(context.world.native, GRANTS_PREFIX, (_, value) => FeeGrant.decode(value))
      return paginate(context, pagination, walk, (grant) => (grant.granter === granter ? grant : undefined))
    },
  }),
]
