import type { ModuleContext } from '../context.ts'

/** Brings a module's entries from one version to the next. */
export interface Migration {
  readonly module: string
  /** the version that it finds; 0: the module is new */
  readonly from: number
  /** Deterministic; it knows the former shape itself, since the module's own code has the new one. */
  readonly migrate: (context: ModuleContext) => void
}

/** A version of the software that a running chain goes over to at the height of a plan. */
export interface Upgrade {
  /** the plan's name, as `coind supervise` and cosmovisor name its directory: 1 to 64 of `A-Z a-z 0-9 . _ -` */
  readonly name: string
  readonly migrations: readonly Migration[]
}

/**
 * Upgrades of which this version's code has what they change, the oldest first: it makes the last one. The others stay here, since their
 * migrations run too where a chain has passed one over, and because the last one that a chain has made must be known.
 */
export const UPGRADES: readonly Upgrade[] = []
