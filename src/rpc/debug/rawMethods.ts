import type { RpcMethod } from '../method.ts'
import { getRawBlock, getRawHeader, getRawReceipts, getRawTransaction } from './rawBlocks.ts'

/** The methods of the `debug` namespace that give stored bytes. */
export const rawMethods: readonly RpcMethod[] = [getRawBlock, getRawHeader, getRawReceipts, getRawTransaction]
