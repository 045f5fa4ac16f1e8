import { EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'

/** Number of parts of an encoded block and the Merkle root over them. */
export interface PartSetHeader {
  readonly total: number
  /** 32 bytes; empty in a nil block ID */
  readonly hash: Uint8Array
}

/** The ID of a block in votes: its header hash with the root of its parts. */
export interface BlockId {
  /** header hash, 32 bytes; empty in a nil block ID */
  readonly hash: Uint8Array
  readonly partSetHeader: PartSetHeader
}

/** A vote's block ID when it is for no block, and the last block ID of the first block. */
export const NIL_BLOCK_ID: BlockId = { hash: EMPTY_BYTES, partSetHeader: { total: 0, hash: EMPTY_BYTES } }

export function isNilBlockId(id: BlockId): boolean {
  return id.hash.length === 0 && id.partSetHeader.total === 0 && id.partSetHeader.hash.length === 0
}

export function equalBlockId(a: BlockId, b: BlockId): boolean {
  return (
    equalBytes(a.hash, b.hash) &&
    a.partSetHeader.total === b.partSetHeader.total &&
    equalBytes(a.partSetHeader.hash, b.partSetHeader.hash)
  )
}

/**
 * Times are integer milliseconds since the epoch. This is Go's zero time (year 1), which an absent commit signature
 * carries.
 */
export const ZERO_TIME_MS = -62_135_596_800_000

/** tendermint.types.SignedMsgType */
export const SIGNED_MESSAGE_TYPES = { prevote: 1, precommit: 2, proposal: 32 } as const

export type VoteType = typeof SIGNED_MESSAGE_TYPES.prevote | typeof SIGNED_MESSAGE_TYPES.precommit

/** A vote before it is signed: the fields that the sign bytes cover, and the voting validator. */
export interface UnsignedVote {
  readonly type: VoteType
  readonly height: number
  readonly round: number
  /** nil when the vote is for no block */
  readonly blockId: BlockId
  readonly timestampMs: number
  /** 20 bytes */
  readonly validatorAddress: Uint8Array
  /** position in the height's validator set */
  readonly validatorIndex: number
}

export interface Vote extends UnsignedVote {
  /** ed25519, 64 bytes */
  readonly signature: Uint8Array
}

export interface UnsignedProposal {
  readonly height: number
  readonly round: number
  /** round of the proof-of-lock prevotes; -1 without a proof */
  readonly polRound: number
  readonly blockId: BlockId
  readonly timestampMs: number
}

export interface Proposal extends UnsignedProposal {
  /** ed25519, 64 bytes */
  readonly signature: Uint8Array
}

/** tendermint.types.BlockIDFlag */
export const BLOCK_ID_FLAGS = { absent: 1, commit: 2, nil: 3 } as const

type BlockIdFlag = (typeof BLOCK_ID_FLAGS)[keyof typeof BLOCK_ID_FLAGS]

/** The entry of one validator in a commit. */
export interface CommitSig {
  readonly flag: BlockIdFlag
  /** 20 bytes; empty when absent */
  readonly validatorAddress: Uint8Array
  /** {@link ZERO_TIME_MS} when absent */
  readonly timestampMs: number
  /** 64 bytes; empty when absent */
  readonly signature: Uint8Array
}

export const ABSENT_COMMIT_SIG: CommitSig = {
  flag: BLOCK_ID_FLAGS.absent,
  validatorAddress: EMPTY_BYTES,
  timestampMs: ZERO_TIME_MS,
  signature: EMPTY_BYTES,
}

/** The precommits that decided a block, in the order of the height's validator set. */
export interface Commit {
  readonly height: number
  readonly round: number
  readonly blockId: BlockId
  readonly signatures: readonly CommitSig[]
}

/** The last commit of the first block. */
export const EMPTY_COMMIT: Commit = { height: 0, round: 0, blockId: NIL_BLOCK_ID, signatures: [] }

export interface Validator {
  /** sha256(publicKey)[:20] */
  readonly address: Uint8Array
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  readonly power: bigint
}

/** Sorted by power (descending), then address (ascending); votes and commits refer to positions. */
export interface ValidatorSet {
  readonly validators: readonly Validator[]
  readonly totalPower: bigint
}

/** A validator set with CometBFT's proposer priorities as of one height. */
export interface RankedValidatorSet extends ValidatorSet {
  /** int64, in the order of `validators` */
  readonly priorities: readonly bigint[]
  /** position of the proposer of round 0 */
  readonly proposer: number
}

/** Two different votes of one validator for the same height, round and type. */
export interface DuplicateVoteEvidence {
  readonly kind: 'duplicateVote'
  /** the vote whose block ID sorts first */
  readonly voteA: Vote
  readonly voteB: Vote
  readonly totalVotingPower: bigint
  readonly validatorPower: bigint
  /** time of the block at the votes' height */
  readonly timestampMs: number
}

export type Evidence = DuplicateVoteEvidence
