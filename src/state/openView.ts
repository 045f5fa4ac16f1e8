import { type BlockCache, createBlockCache, openChainReader } from '../chain/store.ts'
import type { DatabaseReader } from '../storage/database.ts'
import { walkAccounts } from './accounts.ts'
import { readStateHead } from './head.ts'
import { proofAt } from './proof.ts'
import { createStateCaches, openStateAt, type StateCaches } from './stateAt.ts'
import type { NodeView } from './view.ts'

/** What the views of one thread share. */
export interface ViewCaches extends StateCaches {
  readonly blocks: BlockCache
}

export function createViewCaches(): ViewCaches {
  return { ...createStateCaches(), blocks: createBlockCache() }
}

/**
 * Blocks and state as of `snapshot`, which must stay open as long as the view is used.
 * @throws Error when the database holds no chain
 */
export function openView(snapshot: DatabaseReader, caches: ViewCaches): NodeView {
  const head = readStateHead(snapshot)
  if (head === undefined) throw new Error('the database holds no state')
  return {
    chain: openChainReader(snapshot, caches.blocks),
    oldestState: head.oldestHeight,
    stateAt: (height) => openStateAt(snapshot, caches, head, height),
    accounts: (options = {}) => walkAccounts(snapshot, options),
    proofAt: (height, address, slots) => proofAt(snapshot, head, height, address, slots),
  }
}
