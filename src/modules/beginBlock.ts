import { beginAuthz } from './authz/grants.ts'
import type { LastCommitInfo, Misbehaviour } from './blockInfo.ts'
import type { ModuleContext } from './context.ts'
import { beginDistribution } from './distribution/beginDistribution.ts'
import { handleEvidence } from './evidence/handleEvidence.ts'
import { beginMint } from './mint/beginMint.ts'
import { beginSlashing } from './slashing/beginSlashing.ts'
import { beginUpgrade } from './upgrade/beginUpgrade.ts'
import type { UpgradeRules } from './upgrade/upgradeRules.ts'

/** What a block tells its modules. */
export interface BlockInfo {
  readonly lastCommit: LastCommitInfo
  readonly misbehaviour: readonly Misbehaviour[]
}

/**
 * What modules do before a block's entries, in the SDK's order: an upgrade stops everything else, minted coins are divided
 * with the fees, and both before anybody is slashed.
 * @throws UpgradeNeeded when this version cannot go on, see `beginUpgrade`
 */
export function beginBlock(
  context: ModuleContext,
  { lastCommit, misbehaviour }: BlockInfo,
  upgrades?: UpgradeRules,
): void {
  beginUpgrade(context, upgrades)
  beginMint(context)
  beginDistribution(context, lastCommit)
  beginSlashing(context, lastCommit)
  for (const found of misbehaviour) handleEvidence(context, found)
  beginAuthz(context)
}
