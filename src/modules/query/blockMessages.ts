import type { ConsensusBlock, ConsensusHeader } from '../../chain/comet/block.ts'
import type { BlockId as ChainBlockId, Commit as ChainCommit, Vote as ChainVote } from '../../chain/comet/types.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import {
  any,
  bytes,
  defineMessage,
  embedded,
  enumeration,
  int32,
  int64,
  message,
  oneOf,
  repeated,
  string,
  timestamp,
  uint32,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { consensusText } from './addresses.ts'
import { notFound, type QueryError } from './queryError.ts'

/* Blocks as CometBFT 0.38 (tendermint.types, tendermint.version, tendermint.p2p) and the SDK's tendermint service write them. */

const BLOCK_ID_FLAG = {
  BLOCK_ID_FLAG_UNKNOWN: 0,
  BLOCK_ID_FLAG_ABSENT: 1,
  BLOCK_ID_FLAG_COMMIT: 2,
  BLOCK_ID_FLAG_NIL: 3,
} as const

const SIGNED_MSG_TYPE = {
  SIGNED_MSG_TYPE_UNKNOWN: 0,
  SIGNED_MSG_TYPE_PREVOTE: 1,
  SIGNED_MSG_TYPE_PRECOMMIT: 2,
  SIGNED_MSG_TYPE_PROPOSAL: 32,
} as const

const PartSetHeader = defineMessage('tendermint.types.PartSetHeader', { total: uint32(1), hash: bytes(2) })

export const BlockId = defineMessage('tendermint.types.BlockID', {
  hash: bytes(1),
  partSetHeader: embedded(2, PartSetHeader),
})

const Consensus = defineMessage('tendermint.version.Consensus', { block: uint64(1), app: uint64(2) })

const HEADER_FIELDS = {
  version: embedded(1, Consensus),
  chainId: string(2),
  height: int64(3),
  time: timestamp(4),
  lastBlockId: embedded(5, BlockId),
  lastCommitHash: bytes(6),
  dataHash: bytes(7),
  validatorsHash: bytes(8),
  nextValidatorsHash: bytes(9),
  consensusHash: bytes(10),
  appHash: bytes(11),
  lastResultsHash: bytes(12),
  evidenceHash: bytes(13),
}

export const Header = defineMessage('tendermint.types.Header', { ...HEADER_FIELDS, proposerAddress: bytes(14) })

const Data = defineMessage('tendermint.types.Data', { txs: repeated(bytes(1)) })

const CommitSig = defineMessage('tendermint.types.CommitSig', {
  blockIdFlag: enumeration(1, BLOCK_ID_FLAG),
  validatorAddress: bytes(2),
  timestamp: timestamp(3),
  signature: bytes(4),
})

const Commit = defineMessage('tendermint.types.Commit', {
  height: int64(1),
  round: int32(2),
  blockId: embedded(3, BlockId),
  signatures: repeated(embedded(4, CommitSig)),
})

const Vote = defineMessage('tendermint.types.Vote', {
  type: enumeration(1, SIGNED_MSG_TYPE),
  height: int64(2),
  round: int32(3),
  blockId: embedded(4, BlockId),
  timestamp: timestamp(5),
  validatorAddress: bytes(6),
  validatorIndex: int32(7),
  signature: bytes(8),
  extension: bytes(9),
  extensionSignature: bytes(10),
})

const DuplicateVoteEvidence = defineMessage('tendermint.types.DuplicateVoteEvidence', {
  voteA: message(1, Vote),
  voteB: message(2, Vote),
  totalVotingPower: int64(3),
  validatorPower: int64(4),
  timestamp: timestamp(5),
})

const Evidence = defineMessage('tendermint.types.Evidence', {
  duplicateVoteEvidence: oneOf(1, () => DuplicateVoteEvidence),
})

const EvidenceList = defineMessage('tendermint.types.EvidenceList', { evidence: repeated(embedded(1, Evidence)) })

const BODY_FIELDS = {
  data: embedded(2, Data),
  evidence: embedded(3, EvidenceList),
  lastCommit: message(4, Commit),
}

export const Block = defineMessage('tendermint.types.Block', { header: embedded(1, Header), ...BODY_FIELDS })

/** The SDK's own form: the proposer's address is bech32. */
const SdkHeader = defineMessage('cosmos.base.tendermint.v1beta1.Header', {
  ...HEADER_FIELDS,
  proposerAddress: string(14),
})
export const SdkBlock = defineMessage('cosmos.base.tendermint.v1beta1.Block', {
  header: embedded(1, SdkHeader),
  ...BODY_FIELDS,
})

/** One of a validator set. */
export const SetValidator = defineMessage('cosmos.base.tendermint.v1beta1.Validator', {
  address: string(1),
  pubKey: any(2),
  votingPower: int64(3),
  proposerPriority: int64(4),
})

