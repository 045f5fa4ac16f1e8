import { toQuantity } from '../format/quantity.ts'
import { defineMethod, type RpcContext } from '../method.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import { readBlockNumberOrTag } from '../params/blockNumberOrTag.ts'
import { readHash } from '../params/data.ts'
import { readIndex } from '../params/quantity.ts'
import { findBody, findHeader } from './loadBlock.ts'

export const getBlockTransactionCountByNumber = defineMethod({
  name: 'eth_getBlockTransactionCountByNumber',
  queue: 'socket',
  params: [readBlockNumberOrTag],
  required: 1,
  run: (context, number) => (number === 'pending' ? '0x0' : transactionCount(context, { kind: 'number', number })),
})

export const getBlockTransactionCountByHash = defineMethod({
  name: 'eth_getBlockTransactionCountByHash',
  queue: 'socket',
  params: [readHash],
  required: 1,
  run: (context, hash) => transactionCount(context, { kind: 'hash', hash, requireCanonical: false }),
})

/** Blocks have no uncles: 0 for a known block, null for another. */
export const getUncleCountByBlockNumber = defineMethod({
  name: 'eth_getUncleCountByBlockNumber',
  queue: 'socket',
  params: [readBlockNumberOrTag],
  required: 1,
  run: (context, number) => uncleCount(context, { kind: 'number', number }),
})

export const getUncleCountByBlockHash = defineMethod({
  name: 'eth_getUncleCountByBlockHash',
  queue: 'socket',
  params: [readHash],
  required: 1,
  run: (context, hash) => uncleCount(context, { kind: 'hash', hash, requireCanonical: false }),
})

export const getUncleByBlockNumberAndIndex = defineMethod({
  name: 'eth_getUncleByBlockNumberAndIndex',
  queue: 'socket',
  params: [readBlockNumberOrTag, readIndex],
  required: 2,
  run: () => null,
})

export const getUncleByBlockHashAndIndex = defineMethod({
  name: 'eth_getUncleByBlockHashAndIndex',
  queue: 'socket',
  params: [readHash, readIndex],
  required: 2,
  run: () => null,
})

function transactionCount({ view }: RpcContext, selector: BlockSelector): string | null {
  const block = findBody(view.chain, selector)
  return block === undefined ? null : toQuantity(block.transactions.length)
}

function uncleCount({ view }: RpcContext, selector: BlockSelector): string | null {
  return findHeader(view.chain, selector) === undefined ? null : '0x0'
}
