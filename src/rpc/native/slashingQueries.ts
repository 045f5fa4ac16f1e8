import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import { SIGNING_INFO_PREFIX } from '../../modules/slashing/keys.ts'
import { SLASHING_PARAMS, SlashingParams } from '../../modules/slashing/params.ts'
import { signingInfo } from '../../modules/slashing/queries.ts'
import { ValidatorSigningInfo } from '../../modules/slashing/types.ts'
import { embedded, message, repeated, string } from '../../primitives/protoSchema.ts'
import { consensusText, readConsensusAddress } from './addresses.ts'
import { paginate, storeWalk } from './paginate.ts'
import { defineQuery, type NativeQuery } from './query.ts'
import { notFound } from './queryError.ts'

const SERVICE = 'cosmos.slashing.v1beta1.Query'
const BASE = '/cosmos/slashing/v1beta1'

/** x/slashing/keeper/grpc_query.go */
export const SLASHING_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Params',
    get: [`${BASE}/params`],
    request: {},
    response: { params: embedded(1, SlashingParams) },
    run: ({ world }) => ({ params: SLASHING_PARAMS.get(world.native) }),
  }),
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
  defineQuery({
    service: SERVICE,
    name: 'SigningInfos',
    get: [`${BASE}/signing_infos`],
    request: { pagination: message(1, PageRequest) },
    response: { info: repeated(embedded(1, ValidatorSigningInfo)), pagination: message(2, PageResponse) },
    run: async (context, { pagination: page }) => {
      // Keys are addresses after their length.
      const walk = storeWalk(context.world.native, SIGNING_INFO_PREFIX, (key) => key.slice(1))
      const { items, pagination } = await paginate(context, page, walk, (address) => signingInfo(context, address))
      return { info: items, pagination }
    },
  }),
]
