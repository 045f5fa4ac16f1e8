import { decimalOf } from '../../primitives/decimal.ts'
import { int64, optionalDecimal } from '../../primitives/protoSchema.ts'
import { defineParamsQuery, defineQuery, type NativeQuery } from '../query/query.ts'
import { FEEMARKET_PARAMS } from './params.ts'

const SERVICE = 'cosmos.evm.feemarket.v1.Query'
const BASE = '/cosmos/evm/feemarket/v1'

/** x/feemarket/keeper/grpc_query.go of cosmos/evm. The base fee is that of the next block. */
export const FEEMARKET_QUERIES: readonly NativeQuery[] = [
  defineParamsQuery(SERVICE, BASE, FEEMARKET_PARAMS),
  defineQuery({
    service: SERVICE,
    name: 'BaseFee',
    get: [`${BASE}/base_fee`],
    request: {},
    response: { baseFee: optionalDecimal(1) },
    run: ({ nextBaseFee }) => ({ baseFee: decimalOf(nextBaseFee()) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'BlockGas',
    get: [`${BASE}/block_gas`],
    request: {},
    response: { gas: int64(1) },
    run: ({ chain, block }) => ({ gas: chain.header(block.height)?.gasUsed ?? 0n }),
  }),
]
