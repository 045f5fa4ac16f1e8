import type { NodeView } from '../state/view.ts'

/**
 * So many blocks are decoded in a socket thread: nearly all requests are for the newest, and its cache holds these together even when all are
 * full. Each of them is decoded once, however often clients ask.
 */
const NEWEST_BLOCKS = 5

/**
 * A method that runs in a socket thread wants the body of an older block. To decode a whole block for one request takes milliseconds that
 * all other connections would wait for, so the method is run again in a view thread.
 */
export class OldBlock extends Error {
  override readonly name = 'OldBlock'
}

/** `read`, but it throws {@link OldBlock} for a block that is not among the newest. */
export function unlessOld<T>(
  { headHeight }: { readonly headHeight: number },
  read: (height: number) => T,
): (height: number) => T {
  return (height) => {
    if (height <= headHeight - NEWEST_BLOCKS) throw new OldBlock(`block ${height} is not among the newest`)
    return read(height)
  }
}

/** Most calls of a second are on the same view. */
const known = new WeakMap<NodeView, NodeView>()

/** The same view, whose bodies and receipts of blocks older than the newest throw {@link OldBlock}. */
export function newestBlocksOf(view: NodeView): NodeView {
  const newest = known.get(view) ?? limited(view)
  known.set(view, newest)
  return newest
}

function limited(view: NodeView): NodeView {
  const { chain } = view
  const newest = <T>(read: (height: number) => T) => unlessOld(chain, read)
  return {
    ...view,
    chain: {
      ...chain,
      transactions: newest(chain.transactions),
      receipts: newest(chain.receipts),
      size: newest(chain.size),
      entryResults: newest(chain.entryResults),
      blockEvents: newest(chain.blockEvents),
      consensusBlock: newest(chain.consensusBlock),
    },
  }
}
