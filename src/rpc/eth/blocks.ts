import { ethereumBlockSize } from '../../chain/ethereumBlock.ts'
import { formatBlock, formatPendingBlock } from '../format/block.ts'
import { formatHeader } from '../format/header.ts'
import type { JsonObject } from '../format/json.ts'
import { defineMethod, type RpcContext } from '../method.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import { readBlockNumberOrTag } from '../params/blockNumberOrTag.ts'
import { readBool } from '../params/bool.ts'
import { readHash } from '../params/data.ts'
import { findBlock, findHeader } from './loadBlock.ts'
import { nextHeader } from './nextBlock.ts'

/** `pending` is the next block as far as it is known: no transactions, and null for hash, nonce and miner. */
export const getBlockByNumber = defineMethod({
  name: 'eth_getBlockByNumber',
  queue: 'cheap',
  params: [readBlockNumberOrTag, readBool],
  required: 2,
  run: (context, number, full) =>
    number === 'pending' ? pendingBlock(context) : blockOrNull(context, { kind: 'number', number }, full),
})

export const getBlockByHash = defineMethod({
  name: 'eth_getBlockByHash',
  queue: 'cheap',
  params: [readHash, readBool],
  required: 2,
  run: (context, hash, full) => blockOrNull(context, { kind: 'hash', hash, requireCanonical: false }, full),
})

export const getHeaderByNumber = defineMethod({
  name: 'eth_getHeaderByNumber',
  queue: 'socket',
  params: [readBlockNumberOrTag],
  required: 1,
  run: (context, number) => {
    if (number !== 'pending') return headerOrNull(context, { kind: 'number', number })
    const header = nextHeader(context.view, context.chain, context.now())
    return { ...formatHeader(header, header.parentHash), hash: null, nonce: null, miner: null }
  },
})

export const getHeaderByHash = defineMethod({
  name: 'eth_getHeaderByHash',
  queue: 'socket',
  params: [readHash],
  required: 1,
  run: (context, hash) => headerOrNull(context, { kind: 'hash', hash, requireCanonical: false }),
})

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
