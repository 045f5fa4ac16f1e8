import type { BlockId } from '../../src/chain/comet/types.ts'
import { compareBytes } from '../../src/primitives/bytes.ts'

/** Order of block IDs by hash, then parts: what makes evidence of two votes have one form. */
export function compareBlockIds(a: BlockId, b: BlockId): number {
  return (
    compareBytes(a.hash, b.hash) ||
    a.partSetHeader.total - b.partSetHeader.total ||
    compareBytes(a.partSetHeader.hash, b.partSetHeader.hash)
  )
}
