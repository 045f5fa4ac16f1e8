import { runningParams } from '../../app/runningParams.ts'
import { nextBaseFee } from '../../chain/baseFee.ts'
import type { QueryContext } from './query.ts'

/** Acoin per gas that transactions of the block after the asked one pay at least. */
export function baseFeeAfter({ chain, world, block, rpc }: QueryContext): bigint {
  const header = chain.header(block.height)
  if (header === undefined) throw new Error(`the header of block ${block.height} is missing`)
  const { feeMarket } = runningParams(world.native, rpc.chain)
  return nextBaseFee(header, feeMarket)
}
