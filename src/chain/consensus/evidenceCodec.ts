import type { Hash } from '../../primitives/hash.ts'
import { encodedTxSize } from './consensusParams.ts'
import { merkleRoot } from './merkle.ts'
import type { Evidence } from './types.ts'
import { VOTE_CODEC } from './voteCodec.ts'
import { decodeMessage, encodeMessage, fail, type MessageCodec, readTime, writeTime } from './wire.ts'

/** tendermint.types.DuplicateVoteEvidence */
const DUPLICATE_VOTE_CODEC: MessageCodec<Evidence> = {
  name: 'duplicate vote evidence',
  write: (writer, evidence) =>
    writer
      .message(1, VOTE_CODEC.write, evidence.voteA)
      .message(2, VOTE_CODEC.write, evidence.voteB)
      .varint(3, evidence.totalVotingPower)
      .varint(4, evidence.validatorPower)
      .message(5, writeTime, evidence.timestampMs),
  read: (fields) => {
    const totalVotingPower = fields.integer(3)
    const validatorPower = fields.integer(4)
    if (validatorPower <= 0n || totalVotingPower < validatorPower) fail('voting power is out of range')
    return {
      kind: 'duplicateVote',
      voteA: fields.message(1, VOTE_CODEC.read),
      voteB: fields.message(2, VOTE_CODEC.read),
      totalVotingPower,
      validatorPower,
      timestampMs: fields.message(5, readTime),
    }
  },
}

/**
 * tendermint.types.Evidence, a choice of which field 1 is two votes. Evidence of light-client attacks (field 2) is not a
 * kind of this chain: full nodes verify every block.
 */
export const EVIDENCE_CODEC: MessageCodec<Evidence> = {
  name: 'evidence',
  write: (writer, evidence) => writer.message(1, DUPLICATE_VOTE_CODEC.write, evidence),
  read: (fields) => fields.message(1, DUPLICATE_VOTE_CODEC.read),
}

/** Protobuf bytes of tendermint.types.DuplicateVoteEvidence, as the evidence hash covers them. */
export function encodeEvidence(evidence: Evidence): Uint8Array {
  return encodeMessage(DUPLICATE_VOTE_CODEC, evidence)
}

/**
 * Reads what {@link encodeEvidence} wrote.
 * @throws ConsensusDecodingError
 */
export function decodeEvidence(bytes: Uint8Array): Evidence {
  return decodeMessage(DUPLICATE_VOTE_CODEC, bytes)
}

/** header.evidence_hash: Merkle root over the encoded items. */
export function evidenceHash(evidence: readonly Evidence[]): Hash {
  return merkleRoot(evidence.map(encodeEvidence))
}

/** Bytes that these items take in a block, which the consensus parameters limit (CometBFT types/evidence.go, ByteSize). */
export function evidenceSize(evidence: readonly Evidence[]): number {
  return evidence.reduce((sum, item) => sum + encodedTxSize(encodeMessage(EVIDENCE_CODEC, item).length), 0)
}
