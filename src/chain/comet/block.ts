import { equalBytes } from '../../primitives/bytes.ts'
import { type Hash, sha256 } from '../../primitives/hash.ts'
import { ProtobufFields, ProtobufWriter } from '../../primitives/protobuf.ts'
import { COMMIT_CODEC } from './commit.ts'
import { EVIDENCE_CODEC } from './evidence.ts'
import { merkleRoot } from './merkle.ts'
import type { BlockId, Commit, Evidence } from './types.ts'
import {
  decodeCheckedMessage,
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

/** CometBFT's block protocol: version 11 is that of 0.38. */
export const BLOCK_PROTOCOL = 11

export interface ConsensusBlock {
  readonly header: ConsensusHeader
  /** EVM transactions as their EIP-2718 envelopes, native ones as protobuf TxRaw */
  readonly txs: readonly Uint8Array[]
  readonly evidence: readonly Evidence[]
  /** for the previous height; empty at height 1 */
  readonly lastCommit: Commit
}

/** tendermint.types.Header as of CometBFT 0.38. Hashes are 32 bytes unless said otherwise. */
export interface ConsensusHeader {
  readonly version: { readonly block: number; readonly app: number }
  readonly chainId: string
  readonly height: number
  /** milliseconds since the epoch, strictly greater than the previous block's */
  readonly timeMs: number
  /** nil at height 1 */
  readonly lastBlockId: BlockId
  readonly lastCommitHash: Uint8Array
  readonly dataHash: Uint8Array
  readonly validatorsHash: Uint8Array
  readonly nextValidatorsHash: Uint8Array
  /** of the parameters max_bytes and max_gas */
  readonly consensusHash: Uint8Array
  /** Ethereum block hash of the previous height; of the genesis block at height 1 */
  readonly appHash: Uint8Array
  /** over the transaction results of the previous height */
  readonly lastResultsHash: Uint8Array
  readonly evidenceHash: Uint8Array
  /** 20 bytes */
  readonly proposerAddress: Uint8Array
}

/**
 * Returns the block hash of consensus: the Merkle root over the encoded fields in order (CometBFT
 * types/block.go, Header.Hash). Scalars are wrapped as google.protobuf.{String,Int64,Bytes}Value;
 * an empty one has no bytes.
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

/** header.data_hash: Merkle root over the sha256 of each transaction (CometBFT types/tx.go). */
export function dataHash(txs: readonly Uint8Array[]): Hash {
  return merkleRoot(txs.map(sha256))
}

/** The fields of a transaction's result that consensus agrees on. */
export interface TxResult {
  /** 0 means success */
  readonly code: number
  readonly data: Uint8Array
  readonly gasWanted: bigint
  readonly gasUsed: bigint
}

/** header.last_results_hash of the next block: over tendermint.abci.ExecTxResult with only these fields (types/results.go). */
export function resultsHash(results: readonly TxResult[]): Hash {
  const leaves: Uint8Array[] = []
  for (let i = 0; i < results.length; i++) {
    leaves.push(i > 0 && equalResults(results[i]!, results[i - 1]!) ? leaves[i - 1]! : encodeResult(results[i]!))
  }
  return merkleRoot(leaves)
}

function encodeResult({ code, data, gasWanted, gasUsed }: TxResult): Uint8Array {
  return new ProtobufWriter().varint(1, code).bytes(2, data).varint(5, gasWanted).varint(6, gasUsed).finish()
}

function equalResults(a: TxResult, b: TxResult): boolean {
  return a.code === b.code && a.gasWanted === b.gasWanted && a.gasUsed === b.gasUsed && equalBytes(a.data, b.data)
}

/** The consensus parameters that header.consensus_hash covers. */
export interface BlockParams {
  /** of an encoded block */
  readonly maxBytes: number
  /** −1 means no limit */
  readonly maxGas: number
}

const hashes = new WeakMap<BlockParams, Hash>()

/** header.consensus_hash: sha256 of the encoded tendermint.types.HashedParams. */
export function consensusParamsHash(params: BlockParams): Hash {
  let hash = hashes.get(params)
  if (hash === undefined) {
    hash = sha256(new ProtobufWriter().varint(1, params.maxBytes).varint(2, params.maxGas).finish())
    hashes.set(params, hash)
  }
  return hash
}

/** CometBFT types/block.go: sizes of a block's parts other than transactions and evidence. */
const MAX_HEADER_BYTES = 626
const MAX_OVERHEAD_BYTES = 11
const MAX_COMMIT_OVERHEAD_BYTES = 94
const MAX_COMMIT_SIG_BYTES = 109 + 2

/**
 * Returns the most bytes that a block's transactions may take, each counted by
 * {@link encodedTxSize}, together with a full commit of `validators` signatures and `evidenceBytes`
 * of evidence (CometBFT types/block.go, MaxDataBytes).
 */
export function maxDataBytes(
  { maxBytes }: Pick<BlockParams, 'maxBytes'>,
  validators: number,
  evidenceBytes = 0,
): number {
  const commit = MAX_COMMIT_OVERHEAD_BYTES + MAX_COMMIT_SIG_BYTES * validators
  return maxBytes - MAX_OVERHEAD_BYTES - MAX_HEADER_BYTES - commit - evidenceBytes
}

/** Most transactions of a block that this node builds. The decoder's bound on fields leaves as many for the rest of a block. */
export const MAX_BLOCK_TRANSACTIONS = 32_768

/** Returns the Protobuf bytes of tendermint.types.Block, which are cut into parts and stored. */
export function encodeBlock(block: ConsensusBlock): Uint8Array {
  return encodeMessage(BLOCK_CODEC, block)
}

/**
 * Returns the block in `bytes`, whose transactions are views on them. Only the encoding is checked;
 * the caller checks hashes, signatures and the chain's rules.
 * @throws ConsensusDecodingError
 */
export function decodeBlock(bytes: Uint8Array): ConsensusBlock {
  return decodeMessage(BLOCK_CODEC, bytes)
}

/**
 * Returns the header in the bytes of a block that was checked before, for less work than the whole
 * block.
 * @throws ConsensusDecodingError
 */
export function decodeBlockHeader(bytes: Uint8Array): ConsensusHeader {
  return decodeCheckedMessage(BLOCK_HEADER_CODEC, bytes)
}

/** See {@link decodeCheckedMessage}. */
export function decodeCheckedBlock(bytes: Uint8Array): ConsensusBlock {
  return decodeCheckedMessage(BLOCK_CODEC, bytes)
}

/**
 * Returns the last commit in a block's bytes, as `encodeCommit` returns it; a view on these bytes.
 */
export function encodedLastCommit(block: Uint8Array): Uint8Array {
  return new ProtobufFields(block).bytes(LAST_COMMIT)
}

/** the number of the field in a block */
const LAST_COMMIT = 4

/** tendermint.types.Block */
const BLOCK_CODEC: MessageCodec<ConsensusBlock> = {
  name: 'block',
  write: (writer, block) =>
    writer
      .message(1, HEADER_CODEC.write, block.header)
      .message(2, writeData, block.txs)
      .message(3, writeEvidenceList, block.evidence)
      .message(LAST_COMMIT, COMMIT_CODEC.write, block.lastCommit),
  read: (fields) => ({
    header: fields.message(1, HEADER_CODEC.read),
    txs: fields.message(2, (data) => data.repeatedBytes(1)),
    evidence: fields.message(3, (list) => list.repeatedMessage(1, EVIDENCE_CODEC.read)),
    lastCommit: fields.message(LAST_COMMIT, COMMIT_CODEC.read),
  }),
}

const BLOCK_HEADER_CODEC: MessageCodec<ConsensusHeader> = {
  name: 'header in a block',
  write: (writer, header) => writer.message(1, HEADER_CODEC.write, header),
  read: (fields) => fields.message(1, HEADER_CODEC.read),
}

function writeData(writer: ProtobufWriter, txs: readonly Uint8Array[]): void {
  writer.repeatedBytes(1, txs)
}

function writeEvidenceList(writer: ProtobufWriter, evidence: readonly Evidence[]): void {
  writer.repeatedMessage(1, EVIDENCE_CODEC.write, evidence)
}

/** Returns the Protobuf bytes of tendermint.types.Header. */
export function encodeHeader(header: ConsensusHeader): Uint8Array {
  return encodeMessage(HEADER_CODEC, header)
}

/** @throws ConsensusDecodingError */
export function decodeHeader(bytes: Uint8Array): ConsensusHeader {
  return decodeMessage(HEADER_CODEC, bytes)
}

/** CometBFT types/genesis.go, MaxChainIDLen */
const MAX_CHAIN_ID_LENGTH = 50

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

type Version = ConsensusHeader['version']

/** Writes tendermint.version.Consensus. */
function writeVersion(writer: ProtobufWriter, version: Version): void {
  writer.varint(1, version.block).varint(2, version.app)
}

function readVersion(fields: ProtobufFields): Version {
  return {
    block: toInteger(fields.integer(1), 0, 'block version'),
    app: toInteger(fields.integer(2), 0, 'application version'),
  }
}
