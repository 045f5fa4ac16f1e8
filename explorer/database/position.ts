/**
 * A position is a place in the chain in one number, so that rows of any table sort as things happened: the block's height times 2^20,
 * plus 0 for the start of the block, 1 + i for its transaction i (of both kinds, as in the consensus block) and 2^20 − 1 for its end.
 * A block has fewer than 2^16 transactions, because nodes decode no block with more fields (src/chain/comet/wire.ts). Heights may reach
 * 2^33, and every position stays below 2^53.
 */
const PLACES = 2 ** 20

/** The place of the transaction with this index in the consensus block. */
export function transactionPosition(height: number, index: number): number {
  return height * PLACES + 1 + index
}

/** The position of changes by modules before the first transaction; the lowest position of the block. */
export function beginPosition(height: number): number {
  return height * PLACES
}

/** The position of changes by modules after the last transaction; the highest position of the block. */
export function endPosition(height: number): number {
  return (height + 1) * PLACES - 1
}

export function heightOf(position: number): number {
  return Math.floor(position / PLACES)
}

/** Index of the transaction in the consensus block; undefined for start and end of a block. */
export function transactionIndexOf(position: number): number | undefined {
  const place = position % PLACES
  return place === 0 || place === PLACES - 1 ? undefined : place - 1
}
