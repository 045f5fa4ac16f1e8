import type { Hash } from '../../primitives/hash.ts'
import { Column, columnKey, heightBytes } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { DatabaseReader } from '../../storage/database.ts'
import type { StoredEntry } from '../block/entries.ts'
import { decodeEthereumHeader, type EthereumHeader, ethereumHeaderHash } from '../block/ethereumBlock.ts'
import { decodeTransaction, type SignedTransaction } from '../block/transaction.ts'
import { type ConsensusBlock, decodeBlock } from '../comet/block.ts'
import { readFromSegment } from '../segments/segments.ts'
import { type BlockCache, CACHED_HASHES, cachedBody, cachedByHeight, type StoredRange } from './blockCache.ts'
import { countExecuted, decodeResults, NO_RESULTS, type StoredResults } from './storedResults.ts'

/** The parts of blocks by height, from LevelDB, from segments or from the cache. */
export interface BlockParts {
  /** A part that every block up to the head has, in the bytes that are stored. @throws DatabaseError when it is missing */
  encodedPart(part: 'header' | 'consensusBlock', height: number): Uint8Array
  encodedResults(height: number): Uint8Array | undefined
  /** from the base on, and of block 0 */
  header(height: number): EthereumHeader | undefined
  hash(height: number): Hash | undefined
  consensusBlock(height: number): ConsensusBlock | undefined
  results(height: number): StoredResults | undefined
  transactions(height: number): readonly SignedTransaction[] | undefined
  transactionCount(height: number): number | undefined
  /** by position in data.txs */
  entries(height: number): readonly StoredEntry[] | undefined
  /** frames of segments that were decoded until now */
  decodedFrames(): number
}

export function openBlockParts(db: DatabaseReader, cache: BlockCache, range: StoredRange): BlockParts {
  const { base, oldestBlock } = range
  let decoded = 0
  const readMoved = (height: number) =>
    readFromSegment(db, cache.segments, height, () => {
      decoded++
    })
  /** A part that every block up to the head has, from LevelDB or from a segment. @throws DatabaseError when it is missing */
  const encodedPart = (part: 'header' | 'consensusBlock', height: number): Uint8Array => {
    const bytes = db.get(columnKey(Column[part], heightBytes(height)))
    if (bytes !== undefined) return bytes
    const moved = readMoved(height)
    const found = part === 'header' ? moved?.header : moved?.block
    if (found === undefined) throw damagedIn(db, `a part of block ${height} is missing`)
    return found
  }
  const encodedResults = (height: number): Uint8Array | undefined =>
    db.get(columnKey(Column.results, heightBytes(height))) ?? readMoved(height)?.results
  const headerFrom = cachedByHeight(range, cache.headers, (height: number): EthereumHeader | undefined => {
    return decodeEthereumHeader(encodedPart('header', height))
  })
  /** Also that of block 0 where the chain begins above it: it follows from the genesis, and a restore writes it. */
  const header = (height: number): EthereumHeader | undefined => {
    if (height !== 0 || base === 0) return headerFrom(height)
    const bytes = db.get(columnKey(Column.header, heightBytes(0)))
    return bytes && decodeEthereumHeader(bytes)
  }
  const consensusBlock = cachedBody(
    range,
    cache.consensusBlocks,
    (height: number): ConsensusBlock | undefined => {
      // Block 0 was not decided.
      return height === 0 ? undefined : decodeBlock(encodedPart('consensusBlock', height))
    },
    ({ txs }) => ({ transactions: txs.length, bytes: bytesIn(txs) }),
  )
  const results = cachedBody(
    range,
    cache.results,
    (height: number): StoredResults | undefined => {
      if (height < oldestBlock) return undefined
      const bytes = encodedResults(height)
      if (bytes !== undefined) return decodeResults(bytes)
      const entries = consensusBlock(height)?.txs.length ?? 0
      if (entries > 0) throw damagedIn(db, `the results of block ${height} are missing`)
      return NO_RESULTS
    },
    ({ executed, native, bytes }) => ({ transactions: executed.length + native.length, bytes }),
  )
  const transactions = cachedBody(
    range,
    cache.transactions,
    (height: number): readonly SignedTransaction[] | undefined => {
      const stored = results(height)
      if (stored === undefined) return undefined
      if (stored.executed.length === 0) return []
      const { txs } = consensusBlock(height)!
      return stored.executed.map(({ position, sender }) => ({
        transaction: decodeTransaction(txs[position]!),
        sender,
      }))
    },
    (included) => ({
      transactions: included.length,
      bytes: bytesIn(included.map(({ transaction }) => transaction.raw)),
    }),
  )
  const transactionCount = cachedBody(range, cache.transactionCounts, (height: number): number | undefined => {
    if (height < oldestBlock) return undefined
    const bytes = encodedResults(height)
    return bytes === undefined ? results(height)?.executed.length : countExecuted(bytes)
  })
  const entries = cachedBody(
    range,
    cache.entries,
    (height: number): readonly StoredEntry[] | undefined => {
      const stored = results(height)
      const included = transactions(height)
      if (stored === undefined || included === undefined) return undefined
      const isEmpty = stored.executed.length + stored.native.length + stored.skipped.length === 0
      return isEmpty ? [] : entriesOf(stored, included, consensusBlock(height)!.txs)
    },
    (included, height) => ({ transactions: included.length, bytes: results(height)?.bytes ?? 0 }),
  )

  const hashOf = (height: number): Hash | undefined => {
    const found = header(height)
    return found && ethereumHeaderHash(found)
  }
  const hashFrom = cachedByHeight(range, cache.hashes, hashOf, undefined, CACHED_HASHES)
  const hash = (height: number): Hash | undefined => (height === 0 ? hashOf(0) : hashFrom(height))

  return {
    encodedPart,
    encodedResults,
    header,
    hash,
    consensusBlock,
    results,
    transactions,
    transactionCount,
    entries,
    decodedFrames: () => decoded,
  }
}

/** Returns the entries of a block by position in data.txs, from its stored parts. */
export function entriesOf(
  { executed, native, skipped }: StoredResults,
  transactions: readonly SignedTransaction[],
  txs: readonly Uint8Array[],
): readonly StoredEntry[] {
  const entries: StoredEntry[] = []
  for (const [index, { position, receipt, transfers, events }] of executed.entries()) {
    entries[position] = { kind: 'evm', index, signed: transactions[index]!, receipt, transfers, events }
  }
  for (const { position, result } of native) entries[position] = { kind: 'native', raw: txs[position]!, result }
  for (const { position, ...skip } of skipped) entries[position] = { kind: 'skipped', ...skip }
  return entries
}

function bytesIn(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}
