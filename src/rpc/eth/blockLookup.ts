import { type EthereumHeader, ethereumBlockSize } from '../../chain/block/ethereumBlock.ts'
import type { Receipt } from '../../chain/block/receipt.ts'
import type { ChainReader } from '../../chain/store/store.ts'
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

/** The height that a number or tag means. A decided block is final: latest, safe and finalized are the head. */
export function heightOfTag(chain: Heights, at: BlockNumberOrTag): number {
  if (typeof at === 'number') return at
  // Right after a restore no block has its receipts yet.
  return at === 'earliest' ? Math.min(chain.oldestBlock, chain.headHeight) : chain.headHeight
}

/** Height of a block that the chain has; undefined for another. Every known block is canonical. */
function findHeight(chain: Heights & Pick<ChainReader, 'heightOf'>, selector: BlockSelector): number | undefined {
  const height = selector.kind === 'hash' ? chain.heightOf(selector.hash) : heightOfTag(chain, selector.number)
  return height === undefined || height > chain.headHeight ? undefined : height
}

/** The blocks that {@link findHeight} reads: a hash in a segment is compared with the block's. */
export function hashRead(chain: ChainReader, selector: BlockSelector): BlocksRead | undefined {
  return selector.kind === 'hash' ? blocksAt('header', chain.heightsOf(selector.hash)) : undefined
}

/** The block that {@link findHeader} reads. */
export function headerRead(chain: ChainReader, selector: BlockSelector): BlocksRead | undefined {
  return blocksAt('header', candidateHeights(chain, selector))
}

/** The block that {@link findBody}, {@link findTransactionCount}, {@link findBlock} and {@link findReceipts} read. */
export function bodyRead(chain: ChainReader, selector: BlockSelector): BlocksRead | undefined {
  return blocksAt('body', candidateHeights(chain, selector))
}

/** Heights that {@link findHeight} may return, found without reading a block. */
function candidateHeights(chain: ChainReader, selector: BlockSelector): readonly number[] {
  if (selector.kind === 'hash') return chain.heightsOf(selector.hash)
  const height = heightOfTag(chain, selector.number)
  return height > chain.headHeight ? [] : [height]
}

/** {@link findHeight} where it reads no block from a segment, else undefined: for what is settled on the way to a view thread. */
export function settledHeight(chain: ChainReader, selector: BlockSelector): number | undefined {
  const read = hashRead(chain, selector)
  return read !== undefined && read.oldest < chain.packedBelow ? undefined : findHeight(chain, selector)
}

interface LocatedHeader {
  readonly height: number
  readonly header: EthereumHeader
  readonly hash: Hash
}

/**
 * The header and hash of a block; undefined when there is no such block.
 * @throws RpcError when the node began after it
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
 * The transactions of a block; undefined when there is no such block.
 * @throws RpcError when they are no longer kept
 */
export function findBody(chain: ChainReader, selector: BlockSelector): BlockBody | undefined {
  const found = findHeader(chain, selector)
  if (found === undefined) return undefined
  const transactions = chain.transactions(found.height) ?? transactionsWithoutResults(chain, found.header)
  if (transactions === undefined) throw prunedHistory(chain)
  return { header: found.header, hash: found.hash, transactions }
}

/**
 * How many transactions {@link findBody} finds.
 * @throws RpcError when the block's body is no longer kept
 */
export function findTransactionCount(chain: ChainReader, selector: BlockSelector): number | undefined {
  const height = findHeight(chain, selector)
  return height === undefined
    ? undefined
    : (chain.transactionCount(height) ?? findBody(chain, selector)?.transactions.length)
}

/**
 * A whole block; undefined when there is no such block.
 * @throws RpcError when its body is no longer kept
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
 * Transactions and receipts of a block; undefined when there is no such block.
 * @throws RpcError when they are no longer kept
 */
export function findReceipts(chain: ChainReader, selector: BlockSelector): BlockReceipts | undefined {
  const body = findBody(chain, selector)
  if (body === undefined) return undefined
  const receipts = chain.receipts(body.header.number) ?? receiptsWithoutResults(body.header)
  if (receipts === undefined) throw prunedHistory(chain)
  return { ...body, receipts }
}

/** The receipts of a block in JSON, or only the one at `index`. */
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

/** A block, or its body or receipts, is no longer kept (geth's error of EIP-4444), or never was. */
export function prunedHistory({ oldestBlock }: Pick<ChainReader, 'oldestBlock'>): RpcError {
  return new RpcError(RPC_CODES.prunedHistory, `pruned history unavailable: the oldest block is ${oldestBlock}`)
}

/** The state that a method reads. @throws RpcError */
export function selectState(view: NodeView, selector: BlockSelector): { height: number; state: StateReader } {
  const height = stateHeight(view, selector)
  return { height, state: readingState(() => view.stateAt(height)) }
}

/**
 * Height of the block whose state is asked for.
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
 * Runs `read`, which needs the state of a block, and turns the error for a missing state into the one that clients get.
 * @throws RpcError for a state older than the pruning window
 */
export function readingState<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw stateError(error)
  }
}

/** The error for RPC: a pruned state becomes an application error, others stay as they are. */
export function stateError(error: unknown): unknown {
  return error instanceof StateUnavailable ? serverError(error.message) : error
}
