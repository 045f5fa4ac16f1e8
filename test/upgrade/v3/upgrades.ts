import type { Upgrade } from '../../../src/modules/upgrade/upgrades.ts'
import { UPGRADES as FORMER_UPGRADES } from '../v2/upgrades.ts'

/** In the place of src/modules/upgrade/upgrades.ts: one more version, whose entries have the shapes of v2. */
export const UPGRADES: readonly Upgrade[] = [...FORMER_UPGRADES, { name: 'v3', migrations: [] }]
