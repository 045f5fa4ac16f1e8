import type { ConsensusBlock, ConsensusHeader } from '../../chain/consensus/block.ts'
import type { BlockId as ChainBlockId, Commit as ChainCommit, Vote as ChainVote } from '../../chain/consensus/types.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { ValueOf } from '../../primitives/protoSchema.ts'
import { consensusText } from './addresses.ts'
import type { Block, BlockId, SdkBlock } from './messages/cometTypes.ts'

/** A block as tendermint.types.Block. */
export function toBlockMessage(block: ConsensusBlock): ValueOf<typeof Block> {
  const { header } = block
  return { header: { ...headerFields(header), proposerAddress: header.proposerAddress }, ...bodyFields(block) }
}

/** A block as the SDK's own form of it. */
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

/** A header without its proposer, whose address is written in two ways. */
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
