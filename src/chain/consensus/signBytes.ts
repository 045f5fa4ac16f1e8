import { ProtobufWriter } from '../../primitives/protobuf.ts'
import { isNilBlockId, SIGNED_MESSAGE_TYPES, type UnsignedProposal, type UnsignedVote } from './types.ts'
import { writeBlockId, writeTime } from './wire.ts'

/**
 * What a validator signs for a vote: the length-delimited tendermint.types.CanonicalVote. Address and index are not
 * covered; the block ID is left out of a nil vote. Height and round have a fixed width there, for hardware signers.
 */
export function voteSignBytes(
  chainId: string,
  vote: Pick<UnsignedVote, 'type' | 'height' | 'round' | 'blockId' | 'timestampMs'>,
): Uint8Array {
  const writer = new ProtobufWriter().varint(1, vote.type).sfixed64(2, vote.height).sfixed64(3, vote.round)
  if (!isNilBlockId(vote.blockId)) writer.message(4, writeBlockId, vote.blockId)
  return writer.message(5, writeTime, vote.timestampMs).string(6, chainId).finishDelimited()
}

/** What a proposer signs: the length-delimited tendermint.types.CanonicalProposal. */
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
