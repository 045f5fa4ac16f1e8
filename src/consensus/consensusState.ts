import {
  BLOCK_PROTOCOL,
  type BlockParams,
  type ConsensusBlock,
  type ConsensusHeader,
  consensusParamsHash,
  dataHash,
} from '../chain/comet/block.ts'
import { commitHash, verifyCommit } from '../chain/comet/commit.ts'
import { evidenceHash, evidenceSize } from '../chain/comet/evidence.ts'
import {
  type BlockId,
  type Commit,
  EMPTY_COMMIT,
  equalBlockId,
  NIL_BLOCK_ID,
  type RankedValidatorSet,
  type ValidatorSet,
} from '../chain/comet/types.ts'
import {
  incrementPriorities,
  updateValidators,
  validatorIndexOf,
  validatorSetHash,
} from '../chain/comet/validatorSet.ts'
import type { ChainConfig, ConsensusTiming, EvidenceParams } from '../chain/genesis/chainConfig.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import type { VerifySignature } from '../primitives/ed25519.ts'
import type { ApplicationInfo, DecidedBlock, FinalizeResult, ProposedData } from './application.ts'

/** Values that are the same for all blocks of one chain. */
export interface ConsensusChain {
  readonly chainId: string
  readonly appVersion: number
  readonly params: BlockParams
  readonly evidence: Pick<EvidenceParams, 'maxBytes'>
}

/** Parameters of consensus that the genesis fixes. */
export interface EngineChain extends ConsensusChain {
  readonly genesisHash: Uint8Array
  /** milliseconds since the epoch; no block has an earlier time */
  readonly genesisTimeMs: number
  /** average time between blocks */
  readonly intervalMs: number
  readonly timing: ConsensusTiming
  readonly evidence: EvidenceParams
}

/** @param maxGas consensus parameter block.max_gas */
export function engineChainOf(config: ChainConfig, appVersion: number, maxGas: number): EngineChain {
  const { chainId, genesisHash, genesisTimeMs, maxBlockBytes, blockIntervalMs, timing, evidence } = config
  return {
    chainId,
    genesisHash,
    genesisTimeMs,
    appVersion,
    params: { maxBytes: maxBlockBytes, maxGas },
    intervalMs: blockIntervalMs,
    timing,
    evidence,
  }
}

/** The state after a decided block, on which the next block builds. */
export interface ConsensusState extends ConsensusChain {
  /** height of the last decided block; 0 at genesis */
  readonly lastHeight: number
  readonly lastBlockId: BlockId
  /** milliseconds since the epoch; the genesis time at genesis */
  readonly lastBlockTimeMs: number
  /** that this node saw for the last block; empty at genesis */
  readonly lastSeenCommit: Commit
  readonly appHash: Uint8Array
  readonly lastResultsHash: Uint8Array
  /** that signed the last block */
  readonly lastValidators: ValidatorSet
  /** of the next block */
  readonly validators: RankedValidatorSet
  /** of the block after the next */
  readonly nextValidators: RankedValidatorSet
}

/**
 * Returns the state after the application's last block.
 * @throws Error when the ID or commit of the last block is missing
 */
export function stateFromInfo(chain: ConsensusChain, info: ApplicationInfo): ConsensusState {
  const { chainId, appVersion, evidence } = chain
  if (info.height > 0 && (info.lastBlockId === undefined || info.lastSeenCommit === undefined)) {
    throw new Error(`the application has block ${info.height}, but not its ID and commit`)
  }
  return {
    chainId,
    appVersion,
    params: withMaxGas(chain.params, info.maxGas),
    evidence,
    lastHeight: info.height,
    lastBlockId: info.lastBlockId ?? NIL_BLOCK_ID,
    lastBlockTimeMs: info.lastBlockTimeMs,
    lastSeenCommit: info.lastSeenCommit ?? EMPTY_COMMIT,
    appHash: info.appHash,
    lastResultsHash: info.lastResultsHash,
    lastValidators: info.lastValidators,
    validators: info.validators,
    nextValidators: info.nextValidators,
  }
}

/**
 * Returns the state after a decided block of the next height H, whose execution returned `result`.
 * Its changes of validators take effect at H + 2, because header H has already named the set of H +
 * 1 (CometBFT state/execution.go, updateState).
 * @throws TypeError when the changes are invalid, which the application has to prevent
 */
export function advanceState(state: ConsensusState, decided: DecidedBlock, result: FinalizeResult): ConsensusState {
  const { header } = decided.block
  return {
    ...state,
    params: withMaxGas(state.params, result.maxGas),
    lastHeight: header.height,
    lastBlockId: decided.blockId,
    lastBlockTimeMs: header.timeMs,
    lastSeenCommit: decided.seenCommit,
    appHash: result.appHash,
    lastResultsHash: result.lastResultsHash,
    lastValidators: state.validators,
    validators: state.nextValidators,
    nextValidators: incrementPriorities(updateValidators(state.nextValidators, result.validatorUpdates), 1),
  }
}

