import { ProtobufWriter } from '../../primitives/protobuf.ts'
import {
  isNilBlockId,
  type Proposal,
  SIGNED_MESSAGE_TYPES,
  type UnsignedProposal,
  type UnsignedVote,
  type Vote,
  type VoteType,
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

/**
 * Returns the bytes that a validator signs for a vote: the length-delimited
 * tendermint.types.CanonicalVote. Address and index are not covered; a nil vote has no block ID
 * there. Height and round have a fixed width, for hardware signers.
 */
export function voteSignBytes(
  chainId: string,
  vote: Pick<UnsignedVote, 'type' | 'height' | 'round' | 'blockId' | 'timestampMs'>,
): Uint8Array {
  const writer = new ProtobufWriter().varint(1, vote.type).sfixed64(2, vote.height).sfixed64(3, vote.round)
  if (!isNilBlockId(vote.blockId)) writer.message(4, writeBlockId, vote.blockId)
  return writer.message(5, writeTime, vote.timestampMs).string(6, chainId).finishDelimited()
}

/**
 * Returns the bytes that a proposer signs: the length-delimited tendermint.types.CanonicalProposal.
 */
export function proposalSignBytes(chainId: string, proposal: UnsignedProposal): Uint8Array {
  return new ProtobufWriter()
    .varint(1, SIGNED_MESSAGE_TYPES.proposal)
    .sfixed64(2, proposal.height)
    .sfixed64(3, proposal.round)
    .varint(4, proposal.polRound)
    .message(5, writeBlockId, proposal.blockId)
    .message(6, writeTime, proposal.timestampMs)
    .string(7, chainId)
    .finishDelimited()
}

/** Returns the Protobuf bytes of tendermint.types.Vote. */
export function encodeVote(vote: Vote): Uint8Array {
  return encodeMessage(VOTE_CODEC, vote)
}

/** @throws ConsensusDecodingError */
export function decodeVote(bytes: Uint8Array): Vote {
  return decodeMessage(VOTE_CODEC, bytes)
}

/** Returns the Protobuf bytes of tendermint.types.Proposal. */
export function encodeProposal(proposal: Proposal): Uint8Array {
  return encodeMessage(PROPOSAL_CODEC, proposal)
}

/** @throws ConsensusDecodingError */
export function decodeProposal(bytes: Uint8Array): Proposal {
  return decodeMessage(PROPOSAL_CODEC, bytes)
}

/** tendermint.types.Vote; vote extensions are not used on this chain. */
export const VOTE_CODEC: MessageCodec<Vote> = {
  name: 'vote',
  write: (writer, vote) =>
    writer
      .varint(1, vote.type)
      .varint(2, vote.height)
      .varint(3, vote.round)
      .message(4, writeBlockId, vote.blockId)
      .message(5, writeTime, vote.timestampMs)
      .bytes(6, vote.validatorAddress)
      .varint(7, vote.validatorIndex)
      .bytes(8, vote.signature),
  read: (fields) => ({
    type: toVoteType(fields.integer(1)),
    height: toInteger(fields.integer(2), 1, 'height'),
    round: toInt32(fields.integer(3), 0, 'round'),
    blockId: fields.message(4, readBlockId),
    timestampMs: fields.message(5, readTime),
    validatorAddress: toSized(fields.bytes(6), 20, 'validator address'),
    validatorIndex: toInt32(fields.integer(7), 0, 'validator index'),
    signature: toSized(fields.bytes(8), 64, 'signature'),
  }),
}

function toVoteType(value: bigint): VoteType {
  const type = Number(value)
  if (type === SIGNED_MESSAGE_TYPES.prevote || type === SIGNED_MESSAGE_TYPES.precommit) return type
  return fail(`type ${type} is neither prevote nor precommit`)
}

/** tendermint.types.Proposal */
export const PROPOSAL_CODEC: MessageCodec<Proposal> = {
  name: 'proposal',
  write: (writer, proposal) =>
    writer
      .varint(1, SIGNED_MESSAGE_TYPES.proposal)
      .varint(2, proposal.height)
      .varint(3, proposal.round)
      .varint(4, proposal.polRound)
      .message(5, writeBlockId, proposal.blockId)
      .message(6, writeTime, proposal.timestampMs)
      .bytes(7, proposal.signature),
  read: (fields) => {
    const round = toInt32(fields.integer(3), 0, 'round')
    const polRound = toInt32(fields.integer(4), -1, 'proof-of-lock round')
    if (polRound >= round) fail(`proof-of-lock round ${polRound} is not before round ${round}`)
    const blockId = fields.message(5, readBlockId)
    if (isNilBlockId(blockId)) fail('block ID is nil')
    return {
      height: toInteger(fields.integer(2), 1, 'height'),
      round,
      polRound,
      blockId,
      timestampMs: fields.message(6, readTime),
      signature: toSized(fields.bytes(7), 64, 'signature'),
    }
  },
}
