import { dropBlockBodies } from '../chain/store.ts'
import type { StateStore } from '../state/store.ts'
import type { WritableDatabase } from '../storage/database.ts'

/** History entries, and block bodies, that may be dropped after one block: a few milliseconds of work. */
const ENTRIES_PER_BLOCK = 2_000
const BODIES_PER_BLOCK = 4

export interface PrunerOptions {
  readonly database: WritableDatabase
  readonly state: Pick<StateStore, 'prune'>
  /** blocks whose state is kept, or all */
  readonly pruning: 'archive' | number
  /** blocks that are kept; 0 = all */
  readonly blockHistory: number
}

export interface Pruner {
  /** Drops a bounded piece of what block `height` pushed out of the windows. */
  afterBlock(height: number): Promise<void>
}

/** Keeps state and blocks within the operator's windows, in pieces small enough to fit between two blocks. */
export function createPruner({ database, state, pruning, blockHistory }: PrunerOptions): Pruner {
  return {
    async afterBlock(height) {
      if (pruning !== 'archive') await state.prune(height - pruning, ENTRIES_PER_BLOCK)
      if (blockHistory > 0) await dropBlockBodies(database, height - blockHistory, BODIES_PER_BLOCK)
    },
  }
}
