import { type EthereumHeader, ethereumBlockSize } from '../../chain/block/ethereumBlock.ts'
import type { Receipt } from '../../chain/block/receipt.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { Hash } from '../../primitives/hash.ts'
import { StateUnavailable } from '../../state/head.ts'
import type { StateReader } from '../../state/reader.ts'
import type { NodeView } from '../../state/view.ts'
import type { BlockParts } from '../format/block.ts'
import type { JsonObject } from '../format/json.ts'
import { formatReceipt } from '../format/receipt.ts'
import { RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { type BlocksRead, blocksAt } from '../jsonrpc/place.ts'
import type { BlockNumberOrTag, BlockSelector } from '../params/blockSelector.ts'
import { receiptsWithoutResults, transactionsWithoutResults } from './bodyWithoutResults.ts'

type Heights = Pick<ChainReader, 'headHeight' | 'base' | 'oldestBlock'>

/**
 * Returns the height of a number or tag. A decided block is final: latest, safe and finalized are
 * the head.
 */
export function heightOfTag(chain: Heights, at: BlockNumberOrTag): number {
  if (typeof at === 'number') return at
  // Right after a restore no block has its receipts yet.
  return at === 'earliest' ? Math.min(chain.oldestBlock, chain.headHeight) : chain.headHeight
}

/**
 * Finds the height of a block; undefined when the chain does not have it. Every known block is
 * canonical.
 */
function findHeight(chain: Heights & Pick<ChainReader, 'heightOf'>, selector: BlockSelector): number | undefined {
  const height = selector.kind === 'hash' ? chain.heightOf(selector.hash) : heightOfTag(chain, selector.number)
  return height === undefined || height > chain.headHeight ? undefined : height
}

/**
 * Returns the blocks that {@link findHeight} reads: a block in a segment has to be read to compare
 * its hash.
 */
export function hashRead(chain: ChainReader, selector: BlockSelector): BlocksRead | undefined {
  return selector.kind === 'hash' ? blocksAt('header', chain.heightsOf(selector.hash)) : undefined
}

/** Returns the block that {@link findHeader} reads. */
export function headerRead(chain: ChainReader, selector: BlockSelector): BlocksRead | undefined {
  return blocksAt('header', candidateHeights(chain, selector))
}

/**
 * Returns the block that {@link findBody}, {@link findTransactionCount}, {@link findBlock} and
 * {@link findReceipts} read.
 */
export function bodyRead(chain: ChainReader, selector: BlockSelector): BlocksRead | undefined {
  return blocksAt('body', candidateHeights(chain, selector))
}

/** Returns the heights that {@link findHeight} may return, without reading a block. */
function candidateHeights(chain: ChainReader, selector: BlockSelector): readonly number[] {
  if (selector.kind === 'hash') return chain.heightsOf(selector.hash)
  const height = heightOfTag(chain, selector.number)
  return height > chain.headHeight ? [] : [height]
}

/**
 * {@link findHeight} where it reads no block from a segment, else undefined: for requests about
 * decided blocks, which are looked up before they go to a view thread.
 */
export function cacheableHeight(chain: ChainReader, selector: BlockSelector): number | undefined {
  const read = hashRead(chain, selector)
  return read !== undefined && read.oldest < chain.packedBelow ? undefined : findHeight(chain, selector)
}

interface LocatedHeader {
  readonly height: number
  readonly header: EthereumHeader
  readonly hash: Hash
}

/**
 * Finds the header and hash of a block; undefined when there is no such block.
 * @throws RpcError when the block is older than the node's oldest
 */
export function findHeader(chain: ChainReader, selector: BlockSelector): LocatedHeader | undefined {
  const height = findHeight(chain, selector)
  if (height === undefined) return undefined
  const header = chain.header(height)
  const hash = chain.hash(height)
  if (header === undefined && height < chain.base) throw prunedHistory(chain)
  return header === undefined || hash === undefined ? undefined : { height, header, hash }
}

/** A block's header, hash and transactions. */
export type BlockBody = Omit<BlockParts, 'size'>

/**
 * Finds the transactions of a block; undefined when there is no such block.
 * @throws RpcError when they are not retained
 */
export function findBody(chain: ChainReader, selector: BlockSelector): BlockBody | undefined {
  const found = findHeader(chain, selector)
  if (found === undefined) return undefined
  const transactions = chain.transactions(found.height) ?? transactionsWithoutResults(chain, found.header)
  if (transactions === undefined) throw prunedHistory(chain)
  return { header: found.header, hash: found.hash, transactions }
}

/**
 * Counts the transactions that {@link findBody} finds.
 * @throws RpcError when the block's body is not retained
 */
export function findTransactionCount(chain: ChainReader, selector: BlockSelector): number | undefined {
  const height = findHeight(chain, selector)
  return height === undefined
    ? undefined
    : (chain.transactionCount(height) ?? findBody(chain, selector)?.transactions.length)
}

/**
 * Finds a whole block; undefined when there is no such block.
 * @throws RpcError when its body is not retained
 */
export function findBlock(chain: ChainReader, selector: BlockSelector): BlockParts | undefined {
  const body = findBody(chain, selector)
  if (body === undefined) return undefined
  const size = chain.size(body.header.number) ?? ethereumBlockSize(body.header, body.transactions)
  return { ...body, size }
}

/** A block's transactions with their receipts. */
export interface BlockReceipts extends BlockBody {
  readonly receipts: readonly Receipt[]
}

/**
 * Finds the transactions and receipts of a block; undefined when there is no such block.
 * @throws RpcError when they are not retained
 */
export function findReceipts(chain: ChainReader, selector: BlockSelector): BlockReceipts | undefined {
  const body = findBody(chain, selector)
  if (body === undefined) return undefined
  const receipts = chain.receipts(body.header.number) ?? receiptsWithoutResults(body.header)
  if (receipts === undefined) throw prunedHistory(chain)
  return { ...body, receipts }
}

/** Formats the receipts of a block as JSON, or only the one at `index`. */
export function formatReceipts({ header, hash, transactions, receipts }: BlockReceipts, only?: number): JsonObject[] {
  const out: JsonObject[] = []
  let firstLogIndex = 0
  for (const [index, receipt] of receipts.entries()) {
    if (only === undefined || only === index) {
      out.push(formatReceipt(receipt, transactions[index]!, { header, hash, index, firstLogIndex }))
    }
    if (only === index) break
    firstLogIndex += receipt.logs.length
  }
  return out
}

/**
 * Returns the error for a block, or its body or receipts, that the node has removed or never had
 * (geth's error of EIP-4444).
 */
export function prunedHistory({ oldestBlock }: Pick<ChainReader, 'oldestBlock'>): RpcError {
  return new RpcError(RPC_CODES.prunedHistory, `pruned history unavailable: the oldest block is ${oldestBlock}`)
}

/** Returns the state that a method reads. @throws RpcError */
export function selectState(view: NodeView, selector: BlockSelector): { height: number; state: StateReader } {
  const height = stateHeight(view, selector)
  return { height, state: readingState(() => view.stateAt(height)) }
}

/**
 * Returns the height of the block whose state is requested.
 * @throws RpcError with geth's text when there is no such block
 */
export function stateHeight(view: Pick<NodeView, 'chain' | 'oldestState'>, selector: BlockSelector): number {
  const height = findHeight(view.chain, selector)
  if (height === undefined) {
    throw serverError(selector.kind === 'hash' ? 'header for hash not found' : 'header not found')
  }
  const isEarliest = selector.kind === 'number' && selector.number === 'earliest'
  return isEarliest ? Math.max(height, view.oldestState) : height
}

/**
 * Runs `read`, which needs the state of a block, and turns the error for a missing state into the
 * one for clients.
 * @throws RpcError for a state older than the pruning window
 */
export function readingState<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw stateError(error)
  }
}

/**
 * Returns the error for RPC: a pruned state becomes an application error, other errors are
 * unchanged.
 */
export function stateError(error: unknown): unknown {
  return error instanceof StateUnavailable ? serverError(error.message) : error
}
