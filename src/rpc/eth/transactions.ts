import { decodeTransaction, type SignedTransaction } from '../../chain/block/transaction.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { TransactionLocation } from '../../chain/store/hashLookups.ts'
import { bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { NodeView } from '../../state/view.ts'
import type { JsonObject } from '../format/json.ts'
import { formatMinedTransaction, formatPendingTransaction } from '../format/transaction.ts'
import { defineMethod, type RpcContext } from '../jsonrpc/method.ts'
import { type BlocksRead, blocksAt } from '../jsonrpc/place.ts'
import {
  type BlockSelector,
  byHash,
  byNumber,
  readBlockNumberOrHash,
  readBlockNumberOrTag,
} from '../params/blockSelector.ts'
import { readHash, readIndex } from '../params/values.ts'
import { type BlockBody, bodyRead, cacheableHeight, findBody, findReceipts, formatReceipts } from './blockLookup.ts'

/** A mined or pooled transaction; null for an unknown one. */
export const getTransactionByHash = defineMethod({
  name: 'eth_getTransactionByHash',
  runs: 'socket',
  params: [readHash],
  reads: (chain, hash) => transactionRead(chain, hash),
  run: async ({ view, txs }, hash) => {
    const mined = locate(view, hash)
    if (mined !== undefined) return formatLocated(mined)
    const pooled = await txs.get(hash)
    return pooled === undefined ? null : formatPendingTransaction(decodeTransaction(pooled.raw), pooled.sender)
  },
})

export const getTransactionByBlockHashAndIndex = defineMethod({
  name: 'eth_getTransactionByBlockHashAndIndex',
  runs: 'socket',
  params: [readHash, readIndex],
  reads: (chain, hash) => bodyRead(chain, byHash(hash)),
  run: (context, hash, index) => orNull(atIndex(context, byHash(hash), index), formatLocated),
})

export const getTransactionByBlockNumberAndIndex = defineMethod({
  name: 'eth_getTransactionByBlockNumberAndIndex',
  runs: 'socket',
  params: [readBlockNumberOrTag, readIndex],
  reads: (chain, number) => bodyRead(chain, byNumber(number)),
  run: (context, number, index) => orNull(atIndex(context, byNumber(number), index), formatLocated),
})

/** The envelope's bytes of a mined or pooled transaction; `0x` for an unknown one, as geth answers. */
export const getRawTransactionByHash = defineMethod({
  name: 'eth_getRawTransactionByHash',
  runs: 'socket',
  params: [readHash],
  reads: (chain, hash) => transactionRead(chain, hash),
  run: (context, hash) => rawTransaction(context, hash),
})

export const getRawTransactionByBlockHashAndIndex = defineMethod({
  name: 'eth_getRawTransactionByBlockHashAndIndex',
  runs: 'socket',
  params: [readHash, readIndex],
  reads: (chain, hash) => bodyRead(chain, byHash(hash)),
  run: (context, hash, index) => formatRaw(atIndex(context, byHash(hash), index)),
})

export const getRawTransactionByBlockNumberAndIndex = defineMethod({
  name: 'eth_getRawTransactionByBlockNumberAndIndex',
  runs: 'socket',
  params: [readBlockNumberOrTag, readIndex],
  reads: (chain, number) => bodyRead(chain, byNumber(number)),
  run: (context, number, index) => formatRaw(atIndex(context, byNumber(number), index)),
})

/** The receipt; null while the transaction is not in a block. */
export const getTransactionReceipt = defineMethod({
  name: 'eth_getTransactionReceipt',
  runs: 'socket',
  params: [readHash],
  reads: (chain, hash) => transactionRead(chain, hash),
  run: ({ view }, hash) => minedReceipt(view, hash) ?? null,
})

/** All receipts of a block in order; null for an unknown block. */
export const getBlockReceipts = defineMethod({
  name: 'eth_getBlockReceipts',
  runs: 'cheap',
  params: [readBlockNumberOrHash],
  reads: (chain, selector) => bodyRead(chain, selector),
  cacheable: (chain, selector) => {
    const height = cacheableHeight(chain, selector)
    if (height === undefined) return undefined
    return { from: height, to: height, method: 'eth_getBlockReceipts', params: [toQuantity(height)] }
  },
  run: ({ view }, selector) => {
    const block = findReceipts(view.chain, selector)
    return block === undefined ? null : formatReceipts(block)
  },
})

/** See {@link getRawTransactionByHash}; debug_getRawTransaction returns the same. */
export async function rawTransaction({ view, txs }: RpcContext, hash: Hash): Promise<string> {
  const mined = locate(view, hash)
  if (mined !== undefined) return formatRaw(mined)
  const pooled = await txs.get(hash)
  return pooled === undefined ? '0x' : bytesToHex(pooled.raw)
}

/**
 * Returns the receipt of a mined transaction as JSON; undefined when the transaction is not in a
 * block.
 */
export function minedReceipt(view: Pick<NodeView, 'chain'>, hash: Hash): JsonObject | undefined {
  const location = locateMined(view, hash)
  if (location === undefined) return undefined
  const block = findReceipts(view.chain, byNumber(location.height))
  return block === undefined ? undefined : formatReceipts(block, location.index)[0]
}

/** Returns the block that {@link locateMined} and its callers read. */
export function transactionRead(chain: ChainReader, hash: Hash): BlocksRead | undefined {
  return blocksAt('body', chain.heightsOfTransaction(hash))
}

/** Locates a mined transaction; undefined when it is unknown or its block is not retained. */
export function locateMined(view: Pick<NodeView, 'chain'>, hash: Hash): TransactionLocation | undefined {
  const location = view.chain.locate(hash)
  return location === undefined || location.height > view.chain.headHeight ? undefined : location
}

interface Located {
  readonly block: BlockBody
  readonly index: number
  readonly signed: SignedTransaction
}

function locate(view: NodeView, hash: Hash): Located | undefined {
  const location = locateMined(view, hash)
  if (location === undefined) return undefined
  const block = findBody(view.chain, byNumber(location.height))
  return block === undefined ? undefined : pick(block, location.index)
}

function atIndex({ view }: RpcContext, selector: BlockSelector, index: number): Located | undefined {
  const block = findBody(view.chain, selector)
  return block === undefined ? undefined : pick(block, index)
}

function pick(block: BlockBody, index: number): Located | undefined {
  const signed = block.transactions[index]
  return signed === undefined ? undefined : { block, index, signed }
}

function formatLocated({ block, index, signed }: Located): JsonObject {
  return formatMinedTransaction(signed, { header: block.header, hash: block.hash, index })
}

function formatRaw(located: Located | undefined): string {
  return located === undefined ? '0x' : bytesToHex(located.signed.transaction.raw)
}

function orNull<T>(value: T | undefined, format: (value: T) => JsonObject): JsonObject | null {
  return value === undefined ? null : format(value)
}
