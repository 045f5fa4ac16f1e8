import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { moduleVersions, runMigrations, versionsOf } from './moduleVersions.ts'
import { clearPlan, getPlan, setDone, upgradesDone } from './plan.ts'
import { UPGRADES, type Upgrade } from './upgrades.ts'

/** How this node handles planned upgrades. */
export interface UpgradeRules {
  /** see {@link UPGRADES} */
  readonly upgrades: readonly Upgrade[]
  /** heights at which a planned upgrade is skipped: the operator's decision, see UNSAFE_SKIP_UPGRADES */
  readonly skippedHeights: readonly number[]
}

export const UPGRADE_RULES: UpgradeRules = { upgrades: UPGRADES, skippedHeights: [] }

/** Returns the rules of a node whose operator skips the upgrades at these heights. */
export function upgradeRules(skippedHeights: readonly number[]): UpgradeRules {
  return { ...UPGRADE_RULES, skippedHeights }
}

/**
 * Does the first step of a block (PreBlocker of x/upgrade/keeper/abci.go): at the height of the
 * plan the modules' entries are migrated, or the plan is removed where the operator skips it.
 * @throws UpgradeNeeded, WrongVersion: see {@link dueUpgrade}
 */
export function beginUpgrade(context: ModuleContext, rules: UpgradeRules = UPGRADE_RULES): void {
  const { native } = context.world
  const { height } = context.block
  const due = dueUpgrade(native, height, rules)
  if (due === undefined) return
  if (due !== 'skipped') runMigrations(context, rules.upgrades)
  clearPlan(native)
  if (due !== 'skipped') setDone(native, due.name, height)
}

/**
 * Returns the upgrade that the block at `height` begins with; undefined for nearly all blocks.
 * @throws UpgradeNeeded when this version does not know it; WrongVersion when this version has an upgrade that is still to be made, or later
 *   ones than that which is due
 */
export function dueUpgrade(
  native: Pick<NativeStore, 'get'>,
  height: number,
  { upgrades, skippedHeights }: UpgradeRules,
): { readonly name: string } | 'skipped' | undefined {
  const plan = getPlan(native)
  if (plan === undefined) return undefined
  const { name, info } = plan
  const at = Number(plan.height)
  const index = upgrades.findIndex((upgrade) => upgrade.name === name)
  if (at <= height) {
    if (skippedHeights.includes(height)) return 'skipped'
    if (index === -1) throw new UpgradeNeeded(name, at, info)
    if (index === upgrades.length - 1) return { name }
  }
  if (index === -1) return undefined
  throw new WrongVersion(
    `BINARY UPDATED BEFORE TRIGGER: upgrade "${name}" is planned for height ${at}, and this version has ` +
      `${index === upgrades.length - 1 ? 'it' : `"${upgrades.at(-1)!.name}", which is later,`} already. Run the version ` +
      `${index === upgrades.length - 1 ? `before "${name}" until that height` : `of "${name}"`}.`,
  )
}

/**
 * Checks that this version can execute the block at `height` on this state, where it begins to.
 * @throws UpgradeNeeded when it needs a later version; WrongVersion when this version does not fit
 * this state
 */
export function checkVersion(
  native: Pick<NativeStore, 'get' | 'range'>,
  height: number,
  rules: UpgradeRules = UPGRADE_RULES,
): void {
  const due = dueUpgrade(native, height, rules)
  if (due !== undefined && due !== 'skipped') return
  const { upgrades } = rules
  const last = [...upgradesDone(native)].at(-1)
  if (last !== undefined && !upgrades.some(({ name }) => name === last.name)) {
    throw new WrongVersion(
      `wrong app version: the chain has made upgrade "${last.name}" at height ${last.height}, which this version does not know. ` +
        `Run the version of "${last.name}".`,
    )
  }
  const stored = moduleVersions(native)
  for (const [name, version] of versionsOf(upgrades)) {
    const found = stored.get(name) ?? 0
    if (found === version) continue
    throw new WrongVersion(
      `wrong app version: the chain's ${name} module is at version ${found} before block ${height}, that of this software at ${version}. ` +
        (found < version ? 'Run an older version until the height of the upgrade.' : 'Run a later version.'),
    )
  }
}

/**
 * From this height on the chain needs another version of the software. Thrown before the block at
 * that height runs, so no part of the block has been written.
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

/**
 * This version of the software does not fit the chain's state: an upgrade is still to be made, or
 * this version lacks a made one.
 */
export class WrongVersion extends Error {
  override readonly name = 'WrongVersion'
}

/** Whether the error means that another version of the software must continue. */
export function isVersionError(error: unknown): error is UpgradeNeeded | WrongVersion {
  return error instanceof UpgradeNeeded || error instanceof WrongVersion
}
