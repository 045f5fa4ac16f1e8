import type { ConsensusBlock, ConsensusHeader } from '../../../chain/comet/block.ts'
import type { Commit } from '../../../chain/comet/types.ts'
import { bytesToUpperHex, toBuffer } from '../../../primitives/bytes.ts'
import { evidenceJson } from './evidence.ts'
import { base64, blockIdJson, formatTime } from './values.ts'

/** types.Header */
export function headerJson(header: ConsensusHeader) {
  return {
    version: { block: String(header.version.block), app: String(header.version.app) },
    chain_id: header.chainId,
    height: String(header.height),
    time: formatTime(header.timeMs),
    last_block_id: blockIdJson(header.lastBlockId),
    last_commit_hash: bytesToUpperHex(header.lastCommitHash),
    data_hash: bytesToUpperHex(header.dataHash),
    validators_hash: bytesToUpperHex(header.validatorsHash),
    next_validators_hash: bytesToUpperHex(header.nextValidatorsHash),
    consensus_hash: bytesToUpperHex(header.consensusHash),
    app_hash: bytesToUpperHex(header.appHash),
    last_results_hash: bytesToUpperHex(header.lastResultsHash),
    evidence_hash: bytesToUpperHex(header.evidenceHash),
    proposer_address: bytesToUpperHex(header.proposerAddress),
  }
}

/** types.Commit */
export function commitJson(commit: Commit) {
  return {
    height: String(commit.height),
    round: commit.round,
    block_id: blockIdJson(commit.blockId),
    signatures: commit.signatures.map(({ flag, validatorAddress, timestampMs, signature }) => ({
      block_id_flag: flag,
      validator_address: bytesToUpperHex(validatorAddress),
      timestamp: formatTime(timestampMs),
      signature: base64(signature),
    })),
  }
}

/** types.Block */
export function blockJson({ header, txs, evidence, lastCommit }: ConsensusBlock) {
  return {
    header: headerJson(header),
    data: { txs: txs.map((tx) => toBuffer(tx).toString('base64')) },
    evidence: { evidence: evidence.map(evidenceJson) },
    last_commit: commitJson(lastCommit),
  }
}
