import { bytesToHex } from '../../primitives/bytes.ts'
import { serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type RpcMethod } from '../jsonrpc/method.ts'
import { readHash } from '../params/values.ts'
import { readTraceConfig } from './traces.ts'

/**
 * Always empty: a block is executed before validators vote for it, so no block of the chain is ever
 * found invalid.
 */
export const getBadBlocks = defineMethod({ name: 'debug_getBadBlocks', runs: 'socket', run: () => [] })

/**
 * Always an error: there is no bad block to trace. The text is geth's for a block that it does not
 * have.
 */
export const traceBadBlock = defineMethod({
  name: 'debug_traceBadBlock',
  runs: 'socket',
  params: [readHash, readTraceConfig],
  required: 1,
  run: (_, hash) => {
    throw serverError(`bad block ${bytesToHex(hash)} not found`)
  },
})

/** Methods about blocks that a node has refused. */
export const badBlockMethods: readonly RpcMethod[] = [getBadBlocks, traceBadBlock]
