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
} from '../../../primitives/protoSchema.ts'

/** Blocks as CometBFT 0.38 (tendermint.types, tendermint.version, tendermint.p2p) and the SDK's tendermint service write them. */

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

const headerFields = {
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

export const Header = defineMessage('tendermint.types.Header', { ...headerFields, proposerAddress: bytes(14) })

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

const bodyFields = {
  data: embedded(2, Data),
  evidence: embedded(3, EvidenceList),
  lastCommit: message(4, Commit),
}

export const Block = defineMessage('tendermint.types.Block', { header: embedded(1, Header), ...bodyFields })

/** The SDK's own form: the proposer's address is bech32. */
const SdkHeader = defineMessage('cosmos.base.tendermint.v1beta1.Header', {
  ...headerFields,
  proposerAddress: string(14),
})
export const SdkBlock = defineMessage('cosmos.base.tendermint.v1beta1.Block', {
  header: embedded(1, SdkHeader),
  ...bodyFields,
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
