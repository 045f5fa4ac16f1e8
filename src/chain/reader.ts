import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import type { ConsensusBlock } from './consensus/block.ts'
import type { BlockId, Commit, RankedValidatorSet, ValidatorSet } from './consensus/types.ts'
import type { BlockEvents, StoredEntry } from './entryResult.ts'
import type { EthereumHeader } from './ethereumHeader.ts'
import type { Receipt } from './receipt.ts'
import type { SignedTransaction } from './transaction.ts'

export interface TransactionLocation {
  readonly height: number
  /** among the Ethereum block's transactions */
  readonly index: number
}

export interface NativeLocation {
  readonly height: number
  /** in data.txs */
  readonly position: number
}

/** An attribute that an event has: its key with the event's type, `transfer.sender`; without a value: any. */
export interface EventTerm {
  readonly key: string
  readonly value?: string
}

/** What an index look-up of logs can use: the alternatives of each position; an empty list matches anything. */
export interface LogTerms {
  readonly addresses: readonly Address[]
  /** by position */
  readonly topics: readonly (readonly Uint8Array[])[]
}

/** Blocks as of one published head, read synchronously but for the indexes of logs and events. */
export interface ChainReader {
  readonly headHeight: number
  /** lowest block whose body and receipts are kept (0 unless BLOCK_HISTORY drops them) */
  readonly oldestBlock: number
  header(height: number): EthereumHeader | undefined
  /** keccak256(rlp(header)) */
  hash(height: number): Hash | undefined
  heightOf(hash: Hash): number | undefined
  /** height of the block whose consensus header has this hash */
  heightOfConsensusHash(hash: Uint8Array): number | undefined
  /** the Ethereum block's transactions with their senders, in order */
  transactions(height: number): readonly SignedTransaction[] | undefined
  receipts(height: number): readonly Receipt[] | undefined
  /** size in bytes of the RLP-encoded Ethereum block */
  size(height: number): number | undefined
  locate(transactionHash: Hash): TransactionLocation | undefined
  /** where a native transaction started; by the sha256 of its bytes */
  locateNative(hash: Hash): NativeLocation | undefined
  /** by position in data.txs */
  entryResults(height: number): readonly StoredEntry[] | undefined
  blockEvents(height: number): BlockEvents | undefined
  consensusBlock(height: number): ConsensusBlock | undefined
  blockId(height: number): BlockId | undefined
  /** the commit for `height` that this node saw */
  seenCommit(height: number): Commit | undefined
  /** validators of block `height` with their priorities in its round 0; up to the head's height + 2 */
  validatorsAt(height: number): RankedValidatorSet | undefined
  /** the same without priorities, in a fraction of the time */
  validatorSetAt(height: number): ValidatorSet | undefined
  /**
   * Heights in [from, to], ascending, whose blocks may hold a log that matches; exact but for hash-prefix collisions.
   */
  logHeights(terms: LogTerms, from: number, to: number): AsyncIterable<number>
  /**
   * Heights in [from, to], ascending, whose blocks may hold all terms, in events of entries or of the block itself. A superset:
   * whoever asks looks at the events (see `eventsOfEntry` and `blockEvents`).
   */
  eventHeights(terms: readonly EventTerm[], from: number, to: number): AsyncIterable<number>
}
