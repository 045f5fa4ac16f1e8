import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { clearPlan, getPlan, setDone } from './plan.ts'

/** What each upgrade changes in the state, by the name of its plan. */
type Migrations = ReadonlyMap<string, (context: ModuleContext) => void>

/** Upgrades that this version can execute. An entry stays for ever: a node that syncs from the first block needs it. */
const KNOWN_UPGRADES: Migrations = new Map()

/** How this node handles planned upgrades. */
export interface UpgradeRules {
  readonly known: Migrations
  /** heights at which a planned upgrade is skipped: the operator's decision, see UNSAFE_SKIP_UPGRADES */
  readonly skippedHeights: readonly number[]
}

export const UPGRADE_RULES: UpgradeRules = { known: KNOWN_UPGRADES, skippedHeights: [] }

/** The rules of a node whose operator skips the upgrades at these heights. */
export function upgradeRules(skippedHeights: readonly number[]): UpgradeRules {
  return { ...UPGRADE_RULES, skippedHeights }
}

/**
 * The first step of a block (PreBlocker of x/upgrade/abci.go): at the height of the plan its migration runs, or the plan is
 * removed where the operator skips it. A version that knows the plan may be installed before its height.
 * @throws UpgradeNeeded when this version does not know the plan
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

/**
 * From this height on the chain needs another version of the software. Thrown before the block at that height runs, so
 * nothing of it has been written.
 */
export class UpgradeNeeded extends Error {
  override readonly name = 'UpgradeNeeded'
  /** the plan's name, which the new version knows */
  readonly plan: string
  /** the first block of the new version */
  readonly height: number
  /** the plan's text, e.g. where to download the new version */
  readonly info: string

  constructor(plan: string, height: number, info: string) {
    const hint = info === '' ? '' : ` (${info})`
    super(
      `upgrade "${plan}" is needed at height ${height}: this version cannot execute block ${height}. ` +
        `Stop the node, install the version that knows "${plan}"${hint}, and start it again with the same data.`,
    )
    this.plan = plan
    this.height = height
    this.info = info
  }
}
