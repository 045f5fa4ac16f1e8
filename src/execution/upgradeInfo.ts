import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { UpgradeNeeded } from '../modules/upgrade/beginUpgrade.ts'
import { writeFileDurably } from '../storage/writeFileDurably.ts'

/** The part of {@link UpgradeNeeded} that a supervisor needs; its class is lost on the way from another thread. */
type NeededUpgrade = Pick<UpgradeNeeded, 'plan' | 'height' | 'info'>

/** Returns the upgrade for whose lack this error came up, itself or by one of its causes. */
export function upgradeNeededBy(error: unknown): NeededUpgrade | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === UpgradeNeeded.name) return cause as UpgradeNeeded
  }
  return undefined
}

/**
 * Tells a supervisor which version to install: a JSON object of `name`, `height` and `info`, where cosmovisor looks for it, as x/upgrade
 * writes it (keeper.DumpUpgradeInfoToDisk).
 * @param path its directory is made
 */
export function writeUpgradeInfo(path: string, { plan, height, info }: NeededUpgrade): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileDurably(path, JSON.stringify({ name: plan, height, info }), 0o600)
}
