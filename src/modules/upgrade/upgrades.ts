import type { ModuleContext } from '../context.ts'

/** Brings a module's entries from one version to the next. */
export interface Migration {
  readonly module: string
  /** the version that it finds; 0: the module is new */
  readonly from: number
  /**
   * Deterministic; it has its own code for the old format, since the module's code has the new one.
   */
  readonly migrate: (context: ModuleContext) => void
}

/** A version of the software to which a running chain changes at the height of a plan. */
export interface Upgrade {
  /** the plan's name, as `coind supervise` and cosmovisor name its directory: 1 to 64 of `A-Z a-z 0-9 . _ -` */
  readonly name: string
  readonly migrations: readonly Migration[]
}

/**
 * Upgrades whose changes are in this version's code, the oldest first: this version makes the last
 * one. The others stay here, since their migrations also run on a chain that skipped one, and
 * because the last upgrade that a chain has made must be known.
 */
export const UPGRADES: readonly Upgrade[] = []
