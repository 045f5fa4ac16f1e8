/** Bounds of block sync. Times are milliseconds. */
export interface SyncLimits {
  /** heights past the newest executed block that are fetched ahead */
  readonly aheadBlocks: number
  /** bytes of fetched blocks that wait for their turn; only what is next in turn is fetched beyond it */
  readonly heldBytes: number
  /** blocks that one request asks for at most */
  readonly requestBlocks: number
  /** bytes after which an answer ends */
  readonly requestBytes: number
  /** requests that one peer is given at a time; one less than peers accept, which leaves one for polls and proofs */
  readonly peerRequests: number
  /** a request that takes longer has failed, whatever the peer has sent of the answer */
  readonly requestMs: number
  /** the block that is next in turn is asked of a second peer after at least this time */
  readonly hedgeMs: number
  /** failed requests in a row after which what a peer says of its height is not believed */
  readonly failures: number
  /** first and longest pause of a peer after a failed request */
  readonly pauseMs: number
  readonly maxPauseMs: number
  /** sync that gets no block in this time ends, whatever peers say */
  readonly stallMs: number
}

export const SYNC_LIMITS: SyncLimits = {
  aheadBlocks: 1024,
  heldBytes: 64 << 20,
  requestBlocks: 64,
  requestBytes: 1 << 20,
  peerRequests: 3,
  requestMs: 10_000,
  hedgeMs: 250,
  failures: 2,
  pauseMs: 1_000,
  maxPauseMs: 60_000,
  stallMs: 30_000,
}

/**
 * A block is readable a moment after its height is announced, and answers overtake each other: a peer whose height is lower by
 * this much has not lied.
 */
export const HEIGHT_SLACK = 2
