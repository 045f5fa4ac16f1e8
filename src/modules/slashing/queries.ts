import { embedded, message, string } from '../../primitives/protoSchema.ts'
import { PageRequest } from '../pagination.ts'
import { consensusText, readConsensusAddress } from '../query/addresses.ts'
import { paginate, storeWalk } from '../query/paginate.ts'
import { definePagedQuery, defineParamsQuery, defineQuery, type NativeQuery } from '../query/query.ts'
import { notFound } from '../query/queryError.ts'
import { SLASHING_PARAMS } from './params.ts'
import { SIGNING_INFO_PREFIX, signingInfo, ValidatorSigningInfo } from './signingInfo.ts'

const SERVICE = 'cosmos.slashing.v1beta1.Query'
const BASE = '/cosmos/slashing/v1beta1'

/** x/slashing/keeper/grpc_query.go */
export const SLASHING_QUERIES: readonly NativeQuery[] = [
  defineParamsQuery(SERVICE, BASE, SLASHING_PARAMS),
  defineQuery({
    service: SERVICE,
    name: 'SigningInfo',
    get: [`${BASE}/signing_infos/{cons_address}`],
    request: { consAddress: string(1) },
    response: { valSigningInfo: embedded(1, ValidatorSigningInfo) },
    run: (context, { consAddress }) => {
      const address = readConsensusAddress(consAddress)
      const info = signingInfo(context, address)
      if (info === undefined) throw notFound(`SigningInfo not found for validator ${consensusText(address)}`)
      return { valSigningInfo: info }
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'SigningInfos',
    get: [`${BASE}/signing_infos`],
    request: { pagination: message(1, PageRequest) },
    list: ['info', embedded(1, ValidatorSigningInfo)],
    run: (context, { pagination }) => {
      // Keys are addresses after their length.
      const walk = storeWalk(context.world.native, SIGNING_INFO_PREFIX, (key) => key.slice(1))
      return paginate(context, pagination, walk, (address) => signingInfo(context, address))
    },
  }),
]
