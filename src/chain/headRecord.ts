import { decode } from '@ethereumjs/rlp'
import { bytesToBigInt } from '../primitives/bytes.ts'
import { encodeRLP } from '../primitives/rlp.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey } from '../storage/columns.ts'
import type { DatabaseReader } from '../storage/database.ts'
import { decodeCommit, encodeCommit } from './consensus/commitCodec.ts'
import type { BlockId, Commit } from './consensus/types.ts'

/** What is kept of the newest block alone; older blocks have it in the next block's header. */
export interface HeadRecord {
  readonly height: number
  /** undefined at genesis */
  readonly decided: { readonly blockId: BlockId; readonly seenCommit: Commit } | undefined
  /** header.last_results_hash of the next block */
  readonly resultsHash: Uint8Array
}

const HEAD_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('head'))

export function writeHead(batch: WriteBatch, { height, decided, resultsHash }: HeadRecord): void {
  const decision =
    decided === undefined
      ? []
      : [
          decided.blockId.hash,
          BigInt(decided.blockId.partSetHeader.total),
          decided.blockId.partSetHeader.hash,
          encodeCommit(decided.seenCommit),
        ]
  batch.put(HEAD_KEY, encodeRLP([BigInt(height), decision, resultsHash]))
}

/** undefined in an empty database. */
export function readHead(db: DatabaseReader): HeadRecord | undefined {
  const bytes = db.get(HEAD_KEY)
  if (bytes === undefined) return undefined
  const [height, decision, resultsHash] = decode(bytes) as [Uint8Array, Uint8Array[], Uint8Array]
  const [hash, total, partsHash, commit] = decision
  return {
    height: Number(bytesToBigInt(height)),
    decided:
      hash === undefined
        ? undefined
        : {
            blockId: { hash, partSetHeader: { total: Number(bytesToBigInt(total!)), hash: partsHash! } },
            seenCommit: decodeCommit(commit!),
          },
    resultsHash,
  }
}
