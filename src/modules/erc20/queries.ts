import { parseAddress } from '../../primitives/address.ts'
import { embedded, message, string } from '../../primitives/protoSchema.ts'
import { PageRequest } from '../pagination.ts'
import { listWalk, paginate } from '../query/paginate.ts'
import { definePagedQuery, defineParamsQuery, defineQuery, type NativeQuery } from '../query/query.ts'
import { notFound } from '../query/queryError.ts'
import { ERC20_PARAMS, TokenPair, tokenPairs } from './tokenPairs.ts'

const SERVICE = 'cosmos.evm.erc20.v1.Query'
const BASE = '/cosmos/evm/erc20/v1'

/** x/erc20/keeper/grpc_query.go of cosmos/evm */
export const ERC20_QUERIES: readonly NativeQuery[] = [
  definePagedQuery({
    service: SERVICE,
    name: 'TokenPairs',
    get: [`${BASE}/token_pairs`],
    request: { pagination: message(1, PageRequest) },
    list: ['tokenPairs', embedded(1, TokenPair)],
    run: (context, { pagination }) => {
      const pairs = [...tokenPairs(context.world.native)]
      const walk = listWalk(pairs.map((pair) => [parseAddress(pair.erc20Address), pair] as const))
      return paginate(context, pagination, walk, (pair) => pair)
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'TokenPair',
    get: [`${BASE}/token_pairs/{token=**}`],
    request: { token: string(1) },
    response: { tokenPair: embedded(1, TokenPair) },
    run: ({ world }, { token }) => {
      const isPair = ({ denom, erc20Address }: TokenPair) =>
        denom === token || erc20Address.toLowerCase() === token.toLowerCase()
      const pair = [...tokenPairs(world.native)].find(isPair)
      if (pair === undefined) throw notFound(`token pair with token '${token}'`)
      return { tokenPair: pair }
    },
  }),
  defineParamsQuery(SERVICE, BASE, ERC20_PARAMS),
]
