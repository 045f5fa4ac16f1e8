import type { NodeView } from '../../state/view.ts'

/*
 * Which blocks are read where. To decode a whole block takes milliseconds that all other connections of a socket thread would wait for, so
 * it reads the newest few only; and to read a block from a segment, 64 are decoded, which takes several times as long, so only heavy
 * tasks do that: there clients take turns, and transactions and commits that wait to be checked do not wait for them.
 */

/**
 * So many blocks are decoded in a socket thread: nearly all requests are for the newest, and its cache holds these together even when all are
 * full. Each of them is decoded once, however often clients ask.
 */
const NEWEST_BLOCKS = 5

/** A method wants an older block than may be read where it runs: it is run again in a view thread. */
export class OldBlock extends Error {
  override readonly name = 'OldBlock'
  /** the queue where it may be read */
  readonly queue: 'cheap' | 'heavy'

  constructor(queue: OldBlock['queue'], message: string) {
    super(message)
    this.queue = queue
  }
}

/** Whether this is an {@link OldBlock}, which may come from another thread: there it has lost its class. */
export function isOldBlock(error: unknown): error is OldBlock {
  return error instanceof Error && error.name === 'OldBlock'
}

/** `read`, but it throws {@link OldBlock} for a block that is not among the newest. */
export function unlessOld<T>(
  { headHeight }: { readonly headHeight: number },
  read: (height: number) => T,
): (height: number) => T {
  return (height) => {
    if (height <= headHeight - NEWEST_BLOCKS) throw new OldBlock('cheap', `block ${height} is not among the newest`)
    return read(height)
  }
}

/** Most calls of a second are on the same view. */
const known = { newest: new WeakMap<NodeView, NodeView>(), unpacked: new WeakMap<NodeView, NodeView>() }

/** For socket threads: the same view, whose bodies and receipts of blocks older than the newest throw {@link OldBlock}, and segments too. */
export function newestBlocksOf(view: NodeView): NodeView {
  const newest = known.newest.get(view) ?? limited(unpackedBlocksOf(view))
  known.newest.set(view, newest)
  return newest
}

/** For cheap tasks: the same view, which throws {@link OldBlock} before it reads a block from a segment. */
export function unpackedBlocksOf(view: NodeView): NodeView {
  const unpacked = known.unpacked.get(view) ?? { ...view, chain: view.chain.withoutSegments(refuseSegment) }
  known.unpacked.set(view, unpacked)
  return unpacked
}

function refuseSegment(height: number): never {
  throw new OldBlock('heavy', `block ${height} is in a segment`)
}

function limited(view: NodeView): NodeView {
  const { chain } = view
  const newest = <T>(read: (height: number) => T) => unlessOld(chain, read)
  return {
    ...view,
    chain: {
      ...chain,
      transactions: newest(chain.transactions),
      transactionCount: newest(chain.transactionCount),
      receipts: newest(chain.receipts),
      size: newest(chain.size),
      entryResults: newest(chain.entryResults),
      blockEvents: newest(chain.blockEvents),
      consensusBlock: newest(chain.consensusBlock),
    },
  }
}
