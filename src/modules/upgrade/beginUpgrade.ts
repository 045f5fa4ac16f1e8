import type { NativeStore } from '../../state/world.ts'
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
  const { height } = context.block
  const due = dueUpgrade(native, height, known)
  if (due === undefined) return
  due.migrate(context)
  clearPlan(native)
  setDone(native, due.name, height)
}

/**
 * The upgrade that the block at `height` begins with; undefined for nearly all blocks.
 * @throws UpgradeNeeded when this version does not know it
 */
export function dueUpgrade(native: Pick<NativeStore, 'get'>, height: number, known: Migrations = KNOWN_UPGRADES) {
  const plan = getPlan(native)
  if (plan === undefined || plan.height > BigInt(height)) return undefined
  const { name } = plan
  const migrate = known.get(name)
  if (migrate === undefined) throw new UpgradeNeeded(name, Number(plan.height), plan.info)
  return { name, migrate }
}
