/** How one validator of the block before voted on it, as the proposer saw it. */
export interface CommitVote {
  /** consensus address, 20 bytes */
  readonly address: Uint8Array
  readonly power: bigint
  readonly vote: 'signed' | 'nil' | 'absent'
}

/** Who decided the block before. */
export interface LastCommitInfo {
  readonly round: number
  /** in the order of that block's validator set; empty in the first block */
  readonly votes: readonly CommitVote[]
}

/** A validator's proven fault. */
export interface Misbehaviour {
  readonly kind: 'duplicateVote'
  /** consensus address, 20 bytes */
  readonly address: Uint8Array
  /** its own and the total power at `height` */
  readonly power: bigint
  readonly totalPower: bigint
  readonly height: number
  /** of the block at that height, milliseconds since the epoch */
  readonly timeMs: number
  /** sha256 of `bytes`, which are the evidence as the block's evidence hash covers it */
  readonly hash: Uint8Array
  readonly bytes: Uint8Array
}
