import { type VerifySignature, verifyCommitLight } from '../chain/consensus/commit.ts'
import { equalBlockId, type ValidatorSet } from '../chain/consensus/types.ts'
import { proposalSignBytes, voteSignBytes } from '../chain/consensus/vote.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { DecidedBlock, FinalizeResult } from './application.ts'
import { advanceState, type ConsensusState, checkBlock } from './consensusState.ts'
import { type Recovery, RecoveryError } from './recovery.ts'
import type { WalOptions } from './wal.ts'

/** What a start checks the log with. */
export interface RecoveryContext {
  readonly recovery: Recovery
  /** of this node's validator key */
  readonly publicKey: Uint8Array
  readonly verify: VerifySignature
  readonly warn: WalOptions['warn']
}

/**
 * Refuses logs that cannot belong to the application's state. A log that ends before the application's last block is
 * fine (blocks may come another way, or the log was lost).
 * @throws RecoveryError
 */
export function checkRecovery({ recovery, warn }: RecoveryContext, state: ConsensusState): void {
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
 * else would undergo. Then makes sure that the height after can be continued.
 * @throws RecoveryError
 */
export async function replayDecided(
  context: RecoveryContext,
  start: ConsensusState,
  finalize: (decided: DecidedBlock, state: ConsensusState) => Promise<FinalizeResult>,
): Promise<ConsensusState> {
  const { recovery, verify } = context
  const { chainId, params } = start
  let state = start
  for (;;) {
    const height = state.lastHeight + 1
    // Without its end mark a height goes through consensus once more, which completes the log.
    const decided = recovery.hasEnded(height) ? recovery.decided(height, params.maxBytes) : undefined
    if (decided === undefined) break
    const { block, blockId, seenCommit } = decided
    const reason = checkBlock(state, block, verify)
    if (reason !== undefined) throw new RecoveryError(`block ${height} of the write-ahead log does not fit: ${reason}`)
    const target = { chainId, height, blockId, validators: state.validators }
    const verdict = verifyCommitLight(target, seenCommit, verify)
    if (!verdict.valid)
      throw new RecoveryError(`commit ${height} of the write-ahead log is not valid: ${verdict.reason}`)
    state = advanceState(state, decided, await finalize(decided, state))
    recovery.finished(height)
  }
  checkOpenHeight(context, state)
  return state
}

/** Nobody else can have decided a block, so none can be fetched. */
export function decidesAlone({ validators, totalPower }: ValidatorSet, publicKey: Uint8Array): boolean {
  const own = validators.find((validator) => equalBytes(validator.publicKey, publicKey))
  return own !== undefined && own.power * 3n > totalPower * 2n
}

/**
 * What the log has beyond the decided blocks must be this key's, and where no other node can have the blocks that are missing,
 * none may be.
 */
function checkOpenHeight(context: RecoveryContext, state: ConsensusState): void {
  const { recovery, publicKey, warn } = context
  const { lastHeight, validators } = state
  const height = lastHeight + 1
  checkOwnEntries(context, state)
  const signed = recovery.lastSigned?.height ?? 0
  const isLost = signed === height && !hasOwnEntry(recovery, height)
  if (recovery.highest <= height && signed <= height && !isLost) return
  if (!decidesAlone(validators, publicKey)) {
    const fields = { height: lastHeight, walHeight: Math.max(recovery.highest, signed) }
    warn('the database is older than the write-ahead log; the blocks between have to come from peers', fields)
    return
  }
  if (recovery.highest > height) {
    throw new RecoveryError(
      `the write-ahead log is at height ${recovery.highest}, but the database ends at ${lastHeight} and block ${height} is in neither: restore both from one backup`,
    )
  }
  throw new RecoveryError(
    `this validator has signed for height ${signed}, but neither database nor write-ahead log holds the block: restore the data directory from a backup`,
  )
}

/** Whether the log has what was signed for this height, and not only the memory that something was. */
export function hasOwnEntry(recovery: Recovery, height: number): boolean {
  return recovery.openEntries(height).some(({ kind }) => kind === 'proposal' || kind === 'vote')
}

function checkOwnEntries({ recovery, publicKey, verify }: RecoveryContext, state: ConsensusState): void {
  const { chainId, lastHeight } = state
  const height = lastHeight + 1
  for (const entry of recovery.openEntries(height)) {
    if (entry.kind !== 'proposal' && entry.kind !== 'vote') continue
    const [bytes, { signature }] =
      entry.kind === 'proposal'
        ? [proposalSignBytes(chainId, entry.proposal), entry.proposal]
        : [voteSignBytes(chainId, entry.vote), entry.vote]
    if (verify(publicKey, bytes, signature)) continue
    throw new RecoveryError(
      `the ${entry.kind} for height ${height} in the write-ahead log was signed with another key: use that key, or move the wal directory away`,
    )
  }
}
