import { FEEMARKET_PARAMS, FeeMarketParams } from '../../modules/feemarket/params.ts'
import { decimalOf } from '../../primitives/decimal.ts'
import { embedded, int64, optionalDecimal } from '../../primitives/protoSchema.ts'
import { baseFeeAfter } from './nextBaseFee.ts'
import { defineQuery, type NativeQuery } from './query.ts'

const SERVICE = 'cosmos.evm.feemarket.v1.Query'
const BASE = '/cosmos/evm/feemarket/v1'

/** x/feemarket/keeper/grpc_query.go of cosmos/evm. The base fee is the one that the next block's transactions are held to. */
export const FEEMARKET_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Params',
    get: [`${BASE}/params`],
    request: {},
    response: { params: embedded(1, FeeMarketParams) },
    run: ({ world }) => ({ params: FEEMARKET_PARAMS.get(world.native) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'BaseFee',
    get: [`${BASE}/base_fee`],
    request: {},
    response: { baseFee: optionalDecimal(1) },
    run: (context) => ({ baseFee: decimalOf(baseFeeAfter(context)) }),
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
