/** Bounds of block sync. Times are milliseconds. */
export interface SyncLimits {
  /** how many heights after the newest executed block are fetched in advance */
  readonly aheadBlocks: number
  /** bytes of fetched blocks that wait for their turn; above it only the next block is fetched */
  readonly bufferBytes: number
  /** most blocks of one request */
  readonly requestBlocks: number
  /** bytes after which an answer ends */
  readonly requestBytes: number
  /** open requests to one peer; one less than peers accept, because one is needed for polls of the height and for proofs */
  readonly peerRequests: number
  /** a request that takes longer has failed, also when a part of the answer has arrived */
  readonly requestMs: number
  /** a second peer is asked for the next block after at least this time */
  readonly hedgeMs: number
  /** after this many failed requests in a row, the height that a peer claims is not believed */
  readonly failures: number
  /** first and longest pause of a peer after a failed request */
  readonly pauseMs: number
  readonly maxPauseMs: number
  /** the sync ends when peers hold it up for this time, whatever heights they claim (see `BlockSync.isStalled`) */
  readonly stallMs: number
  /** the same for a validator, without which the others may be too few */
  readonly validatorStallMs: number
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
  validatorStallMs: 10_000,
}
