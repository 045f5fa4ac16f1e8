/** Sent when the index has new blocks. */
export interface IndexedBlocks {
  /** the newest block in the index */
  readonly height: number
  /** the newest block of the node, as far as it is known */
  readonly nodeHeight: number
}
