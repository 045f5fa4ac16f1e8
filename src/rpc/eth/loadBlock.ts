import type { EthereumHeader } from '../../chain/ethereumBlock.ts'
import type { Receipt } from '../../chain/receipt.ts'
import type { ChainReader } from '../../chain/store.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { BlockParts } from '../format/block.ts'
import type { JsonObject } from '../format/json.ts'
import { formatReceipt } from '../format/receipt.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import { findHeight, prunedHistory } from './blockLookup.ts'

export interface LocatedHeader {
  readonly height: number
  readonly header: EthereumHeader
  readonly hash: Hash
}

/** The header and hash of a block; undefined when there is no such block. */
export function findHeader(chain: ChainReader, selector: BlockSelector): LocatedHeader | undefined {
  const height = findHeight(chain, selector)
  if (height === undefined) return undefined
  const header = chain.header(height)
  const hash = chain.hash(height)
  return header === undefined || hash === undefined ? undefined : { height, header, hash }
}

/** A block's header, hash and transactions. */
export type BlockBody = Omit<BlockParts, 'size'>

/**
 * The transactions of a block; undefined when there is no such block.
 * @throws RpcError when they are no longer kept
 */
export function findBody(chain: ChainReader, selector: BlockSelector): BlockBody | undefined {
  const found = findHeader(chain, selector)
  if (found === undefined) return undefined
  const transactions = chain.transactions(found.height)
  if (transactions === undefined) throw prunedHistory()
  return { header: found.header, hash: found.hash, transactions }
}

/**
 * A whole block; undefined when there is no such block.
 * @throws RpcError when its body is no longer kept
 */
export function findBlock(chain: ChainReader, selector: BlockSelector): BlockParts | undefined {
  const body = findBody(chain, selector)
  if (body === undefined) return undefined
  const size = chain.size(body.header.number)
  if (size === undefined) throw prunedHistory()
  return { ...body, size }
}

/** A block's transactions with their receipts. */
export interface BlockReceipts extends BlockBody {
  readonly receipts: readonly Receipt[]
}

/**
 * Transactions and receipts of a block; undefined when there is no such block.
 * @throws RpcError when they are no longer kept
 */
export function findReceipts(chain: ChainReader, selector: BlockSelector): BlockReceipts | undefined {
  const body = findBody(chain, selector)
  if (body === undefined) return undefined
  const receipts = chain.receipts(body.header.number)
  if (receipts === undefined) throw prunedHistory()
  return { ...body, receipts }
}

/** The receipts of a block in JSON, or only the one at `index`. */
export function formatReceipts({ header, hash, transactions, receipts }: BlockReceipts, only?: number): JsonObject[] {
  const out: JsonObject[] = []
  let firstLogIndex = 0
  receipts.forEach((receipt, index) => {
    if (only === undefined || only === index) {
      out.push(formatReceipt(receipt, transactions[index]!, { header, hash, index, firstLogIndex }))
    }
    firstLogIndex += receipt.logs.length
  })
  return out
}
