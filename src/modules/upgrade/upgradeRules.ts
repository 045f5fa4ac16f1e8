import { KNOWN_UPGRADES, type Migrations } from './knownUpgrades.ts'

/** How this node takes upgrades. */
export interface UpgradeRules {
  readonly known: Migrations
  /** heights at which no upgrade is made, whatever was planned: the operator's decision, see UNSAFE_SKIP_UPGRADES */
  readonly skippedHeights: readonly number[]
}

export const UPGRADE_RULES: UpgradeRules = { known: KNOWN_UPGRADES, skippedHeights: [] }

/** The rules of a node whose operator passes over the upgrades at these heights. */
export function upgradeRules(skippedHeights: readonly number[]): UpgradeRules {
  return { ...UPGRADE_RULES, skippedHeights }
}
