import { bigIntToBytes, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { moduleStoreKey } from '../storeKey.ts'
import { type Migration, UPGRADES, type Upgrade } from './upgrades.ts'

/** The version of each module's entries, as the SDK counts them (ConsensusVersion of x/<name>/module.go). */
export type ModuleVersions = ReadonlyMap<string, number>

/**
 * Versions in SDK 0.50 and cosmos/evm, whose formats the entries have. A chain without upgrades has
 * these, and stores no versions.
 */
const FIRST_VERSIONS: ModuleVersions = new Map([
  ['auth', 5],
  ['authz', 2],
  ['bank', 4],
  ['consensus', 1],
  ['distribution', 3],
  ['erc20', 1],
  ['evidence', 1],
  ['feegrant', 2],
  ['feemarket', 1],
  ['gov', 5],
  ['mint', 2],
  ['params', 1],
  ['slashing', 4],
  ['staking', 5],
  ['upgrade', 2],
  ['vesting', 1],
  ['vm', 1],
])

/** The module whose migrations are the last ones, since others read accounts (DefaultMigrationsOrder of types/module). */
const LAST_MODULE = 'auth'
/** VersionMapByte of x/upgrade/types/keys.go. */
const VERSION_PREFIX = moduleStoreKey('upgrade', Uint8Array.of(0x02))

/** Returns the versions that code with these upgrades reads and writes. */
export function versionsOf(upgrades: readonly Upgrade[] = UPGRADES): ModuleVersions {
  const versions = new Map(FIRST_VERSIONS)
  for (const { module, from } of upgrades.flatMap(({ migrations }) => migrations)) versions.set(module, from + 1)
  return versions
}

/**
 * Returns the versions that the state has, by name in the order of names (GetModuleVersionMap of
 * x/upgrade/keeper/keeper.go).
 */
export function moduleVersions(native: Pick<NativeStore, 'range'>): ModuleVersions {
  const versions = new Map(FIRST_VERSIONS)
  for (const [key, value] of native.range(VERSION_PREFIX)) {
    versions.set(new TextDecoder().decode(key.subarray(VERSION_PREFIX.length)), Number(bytesToBigInt(value)))
  }
  return new Map([...versions].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function setModuleVersions(native: Pick<NativeStore, 'set'>, versions: ModuleVersions): void {
  for (const [name, version] of versions) {
    native.set(concatBytes(VERSION_PREFIX, new TextEncoder().encode(name)), bigIntToBytes(BigInt(version), 8))
  }
}

/** At genesis, whose entries have this version's shapes. Chains of the first versions need no entries. */
export function initModuleVersions(native: Pick<NativeStore, 'set'>, upgrades: readonly Upgrade[] = UPGRADES): void {
  if (upgrades.some(({ migrations }) => migrations.length > 0)) setModuleVersions(native, versionsOf(upgrades))
}

/**
 * Brings the entries of all modules to the versions of this code, in the order of names (RunMigrations of types/module), and stores these
 * versions.
 */
export function runMigrations(context: ModuleContext, upgrades: readonly Upgrade[]): void {
  const { native } = context.world
  const steps = new Map<string, Migration[]>()
  for (const migration of upgrades.flatMap(({ migrations }) => migrations)) {
    steps.set(migration.module, [...(steps.get(migration.module) ?? []), migration])
  }
  const versions = new Map(moduleVersions(native))
  const names = [...steps.keys()].toSorted()
  for (const name of [...names.filter((other) => other !== LAST_MODULE), ...names.filter((n) => n === LAST_MODULE)]) {
    for (const { from, migrate } of steps.get(name)!) {
      if (from !== (versions.get(name) ?? 0)) continue
      migrate(context)
      versions.set(name, from + 1)
    }
  }
  setModuleVersions(native, versions)
}
