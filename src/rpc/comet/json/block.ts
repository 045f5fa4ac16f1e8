import type { ConsensusBlock, ConsensusHeader } from '../../../chain/comet/block.ts'
import type { Commit } from '../../../chain/comet/types.ts'
import { toBuffer } from '../../../primitives/bytes.ts'
import { evidenceJson } from './evidence.ts'
import { base64, blockIdJson, formatTime, upperHex } from './values.ts'

/** types.Header */
export function headerJson(header: ConsensusHeader) {
  return {
    version: { block: String(header.version.block), app: String(header.version.app) },
    chain_id: header.chainId,
    height: String(header.height),
    time: formatTime(header.timeMs),
    last_block_id: blockIdJson(header.lastBlockId),
    last_commit_hash: upperHex(header.lastCommitHash),
    data_hash: upperHex(header.dataHash),
    validators_hash: upperHex(header.validatorsHash),
    next_validators_hash: upperHex(header.nextValidatorsHash),
    consensus_hash: upperHex(header.consensusHash),
    app_hash: upperHex(header.appHash),
    last_results_hash: upperHex(header.lastResultsHash),
    evidence_hash: upperHex(header.evidenceHash),
    proposer_address: upperHex(header.proposerAddress),
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
      validator_address: upperHex(validatorAddress),
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
