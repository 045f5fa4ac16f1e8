import { RPC_CODES, RpcError } from '../jsonrpc/errors.ts'
import { defineMethod } from '../jsonrpc/method.ts'
import { readBlockNumberOrHash } from '../params/blockSelector.ts'
import { findHeader, headerRead } from './blockLookup.ts'

/**
 * The access list of a block (EIP-7928), which blocks before Amsterdam do not have: an error for
 * every block of this chain; null for an unknown or pending one (execution-apis).
 */
export const getBlockAccessList = defineMethod({
  name: 'eth_getBlockAccessList',
  runs: 'socket',
  params: [readBlockNumberOrHash],
  reads: (chain, selector) => headerRead(chain, selector),
  run: ({ view }, selector) => {
    const isPending = selector.kind === 'number' && selector.number === 'pending'
    if (isPending || findHeader(view.chain, selector) === undefined) return null
    throw resourceNotFound()
  },
})

/** The same in RLP, but unknown blocks are an error too. */
export const getRawBlockAccessList = defineMethod({
  name: 'debug_getRawBlockAccessList',
  runs: 'socket',
  params: [readBlockNumberOrHash],
  run: () => {
    throw resourceNotFound()
  },
})

function resourceNotFound(): RpcError {
  return new RpcError(RPC_CODES.resourceNotFound, 'Resource not found')
}
