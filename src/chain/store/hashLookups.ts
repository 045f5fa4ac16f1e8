import { bytesToBigInt, equalBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { Column, columnKey, readHeight } from '../../storage/columns.ts'
import type { DatabaseReader } from '../../storage/database.ts'
import { entryHash, type StoredEntry } from '../block/entries.ts'
import type { BlockId } from '../comet/types.ts'
import type { Hashed } from '../indexes/hashFile.ts'
import { findHashHeights } from '../indexes/hashFileList.ts'
import { HashKind, readShortHashHeights } from '../indexes/oldHashIndex.ts'
import type { BlockParts } from './blockParts.ts'
import { consensusHashKey } from './writeBlock.ts'

/** Finds blocks and transactions by their hashes. */
export interface HashLookups {
  heightOf(hash: Hash): number | undefined
  /** heights that `heightOf` may return, without reading a block */
  heightsOf(hash: Hash): readonly number[]
  /** height of the block whose consensus header has this hash */
  heightOfConsensusHash(hash: Uint8Array): number | undefined
  /** heights that `heightOfConsensusHash` may return, without reading a block */
  heightsOfConsensusHash(hash: Uint8Array): readonly number[]
  locate(transactionHash: Hash): TransactionLocation | undefined
  /** heights of blocks in which `locate` or `locateNative` may find a transaction, without reading a block */
  heightsOfTransaction(hash: Hash): readonly number[]
  /** the block and position of a native transaction that started, by the sha256 of its bytes */
  locateNative(hash: Hash): NativeLocation | undefined
}

export interface TransactionLocation {
  readonly height: number
  /** among the Ethereum block's transactions */
  readonly index: number
}

interface NativeLocation {
  readonly height: number
  /** in data.txs */
  readonly position: number
}

const HASH_BYTES = 32

/** Hashes of blocks in LevelDB are listed there; of those in segments a few bytes are, so the blocks found are compared. */
export function openHashLookups(
  db: DatabaseReader,
  base: number,
  { hash, transactions, entries }: Pick<BlockParts, 'hash' | 'transactions' | 'entries'>,
  blockId: (height: number) => BlockId | undefined,
): HashLookups {
  /** the last look-up in files: a call asks where it has to run, and then again where it runs */
  let last: { readonly of: Hashed; readonly hash: Uint8Array; readonly heights: readonly number[] } | undefined
  const heightsInFiles = (of: Hashed, wanted: Uint8Array): readonly number[] => {
    if (last?.of !== of || !equalBytes(last.hash, wanted)) {
      last = { of, hash: wanted.slice(), heights: findHashHeights(db, of, wanted) }
    }
    return last.heights
  }
  /** Returns the heights of blocks in segments that a hash may be of. */
  const movedHeights = (of: Hashed, kind: HashKind, wanted: Uint8Array): readonly number[] =>
    wanted.length === HASH_BYTES ? [...readShortHashHeights(db, kind, wanted), ...heightsInFiles(of, wanted)] : []

  /** Height of a block in LevelDB, by the hash of its header. */
  const listedHeight = (wanted: Hash): number | undefined => {
    const bytes = db.get(columnKey(Column.blockHash, wanted))
    return bytes && readHeight(bytes, 0)
  }
  function* consensusHashHeights(wanted: Uint8Array): Generator<number, void, void> {
    const listed = db.get(consensusHashKey(wanted))
    if (listed !== undefined) yield readHeight(listed, 0)
    yield* movedHeights('blocks', HashKind.consensus, wanted)
  }

  return {
    heightOf: (wanted) => {
      const listed = listedHeight(wanted)
      if (listed === undefined) {
        return movedHeights('blocks', HashKind.block, wanted).find((height) => isHash(hash(height), wanted))
      }
      return listed > 0 && listed < base ? undefined : listed
    },
    heightsOf: (wanted) => {
      const listed = listedHeight(wanted)
      return listed === undefined ? movedHeights('blocks', HashKind.block, wanted) : [listed]
    },
    heightOfConsensusHash: (wanted) =>
      consensusHashHeights(wanted).find((height) => isHash(blockId(height)?.hash, wanted)),
    heightsOfConsensusHash: (wanted) => [...consensusHashHeights(wanted)],
    heightsOfTransaction: (wanted) => {
      const listed =
        db.get(columnKey(Column.transaction, wanted)) ?? db.get(columnKey(Column.nativeTransaction, wanted))
      if (listed !== undefined) return [readHeight(listed, 0)]
      const kinds = [HashKind.transaction, HashKind.native]
      return kinds.flatMap((kind) => movedHeights('transactions', kind, wanted))
    },
    locate: (wanted) => {
      const bytes = db.get(columnKey(Column.transaction, wanted))
      if (bytes !== undefined) return { height: readHeight(bytes, 0), index: Number(bytesToBigInt(bytes.subarray(6))) }
      // The hash of a native transaction is that of no EVM transaction.
      if (db.get(columnKey(Column.nativeTransaction, wanted)) !== undefined) return undefined
      for (const height of movedHeights('transactions', HashKind.transaction, wanted)) {
        const index = transactions(height)?.findIndex(({ transaction }) => isHash(transaction.hash, wanted)) ?? -1
        if (index >= 0) return { height, index }
      }
      return undefined
    },
    locateNative: (wanted) => {
      const bytes = db.get(columnKey(Column.nativeTransaction, wanted))
      if (bytes !== undefined) {
        return { height: readHeight(bytes, 0), position: Number(bytesToBigInt(bytes.subarray(6))) }
      }
      if (db.get(columnKey(Column.transaction, wanted)) !== undefined) return undefined
      for (const height of movedHeights('transactions', HashKind.native, wanted)) {
        const isWanted = (entry: StoredEntry): boolean =>
          entry.kind === 'native' && isHash(entryHash(entry.raw), wanted)
        const position = entries(height)?.findIndex(isWanted) ?? -1
        if (position >= 0) return { height, position }
      }
      return undefined
    },
  }
}

function isHash(found: Uint8Array | undefined, wanted: Uint8Array): boolean {
  return found !== undefined && equalBytes(found, wanted)
}