/** Returns the same object when nothing changes, as in nearly all blocks. */
function withMaxGas(params: BlockParams, maxGas = params.maxGas): BlockParams {
  return maxGas === params.maxGas ? params : { ...params, maxGas }
}

/** The parts of a block that its proposer adds to the state. */
interface BlockContent extends ProposedData {
  /** milliseconds since the epoch, after the last block's */
  readonly timeMs: number
  readonly proposerAddress: Uint8Array
  /** for the last block, from the `build` effect; it may have more signatures than the commit that was seen first */
  readonly lastCommit: Commit
}

/** Returns the block of the next height. */
export function makeBlock(state: ConsensusState, content: BlockContent): ConsensusBlock {
  const { txs, evidence, timeMs, proposerAddress, lastCommit } = content
  return {
    header: {
      version: { block: BLOCK_PROTOCOL, app: state.appVersion },
      chainId: state.chainId,
      height: state.lastHeight + 1,
      timeMs,
      lastBlockId: state.lastBlockId,
      lastCommitHash: commitHash(lastCommit),
      dataHash: content.dataHash,
      validatorsHash: validatorSetHash(state.validators),
      nextValidatorsHash: validatorSetHash(state.nextValidators),
      consensusHash: consensusParamsHash(state.params),
      appHash: state.appHash,
      lastResultsHash: state.lastResultsHash,
      evidenceHash: evidenceHash(evidence),
      proposerAddress,
    },
    txs,
    evidence,
    lastCommit,
  }
}

/**
 * Returns why a block cannot be the next one; undefined when it can (CometBFT state/validation.go).
 * It does not check the proposer's turn and the timeliness, which depend on the round, nor
 * transactions and evidence, which the application checks.
 * @param verifySignature of the last commit; `verified`: all its signatures were found valid before
 */
export function checkBlock(
  state: ConsensusState,
  block: ConsensusBlock,
  verifySignature?: VerifySignature | 'verified',
): string | undefined {
  const { header } = block
  const { height } = header
  if (height !== state.lastHeight + 1) return `height is ${height}, expected ${state.lastHeight + 1}`
  if (header.version.block !== BLOCK_PROTOCOL || header.version.app !== state.appVersion) return 'version is wrong'
  if (header.chainId !== state.chainId) return `chain ID is ${header.chainId}, expected ${state.chainId}`
  if (!equalBlockId(header.lastBlockId, state.lastBlockId)) return 'last block ID is not that of the block before'
  if (header.timeMs <= state.lastBlockTimeMs) return 'time is not after that of the block before'
  const expected: readonly (readonly [keyof ConsensusHeader, Uint8Array, Uint8Array])[] = [
    ['lastCommitHash', header.lastCommitHash, commitHash(block.lastCommit)],
    ['dataHash', header.dataHash, dataHash(block.txs)],
    ['validatorsHash', header.validatorsHash, validatorSetHash(state.validators)],
    ['nextValidatorsHash', header.nextValidatorsHash, validatorSetHash(state.nextValidators)],
    ['consensusHash', header.consensusHash, consensusParamsHash(state.params)],
    ['appHash', header.appHash, state.appHash],
    ['lastResultsHash', header.lastResultsHash, state.lastResultsHash],
    ['evidenceHash', header.evidenceHash, evidenceHash(block.evidence)],
  ]
  for (const [field, given, hash] of expected) {
    if (!equalBytes(given, hash)) return `${field} is ${bytesToHex(given)}, expected ${bytesToHex(hash)}`
  }
  const evidenceBytes = evidenceSize(block.evidence)
  if (evidenceBytes > state.evidence.maxBytes) {
    return `${evidenceBytes} bytes of evidence are more than ${state.evidence.maxBytes}`
  }
  if (validatorIndexOf(state.validators, header.proposerAddress) < 0) return 'proposer is not a validator'
  return checkLastCommit(state, block.lastCommit, verifySignature)
}

function checkLastCommit(
  state: ConsensusState,
  commit: Commit,
  verifySignature?: VerifySignature | 'verified',
): string | undefined {
  if (state.lastHeight === 0) return commit.signatures.length === 0 ? undefined : 'the first block has a last commit'
  const { chainId, lastHeight: height, lastBlockId: blockId, lastValidators: validators } = state
  const verdict = verifyCommit({ chainId, height, blockId, validators }, commit, verifySignature)
  return verdict.valid ? undefined : `last commit: ${verdict.reason}`
}
