/** A started node that is measured. */
export interface Target {
  readonly name: string
  readonly url: string
  readonly port: number
  readonly pid: number
  /** page of its metrics; undefined: what is measured is not on it */
  readonly metricsUrl: string | undefined
  /** blocks since the last call; undefined for a node that does not report them */
  takeBlocks(): readonly BlockTiming[] | undefined
  /** how late timers of the main thread fired since the last call, 99th percentile in milliseconds */
  mainDelayMs(): Promise<number | undefined>
  stop(): Promise<void>
}

/** A block's times in the node's log. */
export interface BlockTiming {
  readonly atMs: number
  readonly txs: number
  readonly buildMs: number
  readonly finalizeMs: number
}
