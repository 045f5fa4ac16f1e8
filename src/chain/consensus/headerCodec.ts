import type { Hash } from '../../primitives/hash.ts'
import { type ProtobufFields, ProtobufWriter } from '../../primitives/protobuf.ts'
import type { ConsensusHeader } from './block.ts'
import { merkleRoot } from './merkle.ts'
import {
  decodeMessage,
  encodeMessage,
  fail,
  type MessageCodec,
  readBlockId,
  readTime,
  toInteger,
  toSized,
  writeBlockId,
  writeTime,
} from './wire.ts'

/** CometBFT types/genesis.go, MaxChainIDLen */
const MAX_CHAIN_ID_LENGTH = 50

type Version = ConsensusHeader['version']

/** tendermint.version.Consensus */
function writeVersion(writer: ProtobufWriter, version: Version): void {
  writer.varint(1, version.block).varint(2, version.app)
}

function readVersion(fields: ProtobufFields): Version {
  return {
    block: toInteger(fields.integer(1), 0, 'block version'),
    app: toInteger(fields.integer(2), 0, 'application version'),
  }
}

/** tendermint.types.Header */
export const HEADER_CODEC: MessageCodec<ConsensusHeader> = {
  name: 'header',
  write: (writer, header) =>
    writer
      .message(1, writeVersion, header.version)
      .string(2, header.chainId)
      .varint(3, header.height)
      .message(4, writeTime, header.timeMs)
      .message(5, writeBlockId, header.lastBlockId)
      .bytes(6, header.lastCommitHash)
      .bytes(7, header.dataHash)
      .bytes(8, header.validatorsHash)
      .bytes(9, header.nextValidatorsHash)
      .bytes(10, header.consensusHash)
      .bytes(11, header.appHash)
      .bytes(12, header.lastResultsHash)
      .bytes(13, header.evidenceHash)
      .bytes(14, header.proposerAddress),
  read: (fields) => {
    const chainId = fields.string(2)
    if (chainId.length > MAX_CHAIN_ID_LENGTH) fail('chain ID is too long')
    return {
      version: fields.message(1, readVersion),
      chainId,
      height: toInteger(fields.integer(3), 1, 'height'),
      timeMs: fields.message(4, readTime),
      lastBlockId: fields.message(5, readBlockId),
      lastCommitHash: toSized(fields.bytes(6), 32, 'last commit hash'),
      dataHash: toSized(fields.bytes(7), 32, 'data hash'),
      validatorsHash: toSized(fields.bytes(8), 32, 'validators hash'),
      nextValidatorsHash: toSized(fields.bytes(9), 32, 'next validators hash'),
      consensusHash: toSized(fields.bytes(10), 32, 'consensus hash'),
      appHash: toSized(fields.bytes(11), 32, 'app hash'),
      lastResultsHash: toSized(fields.bytes(12), 32, 'last results hash'),
      evidenceHash: toSized(fields.bytes(13), 32, 'evidence hash'),
      proposerAddress: toSized(fields.bytes(14), 20, 'proposer address'),
    }
  },
}

/** Protobuf bytes of tendermint.types.Header. */
export function encodeHeader(header: ConsensusHeader): Uint8Array {
  return encodeMessage(HEADER_CODEC, header)
}

/** @throws ConsensusDecodingError */
export function decodeHeader(bytes: Uint8Array): ConsensusHeader {
  return decodeMessage(HEADER_CODEC, bytes)
}

/**
 * The block hash of consensus: Merkle root over the encoded fields in order (CometBFT types/block.go, Header.Hash).
 * Scalars are wrapped as google.protobuf.{String,Int64,Bytes}Value, of which an empty one has no bytes.
 */
export function headerHash(header: ConsensusHeader): Hash {
  const bytesValue = (value: Uint8Array) => new ProtobufWriter().bytes(1, value).finish()
  return merkleRoot([
    encodeMessage({ write: writeVersion }, header.version),
    new ProtobufWriter().string(1, header.chainId).finish(),
    new ProtobufWriter().varint(1, header.height).finish(),
    encodeMessage({ write: writeTime }, header.timeMs),
    encodeMessage({ write: writeBlockId }, header.lastBlockId),
    bytesValue(header.lastCommitHash),
    bytesValue(header.dataHash),
    bytesValue(header.validatorsHash),
    bytesValue(header.nextValidatorsHash),
    bytesValue(header.consensusHash),
    bytesValue(header.appHash),
    bytesValue(header.lastResultsHash),
    bytesValue(header.evidenceHash),
    bytesValue(header.proposerAddress),
  ])
}
