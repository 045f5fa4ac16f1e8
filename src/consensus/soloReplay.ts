import { verifyEd25519 } from '../chain/consensus/ed25519.ts'
import { proposalSignBytes } from '../chain/consensus/signBytes.ts'
import { equalBlockId } from '../chain/consensus/types.ts'
import { verifyCommitLight } from '../chain/consensus/verifyCommit.ts'
import type { DecidedBlock, FinalizeResult } from './application.ts'
import { advanceState, type ConsensusState, checkBlock } from './consensusState.ts'
import { RecoveryError, type SoloRecovery } from './soloRecovery.ts'
import type { WalOptions } from './wal.ts'

/**
 * Refuses logs that cannot belong to the application's state. A log that ends before the application's last block is
 * fine (blocks may come another way, or the log was lost): nothing is signed for those heights.
 * @throws RecoveryError
 */
export function checkRecovery(recovery: SoloRecovery, state: ConsensusState, warn: WalOptions['warn']): void {
  const { lastHeight, lastBlockId } = state
  const logged = recovery.decidedBlockId(lastHeight)
  if (lastHeight > 0 && logged !== undefined && !equalBlockId(logged, lastBlockId)) {
    throw new RecoveryError(
      `block ${lastHeight} of the database is not the one that the write-ahead log decided: they are from different copies, restore both from one backup`,
    )
  }
  if (lastHeight > 0 && recovery.highest < lastHeight) {
    warn('write-ahead log ends before the last block', { walHeight: recovery.highest, height: lastHeight })
  }
}

/**
 * Executes the blocks that the log decided and the application lacks, each after the checks that a block of somebody
 * else would undergo. Then makes sure that what was signed for the height after can be continued.
 * @throws RecoveryError
 */
export async function replayDecided(
  recovery: SoloRecovery,
  start: ConsensusState,
  finalize: (decided: DecidedBlock, state: ConsensusState) => Promise<FinalizeResult>,
): Promise<ConsensusState> {
  const { chainId, params } = start
  let state = start
  for (;;) {
    const height = state.lastHeight + 1
    const decided = recovery.decided(height, params.maxBytes)
    // Without its end mark a height goes through the driver once more, which completes the log.
    if (decided === undefined || !recovery.hasEnded(height)) break
    const { block, blockId, seenCommit } = decided
    const reason = checkBlock(state, block)
    if (reason !== undefined) throw new RecoveryError(`block ${height} of the write-ahead log does not fit: ${reason}`)
    const verdict = verifyCommitLight({ chainId, height, blockId, validators: state.validators }, seenCommit)
    if (!verdict.valid)
      throw new RecoveryError(`commit ${height} of the write-ahead log is not valid: ${verdict.reason}`)
    state = advanceState(state, decided, await finalize(decided, state))
  }
  checkRest(recovery, state)
  return state
}

function checkRest(recovery: SoloRecovery, state: ConsensusState): void {
  const { chainId, lastHeight, params, validators } = state
  const height = lastHeight + 1
  if (recovery.highest > height) {
    throw new RecoveryError(
      `the write-ahead log is at height ${recovery.highest}, but the database ends at ${lastHeight} and block ${height} is in neither: restore both from one backup`,
    )
  }
  const unfinished = recovery.unfinished(height, params.maxBytes)
  if (unfinished === undefined) {
    const signed = recovery.lastSigned?.height ?? 0
    if (signed < height) return
    throw new RecoveryError(
      `this validator has signed for height ${signed}, but neither database nor write-ahead log holds the block: restore the data directory from a backup`,
    )
  }
  const { block, proposal } = unfinished
  const publicKey = validators.validators[0]!.publicKey
  if (!verifyEd25519(publicKey, proposalSignBytes(chainId, proposal), proposal.signature)) {
    throw new RecoveryError(`the proposal for height ${height} in the write-ahead log was signed with another key`)
  }
  const reason = checkBlock(state, block)
  if (reason !== undefined) throw new RecoveryError(`the block proposed for height ${height} does not fit: ${reason}`)
}
