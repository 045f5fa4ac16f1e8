import type { ChainReader } from '../../chain/store.ts'
import type { StateReader } from '../../state/reader.ts'
import { type NodeView, StateUnavailable } from '../../state/view.ts'
import { RPC_CODES, RpcError, serverError } from '../errors.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import type { BlockNumberOrTag } from '../params/blockNumberOrTag.ts'

type Heights = Pick<ChainReader, 'headHeight' | 'oldestBlock'>

/** The height that a number or tag means. A decided block is final: latest, safe and finalized are the head. */
export function heightOfTag(chain: Heights, at: BlockNumberOrTag): number {
  if (typeof at === 'number') return at
  return at === 'earliest' ? chain.oldestBlock : chain.headHeight
}

/** Height of a block that the chain has; undefined for another. Every known block is canonical. */
export function findHeight(
  chain: Heights & Pick<ChainReader, 'heightOf'>,
  selector: BlockSelector,
): number | undefined {
  const height = selector.kind === 'hash' ? chain.heightOf(selector.hash) : heightOfTag(chain, selector.number)
  return height === undefined || height > chain.headHeight ? undefined : height
}

/**
 * Height of the block whose state is asked for.
 * @throws RpcError in geth's words when there is no such block
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
 * Runs `read`, which needs the state of some block, and turns its absence into the error that clients get.
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

/** The state that a method reads. @throws RpcError */
export function selectState(view: NodeView, selector: BlockSelector): { height: number; state: StateReader } {
  const height = stateHeight(view, selector)
  return { height, state: readingState(() => view.stateAt(height)) }
}

/** The body or receipts of a known block are no longer kept (geth's error of EIP-4444). */
export function prunedHistory(): RpcError {
  return new RpcError(RPC_CODES.prunedHistory, 'pruned history unavailable')
}
