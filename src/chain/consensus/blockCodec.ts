import { type Hash, sha256 } from '../../primitives/hash.ts'
import type { ProtobufWriter } from '../../primitives/protobuf.ts'
import type { ConsensusBlock } from './block.ts'
import { COMMIT_CODEC } from './commitCodec.ts'
import { EVIDENCE_CODEC } from './evidenceCodec.ts'
import { HEADER_CODEC } from './headerCodec.ts'
import { merkleRoot } from './merkle.ts'
import type { Evidence } from './types.ts'
import { decodeMessage, encodeMessage, type MessageCodec } from './wire.ts'

/** tendermint.types.Block */
const BLOCK_CODEC: MessageCodec<ConsensusBlock> = {
  name: 'block',
  write: (writer, block) =>
    writer
      .message(1, HEADER_CODEC.write, block.header)
      .message(2, writeData, block.txs)
      .message(3, writeEvidenceList, block.evidence)
      .message(4, COMMIT_CODEC.write, block.lastCommit),
  read: (fields) => ({
    header: fields.message(1, HEADER_CODEC.read),
    txs: fields.message(2, (data) => data.repeatedBytes(1)),
    evidence: fields.message(3, (list) => list.repeatedMessage(1, EVIDENCE_CODEC.read)),
    lastCommit: fields.message(4, COMMIT_CODEC.read),
  }),
}

function writeData(writer: ProtobufWriter, txs: readonly Uint8Array[]): void {
  writer.repeatedBytes(1, txs)
}

function writeEvidenceList(writer: ProtobufWriter, evidence: readonly Evidence[]): void {
  writer.repeatedMessage(1, EVIDENCE_CODEC.write, evidence)
}

/** Protobuf bytes of tendermint.types.Block: what is cut into parts and kept. */
export function encodeBlock(block: ConsensusBlock): Uint8Array {
  return encodeMessage(BLOCK_CODEC, block)
}

/**
 * The block in `bytes`, whose transactions are views on them. Only the encoding is checked: hashes, signatures and the
 * chain's rules are the caller's.
 * @throws ConsensusDecodingError
 */
export function decodeBlock(bytes: Uint8Array): ConsensusBlock {
  return decodeMessage(BLOCK_CODEC, bytes)
}

/** header.data_hash: Merkle root over the sha256 of each transaction (CometBFT types/tx.go). */
export function dataHash(txs: readonly Uint8Array[]): Hash {
  return merkleRoot(txs.map(sha256))
}
