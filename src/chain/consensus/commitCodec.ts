import type { Hash } from '../../primitives/hash.ts'
import { merkleRoot } from './merkle.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type Commit,
  type CommitSig,
  EMPTY_COMMIT,
  isNilBlockId,
  ZERO_TIME_MS,
} from './types.ts'
import {
  decodeMessage,
  encodeMessage,
  fail,
  type MessageCodec,
  readBlockId,
  readTime,
  toInt32,
  toInteger,
  toSized,
  writeBlockId,
  writeTime,
} from './wire.ts'

/** tendermint.types.CommitSig */
const COMMIT_SIG_CODEC: MessageCodec<CommitSig> = {
  name: 'commit signature',
  write: (writer, sig) =>
    writer
      .varint(1, sig.flag)
      .bytes(2, sig.validatorAddress)
      .message(3, writeTime, sig.timestampMs)
      .bytes(4, sig.signature),
  read: (fields) => {
    const flag = Number(fields.integer(1))
    const timestampMs = fields.message(3, readTime)
    if (flag === BLOCK_ID_FLAGS.absent) {
      toSized(fields.bytes(2), 0, 'absent validator address')
      toSized(fields.bytes(4), 0, 'absent signature')
      if (timestampMs !== ZERO_TIME_MS) fail('an absent signature has a timestamp')
      return ABSENT_COMMIT_SIG
    }
    if (flag !== BLOCK_ID_FLAGS.commit && flag !== BLOCK_ID_FLAGS.nil) return fail(`unknown block ID flag ${flag}`)
    return {
      flag,
      validatorAddress: toSized(fields.bytes(2), 20, 'validator address'),
      timestampMs,
      signature: toSized(fields.bytes(4), 64, 'signature'),
    }
  },
}

/** tendermint.types.Commit. One without signatures is the first block's, all zero. */
export const COMMIT_CODEC: MessageCodec<Commit> = {
  name: 'commit',
  write: (writer, commit) =>
    writer
      .varint(1, commit.height)
      .varint(2, commit.round)
      .message(3, writeBlockId, commit.blockId)
      .repeatedMessage(4, COMMIT_SIG_CODEC.write, commit.signatures),
  read: (fields) => {
    const blockId = fields.message(3, readBlockId)
    const signatures = fields.repeatedMessage(4, COMMIT_SIG_CODEC.read)
    const empty = signatures.length === 0
    if (empty !== isNilBlockId(blockId)) fail('a commit has a block ID and signatures, or neither')
    const height = toInteger(fields.integer(1), empty ? 0 : 1, 'height')
    const round = toInt32(fields.integer(2), 0, 'round')
    if (!empty) return { height, round, blockId, signatures }
    if (height !== 0 || round !== 0) fail('a commit without signatures has a height or a round')
    return EMPTY_COMMIT
  },
}

/** Protobuf bytes of tendermint.types.Commit. */
export function encodeCommit(commit: Commit): Uint8Array {
  return encodeMessage(COMMIT_CODEC, commit)
}

/** @throws ConsensusDecodingError */
export function decodeCommit(bytes: Uint8Array): Commit {
  return decodeMessage(COMMIT_CODEC, bytes)
}

/** header.last_commit_hash of the next block: Merkle root over the encoded signatures. */
export function commitHash(commit: Pick<Commit, 'signatures'>): Hash {
  return merkleRoot(commit.signatures.map((sig) => encodeMessage(COMMIT_SIG_CODEC, sig)))
}
