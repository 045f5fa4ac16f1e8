import { ethereumBlockSize } from '../../chain/block/ethereumBlock.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { toQuantity } from '../../primitives/bytes.ts'
import { formatBlock, formatHeader, formatPendingBlock } from '../format/block.ts'
import type { JsonObject } from '../format/json.ts'
import type { CacheableRequest } from '../jsonrpc/answerCache.ts'
import { defineMethod, type RpcContext } from '../jsonrpc/method.ts'
import { type BlockSelector, byHash, byNumber, readBlockNumberOrTag } from '../params/blockSelector.ts'
import { readBool, readHash, readIndex } from '../params/values.ts'
import { bodyRead, cacheableHeight, findBlock, findHeader, findTransactionCount, headerRead } from './blockLookup.ts'
import { nextHeader } from './nextBlock.ts'

/**
 * At `pending`, the next block as far as it is known: no transactions, and null for hash, nonce and
 * miner.
 */
export const getBlockByNumber = defineMethod({
  name: 'eth_getBlockByNumber',
  runs: 'cheap',
  params: [readBlockNumberOrTag, readBool],
  reads: (chain, number) => bodyRead(chain, byNumber(number)),
  cacheable: (chain, number, full) =>
    number === 'pending' ? undefined : cacheableBlock(chain, byNumber(number), full),
  run: (context, number, full) =>
    number === 'pending' ? pendingBlock(context) : blockOrNull(context, byNumber(number), full),
})

export const getBlockByHash = defineMethod({
  name: 'eth_getBlockByHash',
  runs: 'cheap',
  params: [readHash, readBool],
  reads: (chain, hash) => bodyRead(chain, byHash(hash)),
  cacheable: (chain, hash, full) => cacheableBlock(chain, byHash(hash), full),
  run: (context, hash, full) => blockOrNull(context, byHash(hash), full),
})

export const getHeaderByNumber = defineMethod({
  name: 'eth_getHeaderByNumber',
  runs: 'socket',
  params: [readBlockNumberOrTag],
  reads: (chain, number) => headerRead(chain, byNumber(number)),
  run: (context, number) => {
    if (number !== 'pending') return headerOrNull(context, byNumber(number))
    const header = nextHeader(context.view, context.chain, context.now())
    return { ...formatHeader(header, header.parentHash), hash: null, nonce: null, miner: null }
  },
})

export const getHeaderByHash = defineMethod({
  name: 'eth_getHeaderByHash',
  runs: 'socket',
  params: [readHash],
  reads: (chain, hash) => headerRead(chain, byHash(hash)),
  run: (context, hash) => headerOrNull(context, byHash(hash)),
})

export const getBlockTransactionCountByNumber = defineMethod({
  name: 'eth_getBlockTransactionCountByNumber',
  runs: 'socket',
  params: [readBlockNumberOrTag],
  reads: (chain, number) => bodyRead(chain, byNumber(number)),
  run: (context, number) => (number === 'pending' ? '0x0' : transactionCount(context, byNumber(number))),
})

export const getBlockTransactionCountByHash = defineMethod({
  name: 'eth_getBlockTransactionCountByHash',
  runs: 'socket',
  params: [readHash],
  reads: (chain, hash) => bodyRead(chain, byHash(hash)),
  run: (context, hash) => transactionCount(context, byHash(hash)),
})

/** Blocks have no uncles: 0 for a known block, null for an unknown one. */
export const getUncleCountByBlockNumber = defineMethod({
  name: 'eth_getUncleCountByBlockNumber',
  runs: 'socket',
  params: [readBlockNumberOrTag],
  reads: (chain, number) => headerRead(chain, byNumber(number)),
  run: (context, number) => uncleCount(context, byNumber(number)),
})

export const getUncleCountByBlockHash = defineMethod({
  name: 'eth_getUncleCountByBlockHash',
  runs: 'socket',
  params: [readHash],
  reads: (chain, hash) => headerRead(chain, byHash(hash)),
  run: (context, hash) => uncleCount(context, byHash(hash)),
})

export const getUncleByBlockNumberAndIndex = defineMethod({
  name: 'eth_getUncleByBlockNumberAndIndex',
  runs: 'socket',
  params: [readBlockNumberOrTag, readIndex],
  run: () => null,
})

export const getUncleByBlockHashAndIndex = defineMethod({
  name: 'eth_getUncleByBlockHashAndIndex',
  runs: 'socket',
  params: [readHash, readIndex],
  run: () => null,
})

function cacheableBlock(chain: ChainReader, selector: BlockSelector, full: boolean): CacheableRequest | undefined {
  const height = cacheableHeight(chain, selector)
  return height === undefined
    ? undefined
    : { from: height, to: height, method: getBlockByNumber.name, params: [toQuantity(height), full] }
}

function blockOrNull({ view }: RpcContext, selector: BlockSelector, full: boolean): JsonObject | null {
  const block = findBlock(view.chain, selector)
  return block === undefined ? null : formatBlock(block, full)
}

function headerOrNull({ view }: RpcContext, selector: BlockSelector): JsonObject | null {
  const found = findHeader(view.chain, selector)
  return found === undefined ? null : formatHeader(found.header, found.hash)
}

function pendingBlock({ view, chain, now }: RpcContext): JsonObject {
  const header = nextHeader(view, chain, now())
  return formatPendingBlock(header, ethereumBlockSize(header, []))
}

function transactionCount({ view }: RpcContext, selector: BlockSelector): string | null {
  const count = findTransactionCount(view.chain, selector)
  return count === undefined ? null : toQuantity(count)
}

function uncleCount({ view }: RpcContext, selector: BlockSelector): string | null {
  return findHeader(view.chain, selector) === undefined ? null : '0x0'
}