const ProtocolVersion = defineMessage('tendermint.p2p.ProtocolVersion', {
  p2p: uint64(1),
  block: uint64(2),
  app: uint64(3),
})

const DefaultNodeInfoOther = defineMessage('tendermint.p2p.DefaultNodeInfoOther', {
  txIndex: string(1),
  rpcAddress: string(2),
})

export const DefaultNodeInfo = defineMessage('tendermint.p2p.DefaultNodeInfo', {
  protocolVersion: embedded(1, ProtocolVersion),
  defaultNodeId: string(2),
  listenAddr: string(3),
  network: string(4),
  version: string(5),
  channels: bytes(6),
  moniker: string(7),
  other: embedded(8, DefaultNodeInfoOther),
})

/** Returns a block as tendermint.types.Block. */
export function toBlockMessage(block: ConsensusBlock): ValueOf<typeof Block> {
  const { header } = block
  return { header: { ...headerFields(header), proposerAddress: header.proposerAddress }, ...bodyFields(block) }
}

/** Converts a block to the SDK's own form. */
export function toSdkBlock(block: ConsensusBlock): ValueOf<typeof SdkBlock> {
  const { header } = block
  return {
    header: { ...headerFields(header), proposerAddress: consensusText(header.proposerAddress) },
    ...bodyFields(block),
  }
}

export function toBlockIdMessage({ hash, partSetHeader }: ChainBlockId): ValueOf<typeof BlockId> {
  return { hash, partSetHeader }
}

/** Returns a header without its proposer, whose address is written in two ways. */
export function headerFields(header: ConsensusHeader) {
  return {
    version: { block: BigInt(header.version.block), app: BigInt(header.version.app) },
    chainId: header.chainId,
    height: BigInt(header.height),
    time: nanos(header.timeMs),
    lastBlockId: toBlockIdMessage(header.lastBlockId),
    lastCommitHash: header.lastCommitHash,
    dataHash: header.dataHash,
    validatorsHash: header.validatorsHash,
    nextValidatorsHash: header.nextValidatorsHash,
    consensusHash: header.consensusHash,
    appHash: header.appHash,
    lastResultsHash: header.lastResultsHash,
    evidenceHash: header.evidenceHash,
  }
}

function bodyFields({ txs, evidence, lastCommit }: ConsensusBlock) {
  return {
    data: { txs },
    evidence: {
      evidence: evidence.map(({ voteA, voteB, totalVotingPower, validatorPower, timestampMs }) => ({
        duplicateVoteEvidence: {
          voteA: toVote(voteA),
          voteB: toVote(voteB),
          totalVotingPower,
          validatorPower,
          timestamp: nanos(timestampMs),
        },
      })),
    },
    lastCommit: toCommit(lastCommit),
  }
}

function toCommit({ height, round, blockId, signatures }: ChainCommit) {
  return {
    height: BigInt(height),
    round,
    blockId: toBlockIdMessage(blockId),
    signatures: signatures.map(({ flag, validatorAddress, timestampMs, signature }) => ({
      blockIdFlag: flag,
      validatorAddress,
      timestamp: nanos(timestampMs),
      signature,
    })),
  }
}

function toVote(vote: ChainVote) {
  return {
    type: vote.type,
    height: BigInt(vote.height),
    round: vote.round,
    blockId: toBlockIdMessage(vote.blockId),
    timestamp: nanos(vote.timestampMs),
    validatorAddress: vote.validatorAddress,
    validatorIndex: vote.validatorIndex,
    signature: vote.signature,
    extension: EMPTY_BYTES,
    extensionSignature: EMPTY_BYTES,
  }
}

/** Milliseconds since the epoch as protobuf's timestamps have them. */
export function nanos(timeMs: number): bigint {
  return BigInt(timeMs) * 1_000_000n
}

/**
 * Returns a complete block; the caller bounds the height from above. Below the oldest block
 * transactions may be dropped, and the rest would look like an empty block. The head is always
 * whole, also where it has no results yet (after a restore).
 * @throws QueryError
 */
export function wholeBlock(chain: Chain, height: number): ConsensusBlock {
  const isWhole = height >= Math.min(chain.oldestBlock, chain.headHeight)
  const block = isWhole ? chain.consensusBlock(height) : undefined
  if (block === undefined) throw blockUnavailable(chain, height)
  return block
}

type Chain = Pick<ChainReader, 'headHeight' | 'oldestBlock' | 'consensusBlock'>

export function blockUnavailable({ oldestBlock }: Pick<Chain, 'oldestBlock'>, height: number): QueryError {
  return notFound(`block ${height} is not available: the oldest block is ${oldestBlock}`)
}
