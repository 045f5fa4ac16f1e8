import type { ChainReader } from '../../chain/store/chainReader.ts'

/*
 * Which calls run where. Decoding a whole block takes milliseconds, for which all other connections
 * of a socket thread would wait, so these threads only decode the newest few. Reading a block from
 * a segment decodes 64 blocks, which takes several times as long, so only heavy tasks do that:
 * there clients take turns, and checks of transactions and commits do not wait for them.
 */

/**
 * Where a method may run:
 * - `socket`: in the thread that holds the connection (a few database reads at most);
 * - `quick`: there too as long as the quota of its event loop's turn allows it (a sender's recovery), else like `cheap`;
 * - `short`: tried there within the limits of a short call, else like `heavy`; see {@link ShortForm};
 * - `cheap`: in a view thread, work of at most a few milliseconds;
 * - `heavy`: in a view thread, with turns and a deadline (EVM code, proofs, log scans, blocks in segments);
 * - `trace`: like `heavy`, few at a time, because they take much memory.
 *
 * A method of the first kinds that reads blocks says which ({@link BlocksRead}); old ones move the call to a view thread.
 */
export type Runs = 'socket' | 'quick' | 'short' | ViewQueue

/** The queues of view threads. */
export type ViewQueue = 'cheap' | 'heavy' | 'trace'

/** The blocks that a call reads. */
export interface BlocksRead {
  /** `body`: transactions, receipts or the consensus block, which are decoded whole; `header`: the header or a hash alone */
  readonly part: 'header' | 'body'
  /** height of the oldest one */
  readonly oldest: number
}

/**
 * Number of newest blocks that a socket thread decodes. Nearly all requests are for the newest
 * blocks, and the thread's cache holds this many even when all are full, so each of them is decoded
 * once, however often clients request it.
 */
const NEWEST_BLOCKS = 5

/**
 * Returns where a call that reads these blocks runs: the method's own place, or a queue of the view
 * threads where it takes longer.
 */
export function placeOf<R extends Runs>(
  runs: R,
  read: BlocksRead | undefined,
  { headHeight, packedBelow }: Pick<ChainReader, 'headHeight' | 'packedBelow'>,
): R | 'cheap' | 'heavy' {
  if (read === undefined || runs === 'heavy' || runs === 'trace') return runs
  if (read.oldest < packedBelow) return 'heavy'
  return runs === 'socket' && read.part === 'body' && read.oldest <= headHeight - NEWEST_BLOCKS ? 'cheap' : runs
}

/** Returns the blocks at these heights; undefined when the list is empty. */
export function blocksAt(part: BlocksRead['part'], heights: readonly number[]): BlocksRead | undefined {
  return heights.length === 0 ? undefined : { part, oldest: Math.min(...heights) }
}
