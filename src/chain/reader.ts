import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import type { ConsensusBlock } from './consensus/block.ts'
import type { BlockId, Commit } from './consensus/types.ts'
import type { EthereumHeader } from './ethereumHeader.ts'
import type { Receipt } from './receipt.ts'
import type { SignedTransaction } from './transaction.ts'

export interface TransactionLocation {
  readonly height: number
  /** among the Ethereum block's transactions */
  readonly index: number
}

/** What an index look-up of logs can use: the alternatives of each position; an empty list matches anything. */
export interface LogTerms {
  readonly addresses: readonly Address[]
  /** by position */
  readonly topics: readonly (readonly Uint8Array[])[]
}

/** Blocks as of one published head, read synchronously but for the log index. */
export interface ChainReader {
  readonly headHeight: number
  /** lowest block whose body and receipts are kept (0 unless BLOCK_HISTORY drops them) */
  readonly oldestBlock: number
  header(height: number): EthereumHeader | undefined
  /** keccak256(rlp(header)) */
  hash(height: number): Hash | undefined
  heightOf(hash: Hash): number | undefined
  /** the Ethereum block's transactions with their senders, in order */
  transactions(height: number): readonly SignedTransaction[] | undefined
  receipts(height: number): readonly Receipt[] | undefined
  /** size in bytes of the RLP-encoded Ethereum block */
  size(height: number): number | undefined
  locate(transactionHash: Hash): TransactionLocation | undefined
  consensusBlock(height: number): ConsensusBlock | undefined
  blockId(height: number): BlockId | undefined
  /** the commit for `height` that this node saw */
  seenCommit(height: number): Commit | undefined
  /**
   * Heights in [from, to], ascending, whose blocks may hold a log that matches; exact but for hash-prefix collisions.
   */
  logHeights(terms: LogTerms, from: number, to: number): AsyncIterable<number>
}
