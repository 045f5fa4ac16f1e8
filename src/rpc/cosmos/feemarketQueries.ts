import { nextBaseFee } from '../../chain/block/baseFee.ts'
import { runningParams } from '../../execution/blockContext.ts'
import { FEEMARKET_PARAMS } from '../../modules/feemarket/params.ts'
import { decimalOf } from '../../primitives/decimal.ts'
import { int64, optionalDecimal } from '../../primitives/protoSchema.ts'
import { defineParamsQuery, defineQuery, type NativeQuery, type QueryContext } from './query.ts'

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

/** The base fee of the block after the asked one, acoin per gas. */
export function baseFeeAfter({ chain, world, block, rpc }: QueryContext): bigint {
  const header = chain.header(block.height)
  if (header === undefined) throw new Error(`the header of block ${block.height} is missing`)
  const { feeMarket } = runningParams(world.native, rpc.chain)
  return nextBaseFee(header, feeMarket)
}
