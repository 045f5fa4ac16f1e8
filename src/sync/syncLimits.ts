/** Bounds of block sync. Times are milliseconds. */
export interface SyncLimits {
  /** heights past the newest executed block that are fetched ahead */
  readonly aheadBlocks: number
  /** bytes of fetched blocks that wait for their turn; beyond it only the next block is fetched */
  readonly bufferBytes: number
  /** blocks that one request asks for at most */
  readonly requestBlocks: number
  /** bytes after which an answer ends */
  readonly requestBytes: number
  /** open requests to one peer; one less than peers accept, because polls and proofs need one */
  readonly peerRequests: number
  /** a request that takes longer has failed, whatever the peer has sent of the answer */
  readonly requestMs: number
  /** a second peer is asked for the next block after at least this time */
  readonly hedgeMs: number
  /** after this many failed requests in a row, the height that a peer claims is not believed */
  readonly failures: number
  /** first and longest pause of a peer after a failed request */
  readonly pauseMs: number
  readonly maxPauseMs: number
  /** sync that gets no block in this time ends, whatever heights peers claim */
  readonly stallMs: number
}

export const SYNC_LIMITS: SyncLimits = {
  aheadBlocks: 1024,
  bufferBytes: 64 << 20,
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
