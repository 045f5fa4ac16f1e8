import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { clearPlan, getPlan, setDone } from './plan.ts'
import { UpgradeNeeded } from './upgradeNeeded.ts'
import { UPGRADE_RULES, type UpgradeRules } from './upgradeRules.ts'

/**
 * The first thing in a block (PreBlocker of x/upgrade/abci.go): at the height of the plan its migration runs, or the plan is
 * forgotten where the operator passes over it. A version that knows the plan may be installed before.
 * @throws UpgradeNeeded when this version does not know it
 */
export function beginUpgrade(context: ModuleContext, rules: UpgradeRules = UPGRADE_RULES): void {
  const { native } = context.world
  const { height } = context.block
  const due = dueUpgrade(native, height, rules)
  if (due === undefined) return
  if (due !== 'skipped') due.migrate(context)
  clearPlan(native)
  if (due !== 'skipped') setDone(native, due.name, height)
}

/**
 * The upgrade that the block at `height` begins with; undefined for nearly all blocks.
 * @throws UpgradeNeeded when this version does not know it
 */
export function dueUpgrade(
  native: Pick<NativeStore, 'get'>,
  height: number,
  { known, skippedHeights }: UpgradeRules = UPGRADE_RULES,
) {
  const plan = getPlan(native)
  if (plan === undefined || plan.height > BigInt(height)) return undefined
  if (skippedHeights.includes(height)) return 'skipped'
  const { name } = plan
  const migrate = known.get(name)
  if (migrate === undefined) throw new UpgradeNeeded(name, Number(plan.height), plan.info)
  return { name, migrate }
}
