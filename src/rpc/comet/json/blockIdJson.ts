import { type BlockId, NIL_BLOCK_ID } from '../../../chain/consensus/types.ts'
import { upperHex } from './text.ts'

/** types.BlockID */
export function blockIdJson({ hash, partSetHeader }: BlockId) {
  return { hash: upperHex(hash), parts: { total: partSetHeader.total, hash: upperHex(partSetHeader.hash) } }
}

/** What stands for the ID of a block that is not there. */
export const NO_BLOCK_ID_JSON = blockIdJson(NIL_BLOCK_ID)
