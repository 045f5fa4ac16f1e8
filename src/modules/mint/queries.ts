import { decimalBytes } from '../../primitives/protoSchema.ts'
import { defineParamsQuery, defineQuery, type NativeQuery } from '../query/query.ts'
import { annualProvisions, getInflation } from './minter.ts'
import { MINT_PARAMS } from './params.ts'

const SERVICE = 'cosmos.mint.v1beta1.Query'
const BASE = '/cosmos/mint/v1beta1'

/** x/mint/keeper/grpc_query.go; the .proto file calls both decimals bytes, which hold the same digits. */
export const MINT_QUERIES: readonly NativeQuery[] = [
  defineParamsQuery(SERVICE, BASE, MINT_PARAMS),
  defineQuery({
    service: SERVICE,
    name: 'Inflation',
    get: [`${BASE}/inflation`],
    request: {},
    response: { inflation: decimalBytes(1) },
    run: ({ world }) => ({ inflation: getInflation(world.native) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'AnnualProvisions',
    get: [`${BASE}/annual_provisions`],
    request: {},
    response: { annualProvisions: decimalBytes(1) },
    run: (context) => ({ annualProvisions: annualProvisions(context) }),
  }),
]
