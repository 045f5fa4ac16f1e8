import type { ModuleContext } from '../context.ts'

/** What an upgrade changes in the state, by the name of its plan. */
export type Migrations = ReadonlyMap<string, (context: ModuleContext) => void>

/** Upgrades that this version can make. An entry stays for ever: a node that syncs from the first block needs it. */
export const KNOWN_UPGRADES: Migrations = new Map()
