import type { ModuleContext } from '../context.ts'
import { KNOWN_UPGRADES, type Migrations } from './knownUpgrades.ts'
import { clearPlan, getPlan, setDone } from './plan.ts'
import { UpgradeNeeded } from './upgradeNeeded.ts'

/**
 * The first thing in a block (PreBlocker of x/upgrade/abci.go): at the height of the plan its migration runs. A version that
 * knows the plan may be installed before.
 * @throws UpgradeNeeded when this version does not know it
 */
export function beginUpgrade(context: ModuleContext, known: Migrations = KNOWN_UPGRADES): void {
  const { native } = context.world
  const plan = getPlan(native)
  if (plan === undefined || plan.height > BigInt(context.block.height)) return
  const migrate = known.get(plan.name)
  if (migrate === undefined) throw new UpgradeNeeded(plan.name, Number(plan.height), plan.info)
  migrate(context)
  clearPlan(native)
  setDone(native, plan.name, context.block.height)
}
