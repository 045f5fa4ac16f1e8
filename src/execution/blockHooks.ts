import type { ConsensusBlock } from '../chain/comet/block.ts'
import { encodeEvidence } from '../chain/comet/evidence.ts'
import { BLOCK_ID_FLAGS, type Commit, type Evidence, type ValidatorSet } from '../chain/comet/types.ts'
import type { ValidatorUpdate } from '../consensus/application.ts'
import type { BlockContext } from '../evm/blockContext.ts'
import { totalBurnt } from '../evm/coinMovements.ts'
import type { AppliedTransaction } from '../evm/transition.ts'
import { recordBurn } from '../modules/bank/ledger.ts'
import { beginBlock, endBlock } from '../modules/block.ts'
import type { CommitVote, LastCommitInfo, Misbehaviour, NativeBlock } from '../modules/context.ts'
import { FEE_COLLECTOR } from '../modules/moduleAccounts.ts'
import { UPGRADE_RULES, type UpgradeRules } from '../modules/upgrade/beginUpgrade.ts'
import { sha256 } from '../primitives/hash.ts'
import type { WorldState } from '../state/world.ts'

/** Facts about a block that native modules use, besides its transactions. */
export interface BlockStart {
  readonly height: number
  /** consensus time, milliseconds since the epoch */
  readonly timeMs: number
  readonly proposerAddress: Uint8Array
  readonly lastCommit: LastCommitInfo
  readonly misbehaviour: readonly Misbehaviour[]
}

/**
 * Work of native modules before, between and after a block's entries. Deterministic; all effects are in
 * `world`.
 */
export interface BlockHooks {
  /** before the first entry, after the system calls of EIP-2935 and EIP-4788 */
  begin(world: WorldState, start: BlockStart): void
  /** after the last entry; returns the validators' new powers, which take effect two blocks later */
  end(world: WorldState, block: NativeBlock): readonly ValidatorUpdate[]
  /** after each EVM transaction: credits what it paid for its gas, and subtracts coins that it destroyed from the supply */
  creditFees(
    world: WorldState,
    outcome: Pick<AppliedTransaction, 'fees' | 'burns'>,
    block: Pick<BlockContext, 'coinbase'>,
  ): void
}

/** Returns the hooks of all modules, for a node with these upgrade rules. */
export function moduleHooks(upgrades: UpgradeRules): BlockHooks {
  return {
    begin: (world, { height, timeMs, ...info }) => {
      beginBlock({ world, block: { height, timeMs } }, info, upgrades)
    },
    end: (world, block) => endBlock({ world, block }),
    creditFees: creditFeeCollector,
  }
}

/**
 * Pays base fee and tip of a transaction to the fee collector. Subtracts coins that were destroyed
 * (a self-destruct to itself, EIP-6780) from the total supply.
 */
function creditFeeCollector(world: WorldState, { fees, burns }: Pick<AppliedTransaction, 'fees' | 'burns'>): void {
  const fee = fees.baseFeeAcoin + fees.tipAcoin
  if (fee > 0n) world.addBalance(FEE_COLLECTOR, fee)
  recordBurn(world, totalBurnt(burns))
}

/** The hooks of all modules on a node that skips no upgrade. */
export const MODULE_HOOKS: BlockHooks = moduleHooks(UPGRADE_RULES)

/**
 * @param lastValidators of the block before
 * @throws Error when the last commit has another number of signatures than there were validators
 */
export function blockStartOf(
  block: Pick<ConsensusBlock['header'], 'height' | 'timeMs' | 'proposerAddress'> &
    Pick<ConsensusBlock, 'lastCommit' | 'evidence'>,
  lastValidators: ValidatorSet,
): BlockStart {
  const { height, timeMs, proposerAddress, lastCommit, evidence } = block
  return {
    height,
    timeMs,
    proposerAddress,
    lastCommit: height === 1 ? { round: 0, votes: [] } : lastCommitInfo(lastCommit, lastValidators),
    misbehaviour: evidence.map(misbehaviourOf),
  }
}

function lastCommitInfo({ round, signatures }: Commit, { validators }: ValidatorSet): LastCommitInfo {
  if (signatures.length !== validators.length) {
    throw new Error(`the last commit has ${signatures.length} signatures of ${validators.length} validators`)
  }
  const votes = validators.map(({ address, power }, index): CommitVote => {
    const { flag } = signatures[index]!
    const vote = flag === BLOCK_ID_FLAGS.commit ? 'signed' : flag === BLOCK_ID_FLAGS.nil ? 'nil' : 'absent'
    return { address, power, vote }
  })
  return { round, votes }
}

function misbehaviourOf(evidence: Evidence): Misbehaviour {
  const bytes = encodeEvidence(evidence)
  const { voteA, validatorPower, totalVotingPower, timestampMs } = evidence
  return {
    kind: evidence.kind,
    address: voteA.validatorAddress,
    power: validatorPower,
    totalPower: totalVotingPower,
    height: voteA.height,
    timeMs: timestampMs,
    hash: sha256(bytes),
    bytes,
  }
}
