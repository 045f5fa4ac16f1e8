import { beginAuthz } from './authz/grants.ts'
import type { LastCommitInfo, Misbehaviour, ModuleContext } from './context.ts'
import { beginDistribution } from './distribution/rewards.ts'
import { handleEvidence } from './evidence/evidence.ts'
import { removeExpiredAllowances } from './feegrant/grants.ts'
import { endGov } from './gov/endGov.ts'
import { MESSAGES } from './messages.ts'
import { beginMint } from './mint/minter.ts'
import { beginSlashing } from './slashing/jail.ts'
import { endStaking } from './staking/endStaking.ts'
import { SLASH_BUDGET_GAS, settleSlashes } from './staking/settle.ts'
import type { PowerUpdate } from './staking/validatorUpdates.ts'
import { beginUpgrade, type UpgradeRules } from './upgrade/beginUpgrade.ts'

/** What a block reports about validators. */
interface BlockInfo {
  readonly lastCommit: LastCommitInfo
  readonly misbehaviour: readonly Misbehaviour[]
}

/**
 * What modules do before a block's transactions. The order is the SDK's:
 * 1. upgrade: a version that does not know the planned upgrade must stop before it writes anything, and a migration must run
 *    before any module reads what it migrates.
 * 2. mint: into the fee collector, so that the next step divides new coins together with the fees.
 * 3. distribution: divides them by the powers of the last commit, before a slash can remove or jail a validator that earned them.
 * 4. slashing: counts the missed blocks of the last commit and punishes downtime.
 * 5. evidence: punishes double signing. A validator that step 4 jailed is not jailed a second time, but slashed and tombstoned.
 * 6. staking: slashes of earlier blocks go on where this block's have left work.
 * 7. authz: removes expired grants; no other step reads them.
 * @param slashBudget work that slashes of stake that left may do, in gas
 * @throws UpgradeNeeded when this version cannot go on, see `beginUpgrade`
 */
export function beginBlock(
  context: ModuleContext,
  { lastCommit, misbehaviour }: BlockInfo,
  upgrades?: UpgradeRules,
  slashBudget: number = SLASH_BUDGET_GAS,
): void {
  beginUpgrade(context, upgrades) // 1
  beginMint(context) // 2
  beginDistribution(context, lastCommit) // 3
  const { work } = context.world.native
  const settleUntil = work.done + slashBudget
  beginSlashing(context, lastCommit, settleUntil) // 4
  for (const found of misbehaviour) handleEvidence(context, found, settleUntil) // 5
  settleSlashes(context, settleUntil) // 6
  beginAuthz(context) // 7
}

/**
 * What modules do after a block's transactions. The order is the SDK's:
 * 1. governance: proposals that pass run their messages, whose changes of stake and parameters step 2 must see.
 * 2. staking: the validator set follows all stakes of this block, then unbonding that is due ends.
 * 3. feegrant: removes expired allowances; no other step reads them.
 * @returns voting powers that change, from the block after the next on
 */
export function endBlock(context: ModuleContext): readonly PowerUpdate[] {
  endGov(context, MESSAGES) // 1
  const updates = endStaking(context) // 2
  removeExpiredAllowances(context) // 3
  return updates
}
